package target

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/envd/process"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

// probeLife follows one process: Start, then Connect, List and Update, then a line of
// input.
func probeLife(ctx context.Context, c *client) findings {
	brief, cancel := context.WithTimeout(ctx, c.limit/2)
	defer cancel()
	run, s := c.start(brief, command{text: c.nap(), stdin: true})
	defer run.reap(ctx)
	f := findings{featStart: c.decideStart(ctx, run, s)}
	if run.pid == 0 {
		if s.Returned == nil { // it may come with the end
			f[featStart] = c.startOfShort(ctx, f[featStart])
		}
		f[featList] = c.list(ctx).decide(ctx, nil)
		return f
	}
	f.together(ctx, c, map[string]func(context.Context, *client) bundle.Feature{
		featConnect: func(ctx context.Context, _ *client) bundle.Feature { return run.connect(ctx) },
		featList:    func(ctx context.Context, c *client) bundle.Feature { return c.list(ctx).decide(ctx, run) },
		featUpdate:  func(ctx context.Context, _ *client) bundle.Feature { return run.update(ctx) },
	}, present(""))
	f[featInput] = run.input(ctx)
	return f
}

// startOfShort decides with a command that ends at once, when a waiting one has no start
// event in time; long is the finding of the waiting one.
func (c *client) startOfShort(ctx context.Context, long bundle.Feature) bundle.Feature {
	x := c.startTrue(ctx)
	if s := x.Snapshot(); startedPID(s) != 0 || startsUndeclared(c.way.Codec, x.BodyBytes()) {
		return present("a short command starts: " + describe(s) + "; a waiting one has no start event in time: " + long.Detail)
	}
	return long
}

// decideStart also names the shell, if it is not the default one. A target that refuses
// every command cannot be tested; the detail suggests another shell.
func (c *client) decideStart(ctx context.Context, run *running, s bundle.Exchange) bundle.Feature {
	f := decide(run.x, s, startedPID(s) != 0)
	shell := strings.Join(c.target.Shell(), " ")
	switch {
	case f.State == bundle.FeaturePresent && c.target.shell.Load() != nil:
		f.Detail += "; " + strings.Join(defaultShell[:], " ") + " is refused, " + shell + " is accepted"
	case f.State == bundle.FeatureUnknown && s.Outcome == bundle.OutcomeComplete && s.Error == nil:
		return c.decideCall(ctx, c.startRequest(command{text: "true"}), run.x, false)
	case f.State != bundle.FeaturePresent && s.Error != nil && slices.Contains(refusesCommand, s.Error.Code):
		r := c.startRequest(command{text: "true"})
		if same, _ := c.likeNothing(ctx, r, c.do(ctx, r)); same {
			return lacks(s, "the same response as for a nonexistent method: "+describe(s))
		}
		f = lacks(s, describe(s)+"; commands were sent as "+shell+" COMMAND: if the target needs another shell, set it with --shell, for example --shell '"+
			strings.Join(fallbackShell[:], " ")+"'")
	}
	return f
}

// refusesCommand lists the codes of a permanent refusal to run a command.
var refusesCommand = []string{"invalid_argument", "not_found", "permission_denied", "failed_precondition"}

// connect attaches to the process and waits for the start event.
func (r *running) connect(ctx context.Context) bundle.Feature {
	req := r.client.rpcRequest(call.Attach{Process: r.selector()})
	x, _ := r.client.send(ctx, req)
	s := r.client.await(ctx, x, hasStart)
	return r.decide(ctx, req, x, hasStart(s))
}

// terminal is the terminal of a probe.
var terminal = call.PTY{Size: call.Size{Cols: 80, Rows: 24}}

// resize returns the message that gives the process's terminal its size.
func (r *running) resize() call.Update { return call.Update{Process: r.selector(), PTY: terminal} }

// line returns the message that writes a line to the process.
func (r *running) line() call.SendInput { return call.Write(r.selector(), []byte("\n")) }

// update resizes the terminal of a process without one: any response about that comes from
// an existing method. Unimplemented is not conclusive: the method may exist for processes
// with a terminal.
func (r *running) update(ctx context.Context) bundle.Feature {
	answer, f := r.method(ctx, r.resize(), handled)
	if f.State != bundle.FeatureAbsent || answer.Error == nil {
		return f
	}
	run, _ := r.client.start(ctx, command{text: r.client.nap(), pty: true})
	defer run.reap(ctx)
	if run.pid == 0 {
		return f
	}
	if _, second := run.method(ctx, run.resize(), succeeded); second.State == bundle.FeaturePresent {
		return second
	}
	return f
}

// readLine ends at a line of input.
const readLine = "read x"

// input sends a line to a process that does not read. Without a response, the target may be
// waiting for a reader, so the second try has one.
func (r *running) input(ctx context.Context) bundle.Feature {
	c := r.client
	brief, cancel := context.WithTimeout(ctx, c.limit/3)
	defer cancel()
	answer, f := r.method(brief, r.line(), succeeded)
	if answer.Response != nil || brief.Err() == nil || ctx.Err() != nil {
		return f
	}
	reader, _ := c.start(ctx, command{text: readLine, stdin: true})
	defer reader.reap(ctx)
	if reader.pid == 0 {
		return f
	}
	if _, f = reader.method(ctx, reader.line(), succeeded); f.State == bundle.FeaturePresent {
		reader.ended(ctx)
	}
	return f
}

// listing is the response to List.
type listing struct {
	client  *client
	request request
	answer  *transport.Exchange
	valid   bool
	process.ListResponse
}

func (c *client) list(ctx context.Context) *listing {
	l := &listing{client: c, request: c.rpcRequest(call.List{})}
	l.answer = c.do(ctx, l.request)
	s := l.answer.Snapshot()
	l.valid = succeeded(s) && !isForeign(s, l.answer.BodyBytes()) && call.Decode(c.way.Codec, l.answer.BodyBytes(), &l.ListResponse) == nil
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

// decide says whether List exists; run is a process that should be listed, or nil.
func (l *listing) decide(ctx context.Context, run *running) bundle.Feature {
	if run == nil {
		return l.client.decidePage(ctx, l.request, l.answer, l.valid)
	}
	if _, ok := l.has(run.pid); ok {
		return present(describe(l.answer.Snapshot()))
	}
	f := l.client.decidePage(ctx, l.request, l.answer, l.valid)
	if f.State == bundle.FeaturePresent {
		f.Detail += "; a process that had just started was not listed"
	}
	return f
}

// probeSignal kills a process. Success proves nothing unless the process ends, which proves the method.
func probeSignal(ctx context.Context, c *client) findings {
	return c.about(ctx, featSignal, command{text: c.nap()}, func(run *running) bundle.Feature {
		killed, f := run.method(ctx, call.Kill(run.selector()), succeeded)
		switch {
		case !succeeded(killed):
		case run.ended(ctx):
			f = present(describe(killed))
		default:
			f.Detail += "; the process did not end"
		}
		return f
	})
}

// probeCloseStdin closes the input of a process.
func probeCloseStdin(ctx context.Context, c *client) findings {
	return c.about(ctx, featCloseStdin, command{text: c.nap(), stdin: true}, func(run *running) bundle.Feature {
		_, f := run.method(ctx, call.CloseStdin{Process: run.selector()}, succeeded)
		return f
	})
}

// probeStreamInput opens an input stream to a process and ends it without input: a target
// may wait until the process reads its input.
func probeStreamInput(ctx context.Context, c *client) findings {
	return c.about(ctx, featStreamInput, command{text: c.nap(), stdin: true}, func(run *running) bundle.Feature {
		req := c.rpcRequest(call.OpenInput{Start: call.Attach{Process: run.selector()}})
		x := c.do(ctx, req)
		return run.decide(ctx, req, x, succeeded(x.Snapshot()))
	})
}

// probeTag starts a process with a tag and finds it with List or Connect.
func probeTag(ctx context.Context, c *client) findings {
	const tag = "assay-probe"
	run, s := c.start(ctx, command{text: c.nap(), tag: tag})
	defer run.reap(ctx)
	if run.pid == 0 {
		return findings{featTag: decide(run.x, s, false)}
	}
	l := c.list(ctx)
	listed, ok := l.has(run.pid)
	switch {
	case ok && listed == tag:
		return findings{featTag: present("List shows it")}
	case ok:
		return findings{featTag: absent("List shows the process without its tag")}
	}
	return findings{featTag: run.byTag(ctx, tag)}
}

// byTag selects the process by its tag with Connect or, without Connect, with SendSignal.
func (r *running) byTag(ctx context.Context, tag string) bundle.Feature {
	c, selector := r.client, call.ByTag(tag)
	x, _ := c.send(ctx, c.rpcRequest(call.Attach{Process: selector}))
	if s := c.await(ctx, x, hasStart); hasStart(s) {
		return present("Connect finds it")
	}
	s := c.do(ctx, c.rpcRequest(call.Kill(selector))).Snapshot()
	if succeeded(s) {
		return present("SendSignal finds it")
	}
	return unknown(fmt.Sprintf("neither List nor Connect (%s) nor SendSignal (%s) finds it", describe(x.Snapshot()), describe(s)))
}
