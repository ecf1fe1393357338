package judge

import (
	"strings"

	"assay/internal/bundle"
	"assay/internal/envd/call"
	"assay/internal/wire"
)

// protocol is the RPC protocol in which an exchange was asked for. Evidence from
// before the protocol was recorded tells it by the content type of the request; a
// request that carries neither is taken for Connect.
func protocol(x *bundle.Exchange) string {
	if x.Protocol != "" {
		return x.Protocol
	}
	switch t := requestType(x); {
	case strings.HasPrefix(t, "application/grpc-web"):
		return call.GRPCWeb
	case strings.HasPrefix(t, "application/grpc"):
		return call.GRPC
	}
	return call.Connect
}

// ofGRPC reports whether an exchange is one of gRPC or gRPC-Web.
func ofGRPC(x *bundle.Exchange) bool {
	p := protocol(x)
	return isRPC(x) && (p == call.GRPC || p == call.GRPCWeb)
}

// isRPC reports whether an exchange calls a procedure.
func isRPC(x *bundle.Exchange) bool { return x.RPC != "" || x.Surface == "process" }

// http2 reports whether an exchange was made over HTTP/2.
func http2(x *bundle.Exchange) bool {
	return x.Stream != 0 || x.Response != nil && strings.HasPrefix(x.Response.Proto, "HTTP/2")
}

// finished is when an answer said that it is over: the end-of-stream message of
// Connect, the trailer frame of gRPC-Web, or, since the status of gRPC and the end
// of the body are one frame, the last message of gRPC. nil when it never did.
func finished(x *bundle.Exchange) *bundle.Stamp {
	switch {
	case x.EndStream != nil:
		return &x.EndStream.At
	case !ofGRPC(x) || x.GRPC == nil:
		return nil
	}
	if n := len(x.Frames); n > 0 {
		return &x.Frames[n-1].At
	}
	if x.Response != nil {
		return &x.Response.Head
	}
	return nil
}

// endFrame is the index of the frame that ends an answer, -1 when there is none.
func endFrame(x *bundle.Exchange) int {
	if x.EndStream != nil {
		return x.EndStream.Frame
	}
	for i := range x.Frames {
		if isEndFrame(x, x.Frames[i].Flags) {
			return i
		}
	}
	return -1
}

// isEndFrame reports whether flags end an answer of the exchange's protocol.
func isEndFrame(x *bundle.Exchange, flags byte) bool {
	switch protocol(x) {
	case call.GRPC:
		return false
	case call.GRPCWeb:
		return flags&wire.FlagTrailer != 0
	}
	return x.Shape == bundle.ShapeStream && flags&wire.FlagEndStream != 0
}

// trailing is the trailing metadata of an answer by lower-case name, wherever its
// protocol puts it: the end-of-stream message, Trailer- headers, or the fields
// beside the status.
func trailing(x *bundle.Exchange) map[string][]string {
	out := map[string][]string{}
	add := func(name, value string) {
		name = strings.ToLower(name)
		out[name] = append(out[name], value)
	}
	switch {
	case ofGRPC(x):
		if x.GRPC == nil {
			break
		}
		fields := x.GRPC.Metadata
		if x.GRPC.In == "headers" && x.Response != nil {
			fields = x.Response.Headers // leading and trailing are one there
		}
		for _, h := range fields {
			add(h.Name, h.Value)
		}
	case x.Shape == bundle.ShapeStream:
		if x.EndStream != nil {
			for name, values := range x.EndStream.Metadata {
				for _, v := range values {
					add(name, v)
				}
			}
		}
	case x.Response != nil:
		for _, h := range x.Response.Headers {
			if name, ok := strings.CutPrefix(strings.ToLower(h.Name), "trailer-"); ok {
				add(name, h.Value)
			}
		}
	}
	return out
}
