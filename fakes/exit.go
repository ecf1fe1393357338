package fakes

// exitPath turns the way a process ended into its end event. It runs once for
// each process, after the process has left the table and was counted.
type exitPath interface {
	ending(p *process) ending
}

// plainExit tells the truth.
type plainExit struct{}

var _ exitPath = plainExit{}

func (plainExit) ending(p *process) ending { return endingOf(p.finalStatus()) }
