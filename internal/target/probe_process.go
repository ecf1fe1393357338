package target

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"assay/internal/bundle"
	"assay/internal/envd/process"
	"assay/internal/transport"
	"assay/internal/wire"
)

// probeLife follows one process: Start, then Connect, List and Update while it
// waits on stdin, then the line that lets it end.
func probeLife(ctx context.Context, c *client) (findings, error) {
	run, s, err := c.start(ctx, command{text: "read x", stdin: true})
	if err != nil {
		return nil, err
	}
	defer run.reap(ctx)
	f := findings{featStart: c.decideStart(s)}
	if run.pid == 0 {
		f[featList] = decideList(c.list(ctx), nil)
		return f, nil
	}
	var mu sync.Mutex
	var calls sync.WaitGroup
	set := func(id string, feature bundle.Feature) {
		mu.Lock()
		defer mu.Unlock()
		f[id] = feature
	}
	calls.Go(func() { set(featConnect, run.connect(ctx)) })
	calls.Go(func() { set(featList, decideList(c.list(ctx), run)) })
	calls.Go(func() {
		answer := run.call(ctx, rpcUpdate, `,"pty":{"size":{"cols":80,"rows":24}}`)
		set(featUpdate, decide(answer, handled(answer)))
	})
	calls.Wait()
	input := run.call(ctx, rpcSendInput, `,"input":{"stdin":"Cg=="}`)
	f[featInput] = decide(input, succeeded(input))
	if succeeded(input) {
		run.ended(ctx)
	}
	return f, nil
}

// decideStart says beside what was seen which shell it took, where that is not
// the one that everybody has. A target that refuses a command as such starts
// nothing that could be tested, and is asked for another shell.
func (c *client) decideStart(s bundle.Exchange) bundle.Feature {
	f := decide(s, startedPID(s) != 0)
	shell := strings.Join(c.target.Shell(), " ")
	switch {
	case f.State == bundle.FeaturePresent && c.target.shell.Load() != nil:
		f.Detail += "; " + strings.Join(defaultShell[:], " ") + " is refused, " + shell + " is accepted"
	case f.State != bundle.FeaturePresent && s.Error != nil && slices.Contains(refusesCommand, s.Error.Code):
		f = absent(f.Detail + "; commands were sent as " + shell + " COMMAND: if only another shell is accepted, name it with --shell, for example --shell '" +
			strings.Join(fallbackShell[:], " ") + "'")
	}
	return f
}

// refusesCommand are the codes of a server that will not run what it was asked
// to run, however often it is asked.
var refusesCommand = []string{"invalid_argument", "not_found", "permission_denied", "failed_precondition"}

// connect attaches to the process and waits for the start event.
func (r *running) connect(ctx context.Context) bundle.Feature {
	req, err := r.client.rpcRequest(rpcConnect, `{"process":`+r.selector()+`}`)
	if err != nil {
		return unknown(err.Error())
	}
	conn, err := r.client.open(ctx)
	if err != nil {
		return unknown(err.Error())
	}
	s := r.client.await(ctx, r.client.begin(ctx, conn, req), func(s bundle.Exchange) bool {
		return hasEvent(s, bundle.EventStart)
	})
	return decide(s, hasEvent(s, bundle.EventStart))
}

// listing is the answer to List.
type listing struct {
	answer bundle.Exchange
	valid  bool
	process.ListResponse
}

// decode reads the message; JSON may have fields that we do not know.
func (l *listing) decode(codec string, p []byte) error {
	if codec == codecProto {
		return proto.Unmarshal(p, &l.ListResponse)
	}
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(p, &l.ListResponse)
}

func (c *client) list(ctx context.Context) *listing {
	x, err := c.unary(ctx, rpcList, "{}")
	if err != nil {
		return &listing{answer: bundle.Exchange{Outcome: bundle.OutcomeNoConnect, Detail: err.Error()}}
	}
	l := &listing{answer: x.Snapshot()}
	l.valid = succeeded(l.answer) && l.decode(c.way.Codec, x.BodyBytes()) == nil
	return l
}

// has reports whether the process is listed; tag is "" when it has none.
func (l *listing) has(pid uint32) (tag string, ok bool) {
	for _, p := range l.GetProcesses() {
		if p.GetPid() == pid {
			return p.GetTag(), true
		}
	}
	return "", false
}

func decideList(l *listing, run *running) bundle.Feature {
	f := decide(l.answer, l.valid)
	if run == nil || f.State != bundle.FeaturePresent {
		return f
	}
	if _, ok := l.has(run.pid); !ok {
		f.Detail += "; a process that had just started was not listed"
	}
	return f
}

// probeSignal kills a process.
func probeSignal(ctx context.Context, c *client) (findings, error) {
	run, s, err := c.start(ctx, command{text: "sleep 30"})
	if err != nil || run.pid == 0 {
		return without(featSignal, s, err)
	}
	kill := run.kill(ctx)
	f := decide(kill, succeeded(kill))
	if succeeded(kill) && !run.ended(ctx) {
		f.Detail += "; the process did not end"
	}
	run.reap(ctx)
	return findings{featSignal: f}, nil
}

// probeCloseStdin ends the input of a process that reads until then.
func probeCloseStdin(ctx context.Context, c *client) (findings, error) {
	run, s, err := c.start(ctx, command{text: "cat", stdin: true})
	if err != nil || run.pid == 0 {
		return without(featCloseStdin, s, err)
	}
	defer run.reap(ctx)
	closed := run.call(ctx, rpcCloseStdin, "")
	if succeeded(closed) {
		run.ended(ctx)
	}
	return findings{featCloseStdin: decide(closed, succeeded(closed))}, nil
}

// probeStreamInput sends a line through StreamInput.
func probeStreamInput(ctx context.Context, c *client) (findings, error) {
	run, s, err := c.start(ctx, command{text: "read x", stdin: true})
	if err != nil || run.pid == 0 {
		return without(featStreamInput, s, err)
	}
	defer run.reap(ctx)
	req, err := c.rpcRequest(rpcStreamInput, `{"start":{"process":`+run.selector()+`}}`)
	if err != nil {
		return nil, err
	}
	second, err := transport.Message(rpcStreamInput, c.way.Codec, []byte(`{"data":{"input":{"stdin":"Cg=="}}}`))
	if err != nil {
		return nil, err
	}
	req.body = wire.AppendEnvelope(req.body, 0, second)
	answer := c.do(ctx, req).Snapshot()
	if succeeded(answer) {
		run.ended(ctx)
	}
	return findings{featStreamInput: decide(answer, succeeded(answer))}, nil
}

// probeTag starts a process with a tag and finds it again: in List, or by Connect.
func probeTag(ctx context.Context, c *client) (findings, error) {
	const tag = "assay-probe"
	run, s, err := c.start(ctx, command{text: "read x", stdin: true, tag: tag})
	if err != nil || run.pid == 0 {
		return without(featTag, s, err)
	}
	defer run.reap(ctx)
	l := c.list(ctx)
	listed, ok := l.has(run.pid)
	switch {
	case ok && listed == tag:
		return findings{featTag: present("List shows it")}, nil
	case ok:
		return findings{featTag: absent("List shows the process without its tag")}, nil
	}
	x, err := c.unary(ctx, rpcSendInput, `{"process":{"tag":"`+tag+`"},"input":{"stdin":"Cg=="}}`)
	if err != nil {
		return nil, err
	}
	answer := x.Snapshot()
	return findings{featTag: decide(answer, succeeded(answer))}, nil
}

// probeUser asks for a user that cannot exist: a target that knows users refuses it.
func probeUser(ctx context.Context, c *client) (findings, error) {
	ghost := bundle.Header{Name: "authorization", Value: basicUser("assay-no-such-user")}
	run, s, err := c.start(ctx, command{text: "true", headers: []bundle.Header{ghost}})
	if err != nil {
		return nil, err
	}
	defer run.reap(ctx)
	refusals := []string{"unauthenticated", "permission_denied", "invalid_argument", "not_found"}
	switch {
	case s.Error != nil && slices.Contains(refusals, s.Error.Code), isAuth(s):
		return findings{featUser: present("a user that does not exist is refused: " + describe(s))}, nil
	case run.pid != 0:
		return findings{featUser: unknown("a user that does not exist is accepted")}, nil
	}
	return findings{featUser: unknown(describe(s))}, nil
}

// probePTY starts a command on a PTY. A target that takes the request claims to
// have terminals, be they right or not; only one on which the field has no effect at all, neither
// a terminal for the process nor another kind of output, is one that does not know it.
func probePTY(ctx context.Context, c *client) (findings, error) {
	run, s, err := c.start(ctx, command{text: "test -t 1 && echo terminal; echo x", pty: true})
	if err != nil || run.pid == 0 {
		return without(featPTY, s, err)
	}
	defer run.reap(ctx)
	run.endedWithin(ctx, callTimeout) // what has not come yet would pass for the output of a terminal
	s = run.x.Snapshot()
	other := ""
	for _, e := range s.Events {
		if e.Kind == bundle.EventData && e.Stream != "pty" {
			other = e.Stream
		}
	}
	switch {
	case other == "":
		return findings{featPTY: present(describe(s))}, nil
	case bytes.Contains(run.x.Output(other), []byte("terminal")):
		return findings{featPTY: present("the process has a terminal, whose output comes as " + other)}, nil
	}
	return findings{featPTY: absent("the field pty is ignored: the process has no terminal, and its output comes as " + other)}, nil
}

// probeKeepalive waits on a silent process for a keepalive. When none has come, the target may have
// stood still meanwhile, or this driver: it is called once, and given a moment behind its answer.
func probeKeepalive(ctx context.Context, c *client) (findings, error) {
	interval := bundle.Header{Name: "keepalive-ping-interval", Value: "1"}
	run, s, err := c.start(ctx, command{text: "read x", stdin: true, headers: []bundle.Header{interval}})
	if err != nil || run.pid == 0 {
		return without(featKeepalive, s, err)
	}
	defer run.reap(ctx)
	s = run.keptAlive(ctx, keepaliveWait)
	if s.Returned == nil && !hasEvent(s, bundle.EventKeepAlive) {
		if answer := c.list(ctx).answer; answer.Response == nil {
			return findings{featKeepalive: unknown("no keepalive came, and no answer to a List either: " + describe(answer))}, nil
		}
		s = run.keptAlive(ctx, keepaliveGrace)
	}
	switch {
	case hasEvent(s, bundle.EventKeepAlive):
		return findings{featKeepalive: present("a keepalive came at an interval of 1 s")}, nil
	case s.Returned != nil:
		return findings{featKeepalive: unknown("the stream ended first: " + describe(s))}, nil
	}
	return findings{featKeepalive: absent(fmt.Sprintf("no keepalive within %v at an interval of 1 s, nor behind the answer to a List", c.target.scaled(keepaliveWait)))}, nil
}

// keptAlive waits for a keepalive or the end of the answer, and returns what has come by then.
func (r *running) keptAlive(ctx context.Context, wait time.Duration) bundle.Exchange {
	ctx, cancel := context.WithTimeout(ctx, r.client.target.scaled(wait))
	defer cancel()
	for {
		changed := r.x.Changed()
		s := r.x.Snapshot()
		if s.Returned != nil || hasEvent(s, bundle.EventKeepAlive) {
			return s
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return r.x.Snapshot()
		}
	}
}

// without is the result of a probe whose process did not start. The feature is
// absent when the very Start that asks for it is refused, unknown otherwise.
func without(id string, s bundle.Exchange, err error) (findings, error) {
	if err != nil {
		return nil, err
	}
	if id == featPTY || id == featTag {
		return findings{id: decide(s, false)}, nil
	}
	return findings{id: unknown("no process could be started for it: " + describe(s))}, nil
}
