package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
)

const (
	// longestEvent is the longest event that is read.
	longestEvent = 16 << 20
	// callLimit bounds a call that does not wait for the command, before the time scale.
	callLimit = 10 * time.Second
	// lastWait is how long a command that was asked to end has before it is killed.
	lastWait = 2 * time.Second
	// keepaliveHeader asks for events that show that a silent stream lives.
	keepaliveHeader = "Keepalive-Ping-Interval"
)

// events is a stream of process events: that of Start, or of Connect.
type events interface {
	Receive() bool
	Err() error
	Close() error
}

// processLink is a stream of process.Process.
type processLink struct {
	client processconnect.ProcessClient
	idle   func() // closes the connections without a call
	pid    uint32
	pty    bool
	stays  bool // the process belongs to a session
	scale  float64
	pulse  *pulse

	stream events
	next   func() *process.ProcessEvent
	ctx    context.Context
	cancel context.CancelFunc
	alive  atomic.Bool   // the gateway sends keepalives
	ended  chan struct{} // closed by the end event
	rest   []byte        // of an event that is handed on in pieces
	stderr bool
}

func (l *processLink) receive() (event, error) {
	defer l.pulse.wait()()
	for {
		if len(l.rest) > 0 {
			n := min(len(l.rest), pieces)
			e := event{kind: eventOutput, stderr: l.stderr, data: l.rest[:n]}
			l.rest = l.rest[n:]
			return e, nil
		}
		if !l.stream.Receive() {
			return event{}, l.cut(l.stream.Err())
		}
		switch e := l.next().GetEvent().(type) {
		case *process.ProcessEvent_Keepalive:
			l.alive.Store(true)
		case *process.ProcessEvent_Data:
			l.take(e.Data)
		case *process.ProcessEvent_End:
			close(l.ended)
			return event{kind: eventExit, code: codeOfEnd(int(e.End.GetExitCode()), e.End.GetExited(), e.End.GetStatus())}, nil
		}
	}
}

func (l *processLink) take(d *process.ProcessEvent_DataEvent) {
	switch out := d.GetOutput().(type) {
	case *process.ProcessEvent_DataEvent_Stdout:
		l.rest, l.stderr = out.Stdout, false
	case *process.ProcessEvent_DataEvent_Stderr:
		l.rest, l.stderr = out.Stderr, true
	case *process.ProcessEvent_DataEvent_Pty:
		l.rest, l.stderr = out.Pty, false
	}
}

// cut explains the end of the stream.
func (l *processLink) cut(err error) *cut {
	var c *connect.Error
	switch {
	case l.pulse.mute.Load():
		return cutf("the gateway has sent nothing for %v, not even a keepalive", silence)
	case err == nil || errors.Is(err, io.EOF):
		return &cut{reason: "the gateway ended the stream without an end event", final: true}
	case errors.As(err, &c) && connect.IsWireError(err):
		return &cut{reason: fmt.Sprintf("the gateway ended the stream with the error %s: %s", c.Code(), c.Message()), final: true}
	}
	return cutf("the stream broke: %v", rootOf(err))
}

func (l *processLink) input(ctx context.Context, p []byte) error {
	in := &process.ProcessInput{Input: &process.ProcessInput_Stdin{Stdin: p}}
	if l.pty {
		in = &process.ProcessInput{Input: &process.ProcessInput_Pty{Pty: p}}
	}
	_, err := l.client.SendInput(ctx, connect.NewRequest(&process.SendInputRequest{Process: byPID(l.pid), Input: in}))
	return refused("input", err)
}

func (l *processLink) end(ctx context.Context) error {
	_, err := l.client.CloseStdin(ctx, connect.NewRequest(&process.CloseStdinRequest{Process: byPID(l.pid)}))
	return refused("the end of stdin", err)
}

func (l *processLink) resize(ctx context.Context, to Size) error {
	ctx, cancel := context.WithTimeout(ctx, scaled(callLimit, l.scale))
	defer cancel()
	_, err := l.client.Update(ctx, connect.NewRequest(&process.UpdateRequest{Process: byPID(l.pid), Pty: ptyOf(to)}))
	return refused("the size of the terminal", err)
}

// typed are the characters by which a terminal sends a signal to what runs in it.
var typed = map[string]byte{"SIGINT": 0x03, "SIGQUIT": 0x1c, "SIGTSTP": 0x1a}

// signal sends a signal. process.Process knows SIGTERM and SIGKILL: a terminal is sent the character of
// another one; without a terminal each that ends a program is a SIGTERM.
func (l *processLink) signal(ctx context.Context, s Signal) error {
	ctx, cancel := context.WithTimeout(ctx, scaled(callLimit, l.scale))
	defer cancel()
	if c, ok := typed[s.Name]; ok && l.pty {
		return l.input(ctx, []byte{c})
	}
	switch s.Name {
	case "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT":
		return l.kill(ctx, process.Signal_SIGNAL_SIGTERM)
	}
	return &refusal{"process.Process has no " + s.Name}
}

func (l *processLink) kill(ctx context.Context, s process.Signal) error {
	_, err := l.client.SendSignal(ctx, connect.NewRequest(&process.SendSignalRequest{Process: byPID(l.pid), Signal: s}))
	return refused("the signal", err)
}

// refused says what a gateway refused. An error of the way to it is left as it is.
func refused(what string, err error) error {
	var c *connect.Error
	if err == nil || !errors.As(err, &c) || !connect.IsWireError(err) {
		return err
	}
	return &refusal{fmt.Sprintf("%s: %s: %s", what, c.Code(), c.Message())}
}

// close ends the stream. With hangUp it first asks the command to end, as a closed WebSocket does, and
// kills it if it does not: an interactive shell ignores SIGTERM.
func (l *processLink) close(hangUp bool) {
	defer l.idle()
	defer l.cancel()
	if !hangUp || l.stays || l.hasEnded() {
		return
	}
	ctx, cancel := context.WithTimeout(l.ctx, scaled(callLimit, l.scale))
	defer cancel()
	if l.kill(ctx, process.Signal_SIGNAL_SIGTERM) != nil {
		return // it has ended, or nobody can end it
	}
	t := time.NewTimer(lastWait)
	defer t.Stop()
	select {
	case <-l.ended:
	case <-t.C:
		_ = l.kill(ctx, process.Signal_SIGNAL_SIGKILL) // it may have ended just now
	}
}

func (l *processLink) hasEnded() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}
