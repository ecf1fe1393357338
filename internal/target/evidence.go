package target

import (
	"encoding/binary"
	"fmt"
	"slices"

	"google.golang.org/protobuf/types/known/emptypb"

	"assay/internal/envd/call"
	"assay/internal/envd/process"
	"assay/internal/record/bundle"
	"assay/internal/record/surface"
	"assay/internal/target/transport"
	"assay/internal/wire"
)

// protocolNames maps the protocols to their names.
var protocolNames = map[string]string{call.Connect: "Connect", call.GRPC: "gRPC", call.GRPCWeb: "gRPC-Web"}

// decide is the common rule of probes: present if the response shows the feature, absent if
// the target clearly refuses or the response is not that of the surface, else unknown.
func decide(x *transport.Exchange, s bundle.Exchange, ok bool) bundle.Feature {
	switch {
	case ok:
		return present(describe(s))
	case refused(s):
		return lacks(s, describe(s))
	case isForeign(s, x.BodyBytes()):
		return lacks(s, foreignWords(s))
	}
	return unknown(describe(s))
}

// isForeign reports whether a complete response is not one of its surface: a redirect, or a
// success with neither the shape nor the content type of the surface's messages. One of both is
// evidence of the surface, so that rules can judge the other.
func isForeign(s bundle.Exchange, body []byte) bool {
	if s.Outcome != bundle.OutcomeComplete {
		return false
	}
	switch s.Response.Status / 100 {
	case 3:
		return true
	case 2:
		return !hasShape(s, body) && !hasOwnType(s, body)
	}
	return false
}

// hasShape reports whether a response to an RPC has the shape of the protocol, whatever its content type
// says. Only the probe of another surface knows the shape of its messages.
func hasShape(s bundle.Exchange, body []byte) bool {
	switch {
	case s.RPC == "":
		return startedPID(s) != 0
	case s.Protocol != call.Connect, s.Shape == bundle.ShapeStream:
		_, enveloped := firstMessage(body)
		return s.GRPC != nil || s.EndStream != nil || len(s.Events) > 0 || hasMessage(s) || enveloped
	}
	return len(body) > 0 && call.Decode(s.Codec, body, new(emptypb.Empty)) == nil
}

// firstMessage returns the first message of a body of envelopes. Under another content type than that of
// its protocol, a stream is recorded as such a body.
func firstMessage(body []byte) (message []byte, ok bool) {
	const head = 5 // flags, and the length of the message
	if len(body) < head || body[0]&^(wire.FlagCompressed|wire.FlagEndStream|wire.FlagTrailer) != 0 {
		return nil, false
	}
	length := binary.BigEndian.Uint32(body[1:head])
	if uint64(length) > uint64(len(body)-head) {
		return nil, false
	}
	return body[head : head+int(length)], true
}

// startsUndeclared reports whether a body is a stream in a codec that begins with a start event.
func startsUndeclared(codec string, body []byte) bool {
	message, ok := firstMessage(body)
	var first process.StartResponse
	return ok && call.Decode(codec, message, &first) == nil && first.GetEvent().GetStart().GetPid() != 0
}

// hasOwnType reports whether a response has a content type of its surface. The surfaces of plain
// HTTP may have any but that of a page, or none if there is a body.
func hasOwnType(s bundle.Exchange, body []byte) bool {
	kind, types := contentType(s), surface.Of(s.Surface).Types
	switch {
	case s.RPC != "":
		return isProtocolType(s)
	case kind == "text/html", looksLikeHTML(body), kind == "" && len(body) == 0:
		return false
	}
	return types == nil || slices.Contains(types, kind)
}

// foreignWords says what came instead of the messages of a surface.
func foreignWords(s bundle.Exchange) string {
	what := surface.Of(s.Surface).Messages
	if s.RPC != "" {
		what = "response of " + protocolNames[s.Protocol]
	}
	kind := contentType(s)
	if kind == "" {
		kind = "without a content type"
	}
	return fmt.Sprintf("HTTP %d %s, which is no %s", s.Response.Status, kind, what)
}

// hasMessage reports whether the first frame of a stream is a message.
func hasMessage(s bundle.Exchange) bool {
	return len(s.Frames) > 0 && s.Frames[0].Flags&^wire.FlagCompressed == 0
}
