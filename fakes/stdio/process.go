package stdio

import (
	"context"
	"syscall"

	"assay/fakes/virtual"
)

// Process is a running command.
type Process interface {
	// Follow passes the output to out, in order, and returns the exit code once all
	// of it has been passed. A process that died of signal n has the code 128+n. out
	// may block, which blocks the process; it may keep data. Follow is called once.
	// It returns an error when output was lost.
	Follow(out func(stderr bool, data []byte)) (code int, err error)
	// Write writes to stdin, or types on the terminal. It blocks while the process
	// does not read, until ctx is done.
	Write(ctx context.Context, data []byte) error
	// CloseStdin ends stdin. It is idempotent.
	CloseStdin()
	// Signal sends a signal to the process alone. It does nothing to an ended one.
	Signal(sig syscall.Signal)
	// Resize changes the size of the terminal.
	Resize(to virtual.Size) error
}

// Command is a command to start.
type Command struct {
	Cmd     string
	Args    []string
	Sandbox string        // "" when the request names none
	PTY     *virtual.Size // nil: no terminal
}

// Start starts a command. Its error is a *Refusal when the client must know why.
type Start func(c Command) (Process, error)

// Refusal is an HTTP status and the text for the client.
type Refusal struct {
	Status int
	Reason string
}

// Error returns the text for the client.
func (r *Refusal) Error() string { return r.Reason }
