package judge

import (
	"strings"

	"assay/internal/envd/call"
	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// checkGRPCHTTPStatus: in gRPC and gRPC-Web every response has HTTP status 200, also for an
// RPC error.
func checkGRPCHTTPStatus(e *exam) finding {
	if !e.grpcAnswer() && !e.webAnswer() {
		return notApplied
	}
	if s := status(e.x); s != 200 {
		return e.fails(-1, "want HTTP 200 for a response of type %s, saw %d", responseType(e.x), s)
	}
	return finding{}
}

// checkGRPCContentType: a success has the codec of its request; a type without a codec means proto.
func checkGRPCContentType(e *exam) finding { return e.codecOf(call.GRPC, "application/grpc") }

// checkWebContentType is checkGRPCContentType for gRPC-Web.
func checkWebContentType(e *exam) finding { return e.codecOf(call.GRPCWeb, "application/grpc-web") }

func (e *exam) codecOf(proto, base string) finding {
	want := requestType(e.x)
	if !ofGRPC(e.x) || protocol(e.x) != proto || !isType(want, base) || e.x.GRPC == nil || e.x.GRPC.Code != 0 {
		return notApplied
	}
	got := responseType(e.x)
	if full(got, base) != full(want, base) {
		return e.fails(-1, "content type: want %s, as in the request, saw %s", want, orNone(got))
	}
	return finding{}
}

// full adds the default codec to a content type without one.
func full(t, base string) string {
	if t == base {
		return base + "+proto"
	}
	return t
}

// checkGRPCStatusPlace: the status is in the trailers. It may be in the headers only of a
// response without a body (trailers-only).
func checkGRPCStatusPlace(e *exam) finding {
	if !e.grpcAnswer() || e.x.GRPC == nil {
		return notApplied
	}
	switch in := e.x.GRPC.In; {
	case in == "headers" && e.x.Response.Body > 0:
		return e.fails(0, "want the status in the trailers of a response with a body of %d bytes, saw it in the headers", e.x.Response.Body)
	case in != "headers" && in != "trailers":
		return e.fails(-1, "want the status in the trailers, saw it in the %s", orNone(in))
	case in == "trailers" && len(e.x.Response.Get("Grpc-Status")) > 0:
		return e.fails(-1, "want one status, saw one in the headers and one in the trailers")
	}
	return finding{}
}

// checkWebStatusLast: the status of gRPC-Web is in the last frame of the body, the only one
// with the trailer bit, or in the headers of a response without a body.
func checkWebStatusLast(e *exam) finding {
	if !e.webAnswer() || e.x.GRPC == nil || e.brokenOffByUs() {
		return notApplied
	}
	at := -1
	for i := range e.x.Frames {
		if e.x.Frames[i].Flags&wire.FlagTrailer == 0 {
			continue
		}
		if at >= 0 {
			return e.fails(frameOff(e.x, i), "want one trailer frame, saw a second (%s)", place(e.x, i))
		}
		at = i
	}
	switch last := len(e.x.Frames) - 1; {
	case at >= 0 && at != last:
		return e.fails(frameOff(e.x, at+1), "want nothing after the trailer frame, saw %s more (%s)", phrase.Plural(last-at, "frame"), place(e.x, at+1))
	case at < 0 && last >= 0:
		return e.fails(e.x.Response.Body, "want a trailer frame at the end of the body, saw none (status in the %s)", e.x.GRPC.In)
	}
	return finding{}
}

// checkWebTrailersOnly: a gRPC-Web response with its status in the headers has no body.
func checkWebTrailersOnly(e *exam) finding {
	if !e.webAnswer() || len(e.x.Response.Get("Grpc-Status")) == 0 {
		return notApplied
	}
	if n := e.x.Response.Body; n > 0 {
		return e.fails(0, "want no body where the status is in the headers, saw %d bytes", n)
	}
	return finding{}
}

// checkWebHTTPTrailers: a gRPC-Web response has no HTTP trailers, because its clients cannot
// read them.
func checkWebHTTPTrailers(e *exam) finding {
	if !e.webAnswer() {
		return notApplied
	}
	return e.withoutTrailers()
}

// checkGoAwayBeforeClose: a server sends GOAWAY before it closes an HTTP/2 connection, so that
// the client knows which requests were processed. It does not apply if Assay closed first.
func checkGoAwayBeforeClose(e *exam) finding {
	c := e.conn(e.x.Conn)
	if !overH2(c) || !byPeer(c) || strings.Contains(c.Ended.Err, afterOurFIN) {
		return notApplied
	}
	if received(c, func(f *bundle.H2Frame) bool { return f.Type == "GOAWAY" }) {
		return finding{}
	}
	return e.fails(-1, "want GOAWAY before the connection closes, saw it closed after %s", h2Seen(c))
}
