package judge

import (
	"strings"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/record/surface"
	"assay/internal/wire"
)

// protocol returns the RPC protocol of an exchange. Older bundles do not record it: there the
// content type of the request decides, and the default is Connect.
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

// ofGRPC reports whether an exchange is a gRPC or gRPC-Web call.
func ofGRPC(x *bundle.Exchange) bool {
	p := protocol(x)
	return isRPC(x) && (p == call.GRPC || p == call.GRPCWeb)
}

// isRPC reports whether an exchange calls a procedure.
func isRPC(x *bundle.Exchange) bool { return x.RPC != "" || x.Surface == surface.Process }

// http2 reports whether an exchange was made over HTTP/2.
func http2(x *bundle.Exchange) bool {
	return x.Stream != 0 || x.Response != nil && strings.HasPrefix(x.Response.Proto, "HTTP/2")
}

// finished returns when a response announced its end, or nil if it never did: by the
// end-of-stream message of Connect or the trailer frame of gRPC-Web. In gRPC, where one frame is
// both the status and the end of the body, it is the last message.
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

// endFrame returns the index of the frame that ends a response, or -1.
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

// isEndFrame reports whether a frame with these flags ends a response in the exchange's protocol.
func isEndFrame(x *bundle.Exchange, flags byte) bool {
	switch protocol(x) {
	case call.GRPC:
		return false
	case call.GRPCWeb:
		return flags&wire.FlagTrailer != 0
	}
	return x.Shape == bundle.ShapeStream && flags&wire.FlagEndStream != 0
}

// trailing returns the trailing metadata of a response by lower-case name, from where its
// protocol puts it: the end-of-stream message, Trailer- headers, or the fields beside the status.
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
			fields = x.Response.Headers // trailers-only: leading and trailing metadata are one
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
