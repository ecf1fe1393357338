package fakes

import "assay/fakes/virtual"

// terminalFaults spoil what a terminal is for.
func terminalFaults() []faultDecorator {
	return []faultDecorator{
		{Fault{
			ID:     "terminal-size-ignored",
			Title:  "Every terminal begins with 80 columns and 24 rows",
			Breaks: []string{"process.pty.size"},
			Source: "gateways that open a terminal with the defaults of a library",
		}, onStart(func(s *spec) {
			if s.pty != nil {
				s.pty = &virtual.Size{Cols: 80, Rows: 24}
			}
		})},
		{Fault{
			ID:     "terminal-never-resized",
			Title:  "Update of a terminal says that it did it and does nothing",
			Breaks: []string{"process.pty.resize", "process.pty.resize-signal"},
			Source: "gateways that store the size and do not tell the kernel",
		}, func(s *seams, _ uint64) { s.processes.neverResizes = true }},
	}
}
