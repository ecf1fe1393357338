package judge

import (
	"testing"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// grpcExchange is a healthy Start over gRPC on HTTP/2: start, one data event, end, status.
func grpcExchange(name string) *bundle.Exchange {
	x := streamExchange(name)
	x.Protocol, x.Stream, x.EndStream = call.GRPC, 1, nil
	x.Frames, x.Response.Body = x.Frames[:3], x.Response.Body-7
	x.Request.Headers = headers("Content-Type", "application/grpc+json")
	x.Response.Proto = "HTTP/2.0"
	x.Response.Headers = headers("Content-Type", "application/grpc+json")
	x.Response.Trailers = headers("Grpc-Status", "0")
	x.GRPC = &bundle.GRPCStatus{In: "trailers", Metadata: headers("x-out", "one", "x-out", "two")}
	return x
}

// webExchange is the same call over gRPC-Web on HTTP/1.1, with a trailer frame.
func webExchange(name string) *bundle.Exchange {
	x := grpcExchange(name)
	x.Protocol, x.Stream = call.GRPCWeb, 0
	x.Request.Headers = headers("Content-Type", "application/grpc-web+json")
	x.Response.Proto, x.Response.Trailers = "HTTP/1.1", nil
	x.Response.Headers = headers("Content-Type", "application/grpc-web+json")
	frame(x, &clock{n: 50}, wire.FlagTrailer, -1, "grpc-status: 0\r\n")
	x.GRPC = &bundle.GRPCStatus{In: "frame"}
	return x
}

func TestStandingRulesOfGRPC(t *testing.T) {
	grpc := func() *bundle.Exchange { return grpcExchange("send") }
	web := func() *bundle.Exchange { return webExchange("send") }
	headersOnly := func() *bundle.Exchange {
		x := webExchange("send")
		x.Frames, x.Events, x.Response.Body = nil, nil, 0
		x.Response.Headers = headers("Content-Type", "application/grpc-web+json", "Grpc-Status", "5")
		x.GRPC = &bundle.GRPCStatus{Code: 5, In: "headers"}
		return x
	}
	html := answerType("text/html")
	cases := []standingCase{
		{"check:grpc-http-status", grpc, func(x *bundle.Exchange) { x.Response.Status = 500 },
			"want HTTP 200 for a response of type application/grpc+json, saw 500", html},
		{"check:grpc-content-type", grpc, answerType("application/grpc"),
			"content type: want application/grpc+json, as in the request, saw application/grpc", func(x *bundle.Exchange) { x.GRPC.Code = 13 }},
		{"check:grpc-web-content-type", web, answerType("application/grpc-web+proto"),
			"content type: want application/grpc-web+json, as in the request, saw application/grpc-web+proto", func(x *bundle.Exchange) { x.GRPC = nil }},
		{"check:grpc-status-place", grpc, func(x *bundle.Exchange) { x.GRPC.In = "headers" },
			"want the status in the trailers of a response with a body of 75 bytes, saw it in the headers", func(x *bundle.Exchange) { x.GRPC = nil }},
		{"check:grpc-web-status-last", web, func(x *bundle.Exchange) { x.Frames[1].Flags = wire.FlagTrailer },
			"want one trailer frame, saw a second (frame 3, body offset 75)", html},
		{"check:grpc-web-status-last", web, func(x *bundle.Exchange) { x.Frames = append(x.Frames, x.Frames[0]) },
			"want nothing after the trailer frame, saw 1 frame more (frame 4, body offset 0)", html},
		{"check:grpc-web-status-last", web, func(x *bundle.Exchange) { x.Frames = x.Frames[:3] },
			"want a trailer frame at the end of the body, saw none (status in the frame)", func(x *bundle.Exchange) { x.Outcome = bundle.OutcomeStalled }},
		{"check:grpc-web-trailers-only", headersOnly, func(x *bundle.Exchange) { x.Response.Body = 20 },
			"want no body where the status is in the headers, saw 20 bytes", html},
		{"check:grpc-web-http-trailers", web, func(x *bundle.Exchange) { x.Response.Trailers = headers("X-Out", "1") },
			`want no HTTP trailers, saw "X-Out": "1"`, html},
		{"check:start-first", grpc, func(x *bundle.Exchange) { x.Events[0].Kind = bundle.EventKeepAlive },
			"want start as the first event, saw keepalive (frame 0, body offset 0)", html},
		{"check:end-last", web, func(x *bundle.Exchange) { x.Events = x.Events[:2] },
			"want one end event in a stream that ends without an error, saw none (HTTP 200, events start data)", html},
		{string(wire.GRPCStatusMissing), web, violation(wire.GRPCStatusMissing, "frame"), "what it was (grpc.status-missing, body offset 7)", html},
		{string(wire.GRPCReservedFlags), grpc, violation(wire.GRPCReservedFlags, "frame"), "what it was (grpc.reserved-flags, body offset 7)",
			func(x *bundle.Exchange) { *x = *webExchange("send") }},
		{string(wire.WebTrailerCase), web, violation(wire.WebTrailerCase, "frame"), "what it was (grpc-web.trailer-case, body offset 7)",
			func(x *bundle.Exchange) { *x = *grpcExchange("send") }},
		{string(wire.H2ContentLength), grpc, violation(wire.H2ContentLength, "frame"), "what it was (http2.content-length, body offset 7)",
			func(x *bundle.Exchange) { *x = *webExchange("send") }},
		{string(wire.HTTPChunk), web, violation(wire.HTTPChunk, "frame"), "what it was (http.chunk, body offset 7)",
			func(x *bundle.Exchange) { *x = *grpcExchange("send") }},
	}
	for _, c := range cases {
		t.Run(c.entry, c.run)
	}
}

// The rules of one protocol do not apply to responses in another.
func TestStandingRulesKeepToTheirProtocol(t *testing.T) {
	for _, entry := range []string{"check:http-trailers", "check:end-stream-once", "check:stream-content-type", "check:reserved-headers", "envelope.reserved-flags"} {
		for _, x := range []*bundle.Exchange{grpcExchange("send"), webExchange("send")} {
			if vs := standingOf(entry, x); len(vs) != 0 {
				t.Errorf("%s applies to %s: %+v", entry, x.Protocol, vs)
			}
		}
	}
	for _, entry := range []string{"check:grpc-http-status", "check:grpc-status-place", "check:grpc-web-status-last", "grpc.status-missing", "grpc-web.trailer-line", "http2.protocol"} {
		if vs := standingOf(entry, streamExchange("send")); len(vs) != 0 {
			t.Errorf("%s applies to Connect on HTTP/1.1: %+v", entry, vs)
		}
	}
}

func TestGoAwayComesBeforeTheEndOfAConnection(t *testing.T) {
	settings := bundle.H2Frame{Dir: "received", Type: "SETTINGS"}
	goaway := bundle.H2Frame{Dir: "received", Type: "GOAWAY"}
	for name, c := range map[string]struct {
		http   string
		frames []bundle.H2Frame
		ended  *bundle.ConnEnd
		want   bundle.Conclusion // "" for no verdict
	}{
		"said":            {"h2c", []bundle.H2Frame{settings, goaway}, &bundle.ConnEnd{By: "peer", How: "fin"}, "pass"},
		"not said":        {"h2-tls", []bundle.H2Frame{settings}, &bundle.ConnEnd{By: "peer", How: "fin"}, "fail"},
		"still open":      {"h2c", []bundle.H2Frame{settings}, nil, ""},
		"closed by us":    {"h2c", []bundle.H2Frame{settings}, &bundle.ConnEnd{By: "us", How: "fin"}, ""},
		"after our FIN":   {"h2c", nil, &bundle.ConnEnd{By: "peer", How: "fin", Err: afterOurFIN}, ""},
		"it was HTTP/1.1": {"1.1", nil, &bundle.ConnEnd{By: "peer", How: "fin"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := observation(grpcExchange("send"))
			o.Iterations[0].Conns[0] = bundle.Conn{HTTP: c.http, H2: c.frames, Ended: c.ended}
			wantStanding(t, "goaway-before-close", o, c.want)
		})
	}
}

// The readable debug form of an error detail must agree with its bytes.
func TestTheDebugFormOfADetailAgreesWithIt(t *testing.T) {
	with := func(debug string) func() *bundle.Exchange {
		return func() *bundle.Exchange {
			x := withError(unaryExchange("send"), 400, "invalid_argument", "")
			x.Error.Details = []bundle.ErrorDetail{{Type: "assay.v1.Detail", Value: "CgNvbmU"}}
			x.Body = new(bundle.NewBlob([]byte(`{"code":"invalid_argument","details":[{"type":"assay.v1.Detail","value":"CgNvbmU"`+debug+`}]}`), nil))
			return x
		}
	}
	standingCase{"check:error-debug", with(`,"debug":{"text":"one"}`), func(x *bundle.Exchange) { *x = *with(`,"debug":{"text":"two"}`)() },
		`details[0].debug: at text: want "one", saw "two"`, func(x *bundle.Exchange) { x.Error = nil }}.run(t)
	standingCase{"check:error-debug", with(""), func(x *bundle.Exchange) { *x = *with(`,"debug":7`)() },
		`details[0].debug: at the top: want {"text":"one"}, saw 7`, nil}.run(t)
}
