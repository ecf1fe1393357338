package gateway

// ExitPath turns the end of a process into its end event.
type ExitPath interface {
	// Drain waits for the output of a process that has exited: until nobody holds
	// it any more, or the process was abandoned.
	Drain(p *Process)
	// Ending returns how a process ended. It runs once for each process, after the
	// process has left the table and was counted.
	Ending(p *Process) Ending
}

// plainExit tells the truth.
type plainExit struct{}

var _ ExitPath = plainExit{}

func (plainExit) Drain(p *Process) {
	select {
	case <-p.Drained():
	case <-p.Abandoned():
	}
}

func (plainExit) Ending(p *Process) Ending { return EndingOf(p.Status()) }
