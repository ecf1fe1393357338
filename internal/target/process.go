package target

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"assay/internal/bundle"
	"assay/internal/transport"
)

const (
	rpcConnect     = "process.Process/Connect"
	rpcSendSignal  = "process.Process/SendSignal"
	rpcSendInput   = "process.Process/SendInput"
	rpcCloseStdin  = "process.Process/CloseStdin"
	rpcStreamInput = "process.Process/StreamInput"
	rpcUpdate      = "process.Process/Update"

	// leashMS is the deadline in milliseconds of every Start: a process that no call
	// of ours can end is ended by the gateway.
	leashMS = "20000"
)

// command is what a probe starts.
type command struct {
	text    string   // for the shell
	shell   []string // nil for the target's
	tag     string
	stdin   bool
	pty     bool
	headers []bundle.Header
}

// startRequest is the Start of a process, marked as ours by ASSAY_RUN.
func (c *client) startRequest(p command) (request, error) {
	shell := p.shell
	if shell == nil {
		shell = c.target.Shell()
	}
	m := map[string]any{
		"process": map[string]any{
			"cmd": shell[0], "args": append(slices.Clone(shell[1:]), p.text),
			"envs": map[string]string{"ASSAY_RUN": "assay/" + c.what},
		},
		"stdin": p.stdin,
	}
	if p.tag != "" {
		m["tag"] = p.tag
	}
	if p.pty {
		delete(m, "stdin")
		m["pty"] = map[string]any{"size": map[string]int{"cols": 80, "rows": 24}}
	}
	text, err := json.Marshal(m)
	if err != nil {
		return request{}, fmt.Errorf("start request: %w", err)
	}
	return c.rpcRequest(rpcStart, string(text), append([]bundle.Header{c.leash()}, p.headers...)...)
}

// leash is the deadline of a Start in the words of the protocol.
func (c *client) leash() bundle.Header {
	if c.way.Protocol == protoConnect {
		return bundle.Header{Name: "connect-timeout-ms", Value: leashMS}
	}
	return bundle.Header{Name: "grpc-timeout", Value: leashMS + "m"}
}

// running is a process that a probe has started, or tried to.
type running struct {
	client *client
	x      *transport.Exchange
	pid    uint32 // 0 when no start event came
}

// start starts a process and waits for its start event or the end of the answer.
func (c *client) start(ctx context.Context, p command) (*running, bundle.Exchange, error) {
	r, err := c.startRequest(p)
	if err != nil {
		return nil, bundle.Exchange{}, err
	}
	conn, err := c.open(ctx)
	if err != nil {
		return nil, bundle.Exchange{}, err
	}
	run := &running{client: c, x: c.begin(ctx, conn, r)}
	s := c.await(ctx, run.x, func(s bundle.Exchange) bool { return hasEvent(s, bundle.EventStart) })
	run.pid = startedPID(s)
	return run, s, nil
}

// startedPID is the pid in the first start event, 0 without one.
func startedPID(s bundle.Exchange) uint32 {
	for _, e := range s.Events {
		if e.Kind == bundle.EventStart {
			return e.PID
		}
	}
	return 0
}

// selector is the process in a request message.
func (r *running) selector() string { return fmt.Sprintf(`{"pid":%d}`, r.pid) }

// call makes a unary call about the process; rest follows the selector in the message.
func (r *running) call(ctx context.Context, rpc, rest string) bundle.Exchange {
	x, err := r.client.unary(ctx, rpc, `{"process":`+r.selector()+rest+`}`)
	if err != nil {
		return bundle.Exchange{Name: rpc, Outcome: bundle.OutcomeNoConnect, Detail: err.Error()}
	}
	return x.Snapshot()
}

func (r *running) kill(ctx context.Context) bundle.Exchange {
	return r.call(ctx, rpcSendSignal, `,"signal":"SIGNAL_SIGKILL"`)
}

// ended waits a moment for the process's end event and reports whether it came.
func (r *running) ended(ctx context.Context) bool { return r.endedWithin(ctx, time.Second) }

// endedWithin waits for the process's end event for at most d, before the time scale.
func (r *running) endedWithin(ctx context.Context, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, r.client.target.scaled(d))
	defer cancel()
	for {
		changed := r.x.Changed()
		s := r.x.Snapshot()
		if s.Returned != nil || hasEvent(s, bundle.EventEnd) {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// reap ends the process, if it has not ended by itself, and waits for it. It
// works on when the probe's own time is over.
func (r *running) reap(ctx context.Context) {
	if r == nil || r.pid == 0 {
		return
	}
	s := r.x.Snapshot()
	if hasEvent(s, bundle.EventEnd) || s.Outcome == bundle.OutcomeComplete {
		return
	}
	ctx, cancel := r.client.within(context.WithoutCancel(ctx))
	defer cancel()
	r.kill(ctx)
	r.ended(ctx)
}
