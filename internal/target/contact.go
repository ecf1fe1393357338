package target

import (
	"context"
	"errors"

	"assay/internal/base/crash"
	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

// contact is a List and a Start in one way.
type contact struct {
	way         bundle.Axes
	list, start *transport.Exchange
}

// speaks reports whether either call had a response in the protocol.
func (f *contact) speaks() bool {
	return speaksRPC(f.list.Snapshot()) || speaksRPC(f.start.Snapshot())
}

// answered reports whether either call had any HTTP response.
func (f *contact) answered() bool {
	return f.list.Snapshot().Response != nil || f.start.Snapshot().Response != nil
}

// denied reports whether both calls ask for credentials.
func (f *contact) denied() bool {
	return isUnauthenticated(f.list.Snapshot()) && isUnauthenticated(f.start.Snapshot())
}

// isUnauthenticated reports whether a response asks for credentials; 403 is about rights.
func isUnauthenticated(s bundle.Exchange) bool {
	return s.Response != nil && s.Response.Status == 401 || s.Error != nil && s.Error.Code == "unauthenticated"
}

// serves reports whether the process service exists: a server that speaks the protocol may
// have it below another path, and say so with an RPC error. Without List, Start decides.
func (c *client) serves(ctx context.Context, f *contact) bool {
	if !f.speaks() {
		return false
	}
	c = c.on(f.way)
	ctx, cancel := c.within(ctx)
	defer cancel()
	return c.isThere(ctx, c.startRequest(command{text: "true"}), f.start) || c.isThere(ctx, c.rpcRequest(call.List{}), f.list)
}

// isThere reports whether the called method exists: a start event proves it, and so does
// any other response in the protocol that differs from the one to a nonexistent method.
func (c *client) isThere(ctx context.Context, r request, x *transport.Exchange) bool {
	s := x.Snapshot()
	if startedPID(s) != 0 {
		return true
	}
	if !speaksRPC(s) || refused(s) {
		return false
	}
	if s.Error != nil && !mayMeanRoute(s) {
		return true
	}
	same, _ := c.likeNothing(ctx, r, x)
	return !same
}

// telling returns the call that says more about the problem.
func (f *contact) telling() *transport.Exchange {
	list, start := f.list.Snapshot(), f.start.Snapshot()
	if list.Outcome == bundle.OutcomeComplete && !isAuth(list) || len(start.Violations) > len(list.Violations) {
		return f.start
	}
	return f.list
}

// findWay makes first contact in the plainest way and, if that fails, in all others at the
// same time. It rejects a target that speaks no RPC; then it returns the first contact, if there
// was one, beside the error.
func (c *client) findWay(ctx context.Context) (*contact, error) {
	first, err := c.contact(ctx)
	var dial *transport.DialError
	switch {
	case errors.As(err, &dial):
		return nil, c.target.Unreachable(dial.Err)
	case err != nil:
		return nil, err
	case c.serves(ctx, first):
		return first, nil
	case isAuth(first.list.Snapshot()) || isAuth(first.start.Snapshot()):
		return first, c.target.diagnose(first.telling())
	}
	if u := c.target.diagnoseTLS(first.telling(), first.telling().Snapshot()); u != nil {
		return first, u // a TLS port answers every plain request like this
	}
	others := c.otherContacts(ctx)
	for _, f := range others {
		if f != nil && c.serves(ctx, f) {
			return f, nil
		}
	}
	if first.speaks() {
		return first, c.target.diagnoseMissing(first.start.Snapshot())
	}
	if !first.answered() {
		for _, f := range others {
			if f != nil && f.speaks() {
				return first, c.target.diagnoseMissing(f.start.Snapshot())
			}
		}
		for _, f := range others { // a response says more than none
			if f != nil && f.answered() {
				return first, c.target.diagnose(f.telling())
			}
		}
		for _, f := range others {
			if f != nil && f.way.HTTP != transport.HTTP1 && isHTTP2(firstBytes(f.telling())) {
				return first, c.target.diagnoseHTTP2(f.telling().Snapshot())
			}
		}
	}
	return first, c.target.diagnose(first.telling())
}

// otherContacts makes contact in every other way, in order; nil for impossible ones.
func (c *client) otherContacts(ctx context.Context) []*contact {
	ways := c.target.ways()
	found := make([]*contact, len(ways))
	var all crash.Group
	for i, way := range ways {
		if way == c.way {
			continue
		}
		all.Go(func() {
			f, err := c.on(way).contact(ctx)
			if err == nil {
				found[i] = f
			}
		})
	}
	all.Wait()
	return found
}

// contact makes a List and a Start at the same time, so that a silent target costs only one
// deadline.
func (c *client) contact(ctx context.Context) (*contact, error) {
	ctx, cancel := c.within(ctx)
	defer cancel()
	f := &contact{way: c.way}
	var listErr, startErr error
	var both crash.Group
	both.Go(func() {
		f.list, listErr = c.finish(ctx, c.rpcRequest(call.List{}))
	})
	both.Go(func() {
		f.start, startErr = c.finish(ctx, c.startRequest(command{text: "true"}))
	})
	both.Wait()
	if err := errors.Join(listErr, startErr); err != nil {
		return nil, err
	}
	return f, nil
}

// findShell checks whether the target refuses the default shell, and if so uses the shell
// that the SDKs send, if that works. It returns the decisive Start: the given one, or that
// of the other shell.
func (c *client) findShell(ctx context.Context, start bundle.Exchange) bundle.Exchange {
	t := c.target
	if len(t.options.Shell) > 0 || !refusesShell(start) {
		return start
	}
	bounded, cancel := c.within(ctx)
	defer cancel()
	shell := fallbackShell[:]
	x, _ := c.finish(bounded, c.startRequest(command{text: "true", shell: shell}))
	if s := x.Snapshot(); exitCode(s) == 0 {
		t.shell.Store(&shell)
		return s
	}
	return start
}

// refusesShell reports whether a Start of `true` failed possibly because of the shell: an
// error before the start event, or the exit code of a command that cannot be run or found.
func refusesShell(s bundle.Exchange) bool {
	if s.Error != nil && s.Error.Code != "unimplemented" && startedPID(s) == 0 {
		return true
	}
	code := exitCode(s)
	return code == 126 || code == 127
}

// exitCode returns the exit code of the first end event, -1 without one.
func exitCode(s bundle.Exchange) int {
	for _, e := range s.Events {
		if e.Kind == bundle.EventEnd && e.Exit != nil {
			return int(e.Exit.Code)
		}
	}
	return -1
}
