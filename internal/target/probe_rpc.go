package target

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/internal/bundle"
)

const (
	rpcUnaryProbe = "assay.v1.Probe/Unary"
	rpcSafeProbe  = "assay.v1.Probe/Safe"
	rpcStat       = "filesystem.Filesystem/Stat"
)

// probeVersion looks whether any protocol is spoken over an HTTP version, or at
// least an answer comes that does not ask for another version.
func probeVersion(id, version string) func(context.Context, *client) (findings, error) {
	return func(ctx context.Context, c *client) (findings, error) {
		if !slices.Contains(c.target.Versions(), version) {
			return findings{id: absent(fmt.Sprintf("it does not go with a URL of %s", c.target.url.Scheme))}, nil
		}
		f := c.search(ctx, func(w bundle.Axes) bool { return w.HTTP == version }, func(s bundle.Exchange) bool {
			return speaksRPC(s) || s.Outcome == bundle.OutcomeComplete && !slices.Contains(asksForAnother, s.Response.Status)
		})
		return findings{id: f}, nil
	}
}

// asksForAnother are the statuses of a server that was not spoken to in a version
// that it serves: bad request, misdirected request, upgrade required, version not supported.
var asksForAnother = []int{400, 421, 426, 505}

// probeProtocol looks whether a protocol is spoken over any HTTP version, in any codec.
func probeProtocol(id, protocol string) func(context.Context, *client) (findings, error) {
	return func(ctx context.Context, c *client) (findings, error) {
		return findings{id: c.search(ctx, func(w bundle.Axes) bool { return w.Protocol == protocol }, understood)}, nil
	}
}

// probeCodec looks whether a codec is understood in the protocols that there are.
func probeCodec(id, codec string) func(context.Context, *client) (findings, error) {
	return func(ctx context.Context, c *client) (findings, error) {
		return findings{id: c.search(ctx, func(w bundle.Axes) bool { return w.Codec == codec }, understood)}, nil
	}
}

// search tries the ways that keep to a condition, until one works. What cannot
// be told (silence, credentials that are refused) outweighs refusals.
func (c *client) search(ctx context.Context, keep func(bundle.Axes) bool, works func(bundle.Exchange) bool) bundle.Feature {
	var first bundle.Feature
	for _, w := range c.waysWith(keep) {
		s := c.on(w).try(ctx).Snapshot()
		said := fmt.Sprintf("%s: %s", w, describe(s))
		switch {
		case works(s):
			return present(said)
		case !unspoken(s) && first.State != bundle.FeatureUnknown:
			first = unknown(said)
		case first.State == "":
			first = absent(said)
		}
	}
	return first
}

// understood reports whether an answer is one of the protocol to a request that
// was understood. An error in the words of an RPC may still say that the codec or the content
// type is not known, by 415 or by unimplemented for a method that surely is there.
func understood(s bundle.Exchange) bool {
	if !speaksRPC(s) || s.Response.Status == 415 {
		return false
	}
	return s.RPC == rpcList || startedPID(s) != 0 || s.Error == nil || s.Error.Code != "unimplemented"
}

// unspoken reports whether an answer shows that the target does not speak that
// way: it refuses, answers in something else, or ends the connection at once.
func unspoken(s bundle.Exchange) bool {
	switch s.Outcome {
	case bundle.OutcomeGarbage, bundle.OutcomeClosed, bundle.OutcomeReset:
		return s.Response == nil
	case bundle.OutcomeNoConnect:
		return strings.Contains(s.Detail, "does not agree to HTTP/2")
	case bundle.OutcomeComplete:
		return !isAuth(s) && s.Response.Status < 500 || refused(s) || s.Response.Status == 505
	default: // silence, or an end that was ours
		return false
	}
}

// probeGet calls the side-effect free method of the probe service by GET.
func probeGet(ctx context.Context, c *client) (findings, error) {
	s := c.do(ctx, request{
		method: "GET", surface: "process", path: rpcSafeProbe + "?connect=v1&encoding=json&message=%7B%7D",
		rpc: rpcSafeProbe, protocol: protoConnect, codec: codecJSON, shape: bundle.ShapeUnary,
	}).Snapshot()
	f := decide(s, succeeded(s) && contentType(s) == "application/json")
	if f.State == bundle.FeatureAbsent {
		f.Detail += "; no method without side effects is known to be there"
	}
	return findings{featGet: f}, nil
}

// probeProbe calls the probe service.
func probeProbe(ctx context.Context, c *client) (findings, error) {
	return c.probeUnary(ctx, featProbe, rpcUnaryProbe, "{}")
}

// probeFilesystem asks what the root directory is.
func probeFilesystem(ctx context.Context, c *client) (findings, error) {
	return c.probeUnary(ctx, featFilesystem, rpcStat, `{"path":"/"}`)
}

// probeUnary makes one unary call that must succeed.
func (c *client) probeUnary(ctx context.Context, id, rpc, message string) (findings, error) {
	x, err := c.unary(ctx, rpc, message)
	if err != nil {
		return nil, err
	}
	s := x.Snapshot()
	return findings{id: decide(s, succeeded(s) && isProtocolType(s))}, nil
}

// probeToken makes the same call with the token, where there is one, and without it.
func probeToken(ctx context.Context, c *client) (findings, error) {
	bare := *c
	bare.bare = true
	without := bare.try(ctx).Snapshot()
	if c.target.options.Token != "" {
		if with := c.try(ctx).Snapshot(); !speaksRPC(with) {
			return findings{featToken: unknown("with the token: " + describe(with))}, nil
		}
	}
	switch {
	case isAuth(without):
		return findings{featToken: present("a call without the token is refused: " + describe(without))}, nil
	case speaksRPC(without):
		return findings{featToken: absent("a call without a token passes: " + describe(without))}, nil
	}
	return findings{featToken: unknown("without a token: " + describe(without))}, nil
}

// probeStdio asks for the WebSocket endpoint without an upgrade: nothing is
// opened, and who has it says that an upgrade is needed.
func probeStdio(ctx context.Context, c *client) (findings, error) {
	x := c.do(ctx, request{method: "GET", path: "attach", shape: bundle.ShapePlain})
	s := x.Snapshot()
	body := strings.ToLower(string(x.BodyBytes()))
	ok := s.Outcome == bundle.OutcomeComplete && (s.Response.Status == 426 ||
		s.Response.Status < 500 && !refused(s) && (strings.Contains(body, "websocket") || strings.Contains(body, "upgrade")))
	return findings{featStdio: decide(s, ok)}, nil
}

// probeControl asks for a sandbox in a way that no control plane grants: without
// a template.
func probeControl(ctx context.Context, c *client) (findings, error) {
	s := c.do(ctx, request{
		method: "POST", path: "v2/sandboxes", shape: bundle.ShapePlain, body: []byte("{}"),
		headers: []bundle.Header{{Name: "content-type", Value: "application/json"}},
	}).Snapshot()
	ok := s.Outcome == bundle.OutcomeComplete && contentType(s) == "application/json" &&
		s.Response.Status < 500 && !refused(s)
	return findings{featControl: decide(s, ok)}, nil
}
