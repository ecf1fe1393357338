package target

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

// command is a command of a probe. It ends soon by itself, because the target may have no
// method to end it.
type command struct {
	text    string   // shell text
	shell   []string // nil for the target's
	tag     string
	stdin   bool
	pty     bool
	headers []bundle.Header
}

// startRequest returns the Start of a process, marked as ours by ASSAY_RUN.
func (c *client) startRequest(p command) request {
	shell := p.shell
	if shell == nil {
		shell = c.target.Shell()
	}
	m := call.Start{Process: call.Config{
		Cmd: shell[0], Args: append(slices.Clone(shell[1:]), p.text),
		Envs: map[string]string{call.Mark: "assay/" + c.what},
	}}
	if p.tag != "" {
		m.Tag = &p.tag
	}
	if p.pty {
		m.PTY = &terminal
	} else {
		m.Stdin = &p.stdin
	}
	return c.rpcRequest(call.Sorted{Message: m}, append([]bundle.Header{c.leash()}, p.headers...)...)
}

// leash returns the deadline header of a Start, so that the gateway ends a process that
// neither ends by itself nor by our calls.
func (c *client) leash() bundle.Header {
	life := c.life + c.target.Scaled(callTimeout)
	return header(c.form().Timeout(life.Milliseconds()))
}

// nap returns a command that waits and ends by itself. It prints first, because a target may
// delay the start event until there is output, and replaces the shell with exec, so that a
// kill reaches the waiting process.
func (c *client) nap() string { return fmt.Sprintf("echo ready; exec sleep %d", c.life/time.Second) }

// running is a process that a probe has started or tried to start.
type running struct {
	client *client
	x      *transport.Exchange
	pid    uint32 // 0 without a start event
	reads  bool   // a line of input ends it
}

// start starts a process and waits for its start event or the end of the response. The
// caller must reap the process in any case: its start event may arrive later.
func (c *client) start(ctx context.Context, p command) (*running, bundle.Exchange) {
	x, _ := c.send(ctx, c.startRequest(p))
	run := &running{client: c, x: x, reads: p.text == readLine}
	s := watch(ctx, run.x, hasStart)
	run.pid = startedPID(s)
	if s.Returned == nil && run.pid == 0 {
		s.Outcome, s.Detail = c.overdue(s)
	}
	return run, s
}

// about starts a process, lets a call about it decide a feature, and ends it.
func (c *client) about(ctx context.Context, id string, p command, decide func(*running) bundle.Feature) findings {
	run, s := c.start(ctx, p)
	defer run.reap(ctx)
	if run.pid == 0 {
		return findings{id: unknown("no process could be started: " + describe(s))}
	}
	return findings{id: decide(run)}
}

func hasStart(s bundle.Exchange) bool { return hasEvent(s, bundle.EventStart) }

// startedPID returns the pid in the first start event, 0 without one.
func startedPID(s bundle.Exchange) uint32 {
	for _, e := range s.Events {
		if e.Kind == bundle.EventStart {
			return e.PID
		}
	}
	return 0
}

// selector returns the process selector of a request message.
func (r *running) selector() call.Selector { return call.ByPID(r.pid) }

// method makes a call about the running process and decides whether the method exists.
func (r *running) method(ctx context.Context, m call.Message, ok func(bundle.Exchange) bool) (bundle.Exchange, bundle.Feature) {
	req := r.client.rpcRequest(m)
	x := r.client.do(ctx, req)
	s := x.Snapshot()
	good := ok(s) && !isForeign(s, x.BodyBytes())
	if succeeded(s) && !isEmptyMessage(x.BodyBytes()) { // these methods return an empty message
		return s, r.client.decidePage(ctx, req, x, good)
	}
	return s, r.decide(ctx, req, x, good)
}

// isEmptyMessage reports whether a body is a message without fields, in either codec.
func isEmptyMessage(body []byte) bool {
	text := strings.Join(strings.Fields(string(body)), "")
	return text == "" || text == "{}"
}

// decide is decideCall about a running process; if the process has ended meanwhile,
// not_found proves nothing.
func (r *running) decide(ctx context.Context, req request, x *transport.Exchange, ok bool) bundle.Feature {
	f := r.client.decideCall(ctx, req, x, ok)
	if s := x.Snapshot(); r.over() && f.State == bundle.FeatureAbsent && s.Error != nil && s.Error.Code == "not_found" {
		return unknown("the process had ended: " + describe(s))
	}
	return f
}

// over reports whether the process has ended, or its stream.
func (r *running) over() bool { return isOver(r.x.Snapshot()) }

func isOver(s bundle.Exchange) bool { return s.Returned != nil || hasEvent(s, bundle.EventEnd) }

// ended waits a moment for the end event and reports whether it arrived.
func (r *running) ended(ctx context.Context) bool { return r.endedWithin(ctx, time.Second) }

// endedWithin waits for the end event for at most d times the time scale.
func (r *running) endedWithin(ctx context.Context, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, r.client.target.Scaled(d))
	defer cancel()
	return isOver(watch(ctx, r.x, isOver))
}

// lateStart is the additional wait for a late start event.
const lateStart = time.Second

// reap ends the process, unless it has ended, and waits for it; if the target cannot kill,
// for the lifetime of the process. It continues after the probe's own time is over.
func (r *running) reap(ctx context.Context) {
	if r.over() {
		return
	}
	c := r.client
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.life+c.target.Scaled(time.Second))
	defer cancel()
	if r.pid == 0 {
		late, stop := context.WithTimeout(ctx, c.target.Scaled(lateStart))
		r.pid = startedPID(watch(late, r.x, hasStart))
		stop()
	}
	if r.pid == 0 || r.over() || r.killed(ctx) {
		return
	}
	if r.reads {
		r.call(ctx, r.line())
		r.call(ctx, call.CloseStdin{Process: r.selector()})
	}
	watch(ctx, r.x, isOver)
}

// killed kills the process and reports whether it is gone: its end event arrived, or it is
// no longer listed.
func (r *running) killed(ctx context.Context) bool {
	bounded, cancel := r.client.within(ctx)
	defer cancel()
	if !succeeded(r.call(bounded, call.Kill(r.selector()))) {
		return false
	}
	if r.ended(ctx) {
		return true
	}
	l := r.client.list(ctx)
	_, listed := l.has(r.pid)
	return l.valid && !listed
}

// call makes a unary call about the process.
func (r *running) call(ctx context.Context, m call.Message) bundle.Exchange {
	return r.client.do(ctx, r.client.rpcRequest(m)).Snapshot()
}
