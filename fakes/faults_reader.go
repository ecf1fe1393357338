package fakes

// readerFaults treat subscribers badly that come late or go early.
func readerFaults() []faultDecorator {
	return []faultDecorator{
		{Fault{
			ID:     "late-reader-deaf",
			Title:  "A client that attaches gets no output",
			Breaks: []string{"process.connect.attach"},
			Source: "e2b-dev/E2B#1587, e2b-dev/E2B#1352",
		}, onHubs(func(p *hubPolicy) { p.lateSilent = true })},
		{Fault{
			ID:     "late-reader-doubled",
			Title:  "A client that attaches gets its first piece of output twice",
			Breaks: []string{"process.connect.same-bytes"},
			Source: "e2b-dev/infra#2579: a slice header copied under churn",
		}, onHubs(func(p *hubPolicy) { p.lateTwice = true })},
		{Fault{
			ID:     "attach-replays",
			Title:  "A client that attaches gets all output from the beginning",
			Breaks: []string{"process.connect.attach"},
			Source: "gateways that keep all output and play it back to whoever attaches: a client that comes back has it twice",
		}, onHubs(func(p *hubPolicy) { p.replays = true })},
		{Fault{
			ID:     "slow-reader-drops",
			Title:  "What a subscriber that is 512 KiB behind would get is dropped, and the others read on",
			Breaks: []string{"process.connect.slow-reader"},
			Source: "e2b-dev/infra#3344: dropping on a full buffer, in silence",
		}, onHubs(func(p *hubPolicy) { p.dropsBehind = true })},
		{Fault{
			ID:     "late-reader-forgotten",
			Title:  "A client that attaches to an ended process waits for ever",
			Breaks: []string{"process.connect.after-exit"},
			Source: "cloudflare/sandbox-sdk#108",
		}, onHubs(func(p *hubPolicy) { p.lateForgotten = true })},
		{Fault{
			ID:     "lost-reader-wedges",
			Title:  "Output waits for a client that went away",
			Breaks: []string{"process.connect.client-gone", "process.output.complete"},
			Source: "e2b-dev/infra#3292, e2b-dev/infra#2639",
		}, onHubs(func(p *hubPolicy) { p.lockStep, p.keepsLost = true, true })},
		{Fault{
			ID:     "lost-reader-kills",
			Title:  "A client that goes away takes its process with it",
			Breaks: []string{"process.connect.client-gone"},
			Source: "e2b-dev/E2B#1074, e2b-dev/E2B#1229",
		}, func(s *seams, _ uint64) {
			s.gone = func(t processTable, p *process) { _ = t.kill(selector{pid: p.pid}) } // it may have ended
		}},
	}
}

// onHubs changes how the fan-out of every process behaves.
func onHubs(change func(*hubPolicy)) func(*seams, uint64) {
	return func(s *seams, _ uint64) { change(&s.hubs) }
}
