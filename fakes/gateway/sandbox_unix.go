//go:build unix

package gateway

import (
	"assay/fakes/osproc"
	"assay/fakes/virtual"
)

// realProcesses says whether this system can run real processes.
const realProcesses = true

// osSandbox adapts an *osproc.System to Sandbox.
type osSandbox struct{ *osproc.System }

var _ Sandbox = osSandbox{}

func (s osSandbox) Start(spec virtual.Spec) (Run, error) {
	p, err := s.System.Start(spec)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// realSandbox returns a sandbox of real processes, whose files are in home.
func realSandbox(home string) Sandbox { return osSandbox{osproc.New(osproc.Options{Home: home})} }
