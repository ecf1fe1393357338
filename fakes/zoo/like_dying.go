package zoo

import (
	"errors"

	"connectrpc.com/connect"

	"assay/fakes/gateway"
	"assay/fakes/virtual"
	"assay/internal/envd/process/processconnect"
)

// dyingLikes returns gateways whose process ends at a request.
func dyingLikes() []like {
	alive := []string{"run.target-alive"}
	lateInput := deviation{Deviation{
		ID:    "late-input-kills",
		Title: "Input for a command that has exited ends the process of the gateway",
		Rules: alive,
	}, diesOnLateInput}
	unknownProgram := deviation{Deviation{
		ID:    "unknown-program-kills",
		Title: "A command whose program does not exist ends the process of the gateway",
		Rules: alive,
	}, diesOnUnknownProgram}
	restarted := deviation{Deviation{
		ID:    "restarted",
		Title: "200 ms after its death, a supervisor starts the gateway again",
	}, supervised}
	return []like{
		{"dies-on-late-input", "a gateway that input for an exited command kills", []deviation{lateInput}},
		{"dies-on-late-input-restarted", "a gateway that input for an exited command kills, under a supervisor", []deviation{lateInput, restarted}},
		{"dies-on-unknown-program", "a gateway that a command without a program kills", []deviation{unknownProgram}},
		{"dies-on-unknown-program-restarted", "a gateway that a command without a program kills, under a supervisor", []deviation{unknownProgram, restarted}},
	}
}

// errNoProcess is the error about a process that there never was, or long ago.
var errNoProcess = errors.New("no such process")

// diesOnLateInput ends the gateway when input comes for a process that has exited.
func diesOnLateInput(b *build) {
	l := mortal(b)
	onTable(func(next gateway.Table) gateway.Table { return remembering{next} })(b)
	onProcedureErrors(func(procedure string, err error) error {
		inputs := procedure == processconnect.ProcessSendInputProcedure || procedure == processconnect.ProcessStreamInputProcedure
		if inputs && connect.CodeOf(err) == connect.CodeNotFound && !errors.Is(err, errNoProcess) {
			l.end()
		}
		return err
	})(b)
}

// remembering tells processes that have exited from those that there never were.
type remembering struct{ gateway.Table }

func (r remembering) Find(s gateway.Selector) (*gateway.Process, error) {
	p, err := r.Table.Find(s)
	if _, never := r.Attach(s); err != nil && never != nil {
		return nil, connect.NewError(connect.CodeNotFound, errNoProcess)
	}
	return p, err
}

// diesOnUnknownProgram ends the gateway when a command has no program.
func diesOnUnknownProgram(b *build) {
	l, exists := mortal(b), programsOf(b)
	onTable(func(next gateway.Table) gateway.Table { return fatalStart{next, exists, l.end} })(b)
}

// fatalStart calls die when a command has no program.
type fatalStart struct {
	gateway.Table
	exists func(program string) bool
	die    func()
}

func (f fatalStart) Start(s gateway.Spec) (*gateway.Process, *gateway.Subscriber, error) {
	if !f.exists(s.Config.GetCmd()) {
		f.die()
		return nil, nil, &virtual.SpawnError{Reason: "no such program: " + s.Config.GetCmd()}
	}
	return f.Table.Start(s)
}
