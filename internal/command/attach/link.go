package attach

import (
	"context"
	"errors"
	"fmt"
)

// link is one connection to the command. Receive is called by one goroutine, the methods that send
// by another.
type link interface {
	// receive waits for what the gateway sends next. The data of an event is valid until the next
	// call. An error is a *cut.
	receive() (event, error)
	// input sends input; it may wait until the command takes it.
	input(ctx context.Context, p []byte) error
	// end ends the input, behind what was sent before. A *refusal says that the gateway cannot.
	end(ctx context.Context) error
	resize(ctx context.Context, to Size) error
	signal(ctx context.Context, s Signal) error
	// close ends the connection. With hangUp the command, unless it belongs to a session, ends too.
	close(hangUp bool)
}

// eventKind says what a gateway sent.
type eventKind int

const (
	eventOutput  eventKind = iota + 1
	eventExit              // the last
	eventRefusal           // a message of ours was refused
)

// event is one thing that a gateway sent.
type event struct {
	kind   eventKind
	stderr bool
	data   []byte
	code   int    // of eventExit
	text   string // of eventRefusal
}

// cut is the end of a connection before the exit code.
type cut struct {
	reason string
	final  bool // connecting again does not help
}

// Error returns the reason.
func (c *cut) Error() string { return c.reason }

func cutf(format string, args ...any) *cut { return &cut{reason: fmt.Sprintf(format, args...)} }

// refusal is what a gateway refused, and the connection lives on.
type refusal struct{ text string }

// Error returns what the gateway said.
func (r *refusal) Error() string { return r.text }

// miss says why a surface is not there.
type miss struct{ why string }

// Error returns the reason.
func (m *miss) Error() string { return m.why }

// isMiss reports whether another surface should be tried.
func isMiss(err error) bool {
	var m *miss
	return errors.As(err, &m)
}
