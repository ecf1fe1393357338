package gateway

import (
	"fmt"
	"slices"

	"assay/fakes/stdio"
	"assay/fakes/terminal"
)

// terminalPath is the path of the page with a terminal.
const terminalPath = "/terminal"

// mountTerminal mounts the page with a terminal where the stdio surface is. The page needs
// no token: it has no secret, and the surface that it connects to requires the token.
func (m mounts) mountTerminal(attach bool, without []string) (bool, error) {
	if !attach {
		return false, nil
	}
	features := stdio.Features()
	if slices.Contains(without, stdio.FeatureSession) {
		without = append(slices.Clone(without), stdio.FeatureShared)
	}
	features = slices.DeleteFunc(features, func(f string) bool { return slices.Contains(without, f) })
	page, err := terminal.New(features)
	if err != nil {
		return false, fmt.Errorf("mount %s: %w", terminalPath, err)
	}
	return m.mount(SurfaceTerminal, "GET "+terminalPath, page, asIs) && m.mount(SurfaceTerminal, "GET "+terminalPath+"/{file}", page, asIs), nil
}
