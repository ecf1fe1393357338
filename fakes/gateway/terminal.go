package gateway

import (
	"slices"

	"assay/fakes/stdio"
	"assay/fakes/terminal"
)

// terminalPath is the path of the page with a terminal.
const terminalPath = "/terminal"

// mountTerminal mounts the page with a terminal, and reports whether it is there. The page
// needs no token: it has no secret, and the stdio surface that it connects to requires one.
func (m mounts) mountTerminal(without []string) bool {
	if slices.Contains(without, stdio.FeatureSession) {
		without = append(slices.Clone(without), stdio.FeatureShared)
	}
	page := terminal.New(slices.DeleteFunc(stdio.Features(), func(f string) bool { return slices.Contains(without, f) }))
	return m.mount(SurfaceTerminal, "GET "+terminalPath, page, asIs) && m.mount(SurfaceTerminal, "GET "+terminalPath+"/{file}", page, asIs)
}
