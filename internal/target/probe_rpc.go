package target

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/record/surface"
	"assay/internal/target/transport"
)

// probeVersion checks whether any protocol works over an HTTP version, or at least a
// response arrives that does not ask for another version.
func probeVersion(id, version string) func(context.Context, *client) findings {
	return func(ctx context.Context, c *client) findings {
		if !slices.Contains(c.target.Versions(), version) {
			return findings{id: absent(fmt.Sprintf("not possible with an %s URL", c.target.url.Scheme))}
		}
		f := c.search(ctx, func(w bundle.Axes) bool { return w.HTTP == version }, func(_ *client, x *transport.Exchange) bool {
			s := x.Snapshot()
			return speaksRPC(s) || s.Outcome == bundle.OutcomeComplete && !slices.Contains(asksForAnother, s.Response.Status)
		})
		return findings{id: f}
	}
}

// asksForAnother lists the statuses of a server that does not serve the HTTP version: bad
// request, misdirected request, upgrade required, version not supported.
var asksForAnother = []int{400, 421, 426, 505}

// probeWays checks whether a protocol works over any HTTP version, in any codec, or a codec in any protocol.
func probeWays(id, value string) func(context.Context, *client) findings {
	return func(ctx context.Context, c *client) findings {
		return findings{id: c.search(ctx, func(w bundle.Axes) bool { return w.Protocol == value || w.Codec == value }, c.understands(ctx))}
	}
}

// works reports whether a response shows that the client's way works.
type works func(on *client, x *transport.Exchange) bool

// understands reports whether the target understood a call in its way: it succeeded, or
// failed with the same error as in the client's own way. Any other error may be about the
// codec or the protocol. An empty list proves nothing if every method has that response: then
// Start decides.
func (c *client) understands(ctx context.Context) works {
	return func(on *client, x *transport.Exchange) bool {
		s := x.Snapshot()
		switch {
		case on.carriedOut(x):
			return on.isOwn(ctx, x)
		case !speaksRPC(s) || s.Error == nil || s.Response.Status == 415:
			return false
		case on.way == c.way:
			return s.Error.Code != "unimplemented"
		}
		own := c.try(ctx).Snapshot()
		return own.RPC == s.RPC && own.Error != nil && own.Error.Code == s.Error.Code && own.Error.Code != "unimplemented"
	}
}

// isOwn reports whether a call that was carried out has a response of its own: a list that differs from
// the response to a nonexistent method, or a start event.
func (c *client) isOwn(ctx context.Context, x *transport.Exchange) bool {
	if x.Snapshot().RPC == call.ProcessStart {
		return true
	}
	same, _ := c.likeNothing(ctx, c.rpcRequest(call.List{}), x)
	return !same || c.carriedOut(c.startTrue(ctx))
}

// search tries the ways that meet a condition until one works. An undecided result
// (silence, rejected credentials) outweighs refusals, except silence on an HTTP version
// other than the client's own.
func (c *client) search(ctx context.Context, keep func(bundle.Axes) bool, ok works) bundle.Feature {
	var first bundle.Feature
	for _, w := range c.waysWith(keep) {
		on := c.on(w)
		x := on.try(ctx)
		s := x.Snapshot()
		said := fmt.Sprintf("%s: %s", w, describe(s))
		quiet := s.Outcome == bundle.OutcomeNoAnswer || s.Response == nil && ctx.Err() != nil
		switch {
		case ok(on, x):
			return present(said)
		case quiet && w.HTTP != c.way.HTTP && first.State == bundle.FeatureAbsent:
		case !unspoken(s) && first.State != bundle.FeatureUnknown:
			first = unknown(said)
		case first.State == "":
			first = lacks(s, said)
		}
	}
	return first
}

// unspoken reports whether a response shows that the target does not support the way: it
// refuses, responds in another protocol, or ends the connection at once.
func unspoken(s bundle.Exchange) bool {
	switch s.Outcome {
	case bundle.OutcomeGarbage, bundle.OutcomeClosed, bundle.OutcomeReset:
		return s.Response == nil
	case bundle.OutcomeNoConnect:
		return strings.Contains(s.Detail, "does not agree to HTTP/2")
	case bundle.OutcomeComplete:
		return !isAuth(s) && s.Response.Status < 500 || refused(s) || s.Response.Status == 505
	default: // silence, or we ended the connection
		return false
	}
}

// probeGet calls the side-effect-free method of the probe service with GET.
func probeGet(ctx context.Context, c *client) findings {
	r := request{
		method: "GET", surface: surface.Process, path: call.ProbeSafe + "?connect=v1&encoding=json&message=%7B%7D",
		rpc: call.ProbeSafe, protocol: call.Connect, codec: call.JSON, shape: bundle.ShapeUnary,
	}
	x := c.do(ctx, r)
	s := x.Snapshot()
	f := c.decidePage(ctx, r, x, succeeded(s) && contentType(s) == "application/json")
	if f.State == bundle.FeatureAbsent {
		f.Detail += "; no side-effect-free method is known"
	}
	return findings{featGet: f}
}

// probeProbe calls the probe service.
func probeProbe(ctx context.Context, c *client) findings {
	return c.probeUnary(ctx, featProbe, call.Text{RPC: call.ProbeUnary, JSON: []byte("{}")})
}

// probeFilesystem stats a directory that every target has.
func probeFilesystem(ctx context.Context, c *client) findings {
	var f findings
	for _, dir := range everyDir {
		f = c.probeUnary(ctx, featFilesystem, call.Text{RPC: call.FilesystemStat, JSON: []byte(`{"path":"` + dir + `"}`)})
		if f[featFilesystem].State != bundle.FeatureUnknown {
			break
		}
	}
	return f
}

// probeUnary makes one unary call that must succeed.
func (c *client) probeUnary(ctx context.Context, id string, m call.Message) findings {
	r := c.rpcRequest(m)
	x := c.do(ctx, r)
	s := x.Snapshot()
	return findings{id: c.decidePage(ctx, r, x, succeeded(s) && c.hasType(s))}
}

// inAuthorization is why nothing about X-Access-Token can be tested.
const inAuthorization = "the token is in Authorization, and the scenarios are about X-Access-Token"

// probeToken makes the same call with the token, if there is one, and without it: an RPC or, where
// there are none, a handshake.
//
// Its scenarios leave out X-Access-Token, or change it: they would blame a target that reads another header.
func probeToken(ctx context.Context, c *client) findings {
	if c.target.bears() {
		return findings{featToken: hidden(inAuthorization)}
	}
	bare := *c
	bare.bare = true
	without := bare.try(ctx).Snapshot()
	with, succeeds := without, speaksRPC
	if c.target.options.Token != "" {
		with = c.try(ctx).Snapshot()
	}
	if !speaksRPC(with) {
		if s, first := c.attach(ctx, ":", ""); first.Switched() {
			s.leave(ctx)
			s, without = bare.attach(ctx, ":", "")
			s.leave(ctx)
			with, succeeds = first, func(s bundle.Exchange) bool { return s.Switched() }
		}
	}
	switch {
	case c.target.options.Token != "" && !succeeds(with):
		return findings{featToken: unknown("with the token: " + describe(with))}
	case isAuth(without):
		return findings{featToken: present("a call without the token is refused: " + describe(without))}
	case succeeds(without):
		return findings{featToken: absent("a call without a token succeeds: " + describe(without))}
	}
	return findings{featToken: unknown("without a token: " + describe(without))}
}
