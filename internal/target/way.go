package target

import (
	"context"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/internal/wire"
)

// ways lists the possible ways to call the target, plainest first; gRPC needs HTTP/2.
func (t *Target) ways() []bundle.Axes {
	var all []bundle.Axes
	for _, version := range t.Versions() {
		for _, protocol := range []string{call.Connect, call.GRPC, call.GRPCWeb} {
			if protocol == call.GRPC && version == transport.HTTP1 {
				continue
			}
			codecs := []string{call.Proto, call.JSON}
			if protocol == call.Connect {
				codecs = []string{call.JSON, call.Proto}
			}
			for _, codec := range codecs {
				all = append(all, bundle.Axes{Protocol: protocol, Codec: codec, HTTP: version, Compression: call.Identity})
			}
		}
	}
	return all
}

// waysWith lists the ways that meet a condition, those most similar to the working one
// first.
func (c *client) waysWith(keep func(bundle.Axes) bool) []bundle.Axes {
	var near, far []bundle.Axes
	for _, w := range c.target.ways() {
		switch {
		case !keep(w):
		case w.HTTP == c.way.HTTP && (w.Protocol == c.way.Protocol || w.Codec == c.way.Codec):
			near = append(near, w)
		default:
			far = append(far, w)
		}
	}
	return append(near, far...)
}

// try makes a List and, if it fails, a Start, and returns the response that says more about
// the way: the successful one, else a Start that is not refused, else the one in the
// protocol.
func (c *client) try(ctx context.Context) *transport.Exchange {
	x := c.do(ctx, c.rpcRequest(call.List{}))
	s := x.Snapshot()
	if c.carriedOut(x) || s.Response == nil || isAuth(s) {
		return x
	}
	started := c.startTrue(ctx)
	if second := started.Snapshot(); c.carriedOut(started) || speaksRPC(second) && (!refused(second) || !speaksRPC(s)) {
		return started
	}
	return x
}

// isProtocolType reports whether a content type belongs to the RPC protocol.
func isProtocolType(s bundle.Exchange) bool {
	kind := contentType(s)
	base := "application/" + s.Protocol
	switch {
	case s.Protocol == call.GRPC, s.Protocol == call.GRPCWeb:
		return kind == base || strings.HasPrefix(kind, base+"+")
	case s.Shape == bundle.ShapeStream:
		return strings.HasPrefix(kind, call.StreamType)
	default:
		return kind == "application/json" || kind == "application/proto"
	}
}

// speaksRPC reports whether a response follows its RPC protocol: success with a content type
// of the protocol and at least one message, or an error with one of its codes. A request for
// credentials never counts.
func speaksRPC(s bundle.Exchange) bool {
	if s.Response == nil || isAuth(s) {
		return false
	}
	if s.Protocol == call.GRPC || s.Protocol == call.GRPCWeb {
		return isProtocolType(s) && (s.GRPC != nil || len(s.Events) > 0)
	}
	if s.Error != nil {
		_, known := wire.CodeByName(s.Error.Code)
		return known
	}
	switch {
	case s.Response.Status != 200 || !isProtocolType(s):
		return false
	case s.Shape == bundle.ShapeStream:
		return len(s.Events) > 0 || s.EndStream != nil
	default:
		return s.Outcome == bundle.OutcomeComplete
	}
}
