package judge

import (
	"testing"
	"time"

	"assay/internal/record/bundle"
	"assay/internal/wire"
	"assay/scenarios"
)

// TestMatchOfOtherProtocols has, for every field about gRPC, HTTP/2 or metadata, a response that
// passes and one that fails.
func TestMatchOfOtherProtocols(t *testing.T) {
	grpc := func() *bundle.Exchange { return grpcExchange("send") }
	web := func() *bundle.Exchange { return webExchange("send") }
	refused := func() *bundle.Exchange {
		x := grpcExchange("send")
		x.Error = &bundle.RPCError{Code: "not_found", Message: "nobody", Details: []bundle.ErrorDetail{{Type: "assay.v1.Detail", Value: "CgNvbmU"}}}
		x.GRPC = &bundle.GRPCStatus{Code: 5, Message: "nobody", In: "headers"}
		x.Response.Headers = append(x.Response.Headers, bundle.Header{Name: "X-Out", Value: "last"})
		return x
	}
	errorOf := func(codes ...string) *scenarios.ErrorMatch { return &scenarios.ErrorMatch{Code: codes} }
	for _, c := range []matchCase{
		{"ok wants a status", scenarios.Match{OK: new(true)}, grpc, func(x *bundle.Exchange) { x.GRPC = nil },
			"want success, saw a response without grpc-status (3 frames)", ""},
		{"ok wants status 0", scenarios.Match{OK: new(true)}, web, func(x *bundle.Exchange) { x.GRPC.Code = 13 },
			"want success, saw HTTP 200, events start data end, ended with code 0", ""},
		{"a code of the status", scenarios.Match{Error: errorOf("not_found")}, refused, func(x *bundle.Exchange) { x.Error.Code = "internal" },
			`want error not_found, saw HTTP 200, error internal "nobody", events start data end, ended with code 0`, ""},
		{"a code of an HTTP status", scenarios.Match{Error: errorOf("unimplemented")}, func() *bundle.Exchange {
			x := grpcExchange("send")
			x.Response.Status, x.GRPC = 404, nil
			return x
		}, func(x *bundle.Exchange) { x.Response.Status = 503 },
			"want error unimplemented, saw HTTP 503, events start data end, ended with code 0, no grpc-status (no RPC error; clients infer unavailable)", ""},
		{"details of an error", scenarios.Match{Error: &scenarios.ErrorMatch{Code: []string{"not_found"}, Details: []scenarios.DetailMatch{{Type: "assay.v1.Detail", Value: "CgNvbmU"}}}},
			refused, func(x *bundle.Exchange) { x.Error.Details[0].Value = "CgN0d28" },
			"error details: want assay.v1.Detail CgNvbmU, saw assay.v1.Detail CgN0d28", ""},
		{"a status by number", scenarios.Match{GRPC: &scenarios.GRPCMatch{Status: []int{0, 5}, In: []string{"headers", "trailers"}}}, refused,
			func(x *bundle.Exchange) { x.GRPC.Code = 13 }, `grpc-status: want 0 or 5, saw 13 "nobody"`, "grpc-status 5 in headers"},
		{"the place of a status", scenarios.Match{GRPC: &scenarios.GRPCMatch{In: []string{"frame"}}}, web,
			func(x *bundle.Exchange) { x.GRPC.In = "trailers" }, "grpc-status: want it in the frame, saw it in the trailers", ""},
		{"the text of a status", scenarios.Match{GRPC: &scenarios.GRPCMatch{Message: "body"}}, refused,
			func(x *bundle.Exchange) { x.GRPC.Message = "" }, `grpc-message: want it to contain "body", saw ""`, ""},
		{"no status at all", scenarios.Match{GRPC: &scenarios.GRPCMatch{}}, grpc,
			func(x *bundle.Exchange) { x.GRPC = nil }, "grpc-status: want one, saw none (HTTP 200, events start data end, ended with code 0, no grpc-status)", ""},
		{"HTTP trailers", scenarios.Match{Trailers: map[string]*string{"grpc-status": new("0"), "x-none": nil}}, grpc,
			func(x *bundle.Exchange) { x.Response.Trailers = nil }, `trailer grpc-status: want "0", saw none`, ""},
		{"metadata in order", scenarios.Match{Metadata: map[string]any{"x-out": []any{"one", "two"}}}, grpc,
			func(x *bundle.Exchange) {
				x.GRPC.Metadata[0], x.GRPC.Metadata[1] = x.GRPC.Metadata[1], x.GRPC.Metadata[0]
			},
			`metadata x-out: want "one" then "two", saw "two" then "one"`, ""},
		{"joined metadata in order", scenarios.Match{Metadata: map[string]any{"x-out": []any{"one", "two"}, "x-none": nil}}, func() *bundle.Exchange {
			x := unaryExchange("send")
			x.Response.Headers = append(x.Response.Headers, bundle.Header{Name: "Trailer-X-Out", Value: "one, two"})
			return x
		}, func(x *bundle.Exchange) {
			x.Response.Headers = append(x.Response.Headers, bundle.Header{Name: "trailer-x-none", Value: "here"})
		},
			`metadata x-none: want none, saw "here"`, ""},
		{"metadata of a stream", scenarios.Match{Metadata: map[string]any{"x-out": "one"}}, func() *bundle.Exchange {
			x := streamExchange("send")
			x.EndStream.Metadata = map[string][]string{"X-Out": {"one"}}
			return x
		}, func(x *bundle.Exchange) { x.EndStream.Metadata = nil }, `metadata x-out: want "one", saw none`, ""},
		{"metadata of a status in the headers", scenarios.Match{Metadata: map[string]any{"x-out": "*"}}, refused,
			func(x *bundle.Exchange) { x.GRPC.In = "trailers" }, "metadata x-out: want any value, saw none", ""},
		{"messages, the trailer frame not among them", scenarios.Match{Messages: &scenarios.MessagesMatch{Count: new(3)}}, web,
			func(x *bundle.Exchange) { x.Frames = x.Frames[1:] }, "messages: want 3, saw 2 (HTTP 200, events start data end, ended with code 0)", ""},
		{"compressed messages of a unary response", scenarios.Match{Compressed: new(true)}, func() *bundle.Exchange {
			x := grpcExchange("send")
			x.Shape, x.Frames[0].Flags = bundle.ShapeUnary, wire.FlagCompressed
			return x
		}, func(x *bundle.Exchange) { x.Frames[0].Flags = 0 }, "want a compressed response, saw none of 3 messages compressed", ""},
		{"a gap after the trailer frame", scenarios.Match{Gap: scenarios.Span{Fixed: 100 * time.Millisecond}}, web,
			func(x *bundle.Exchange) { x.Response.Ended.T += 200e6 }, "gap: want the body to end within 100ms of the end-of-stream, took 157ms", ""},
		{"no end of stream", scenarios.Match{Never: []scenarios.EventMatch{{Event: "end-stream"}}}, func() *bundle.Exchange {
			x := grpcExchange("send")
			x.GRPC = nil
			return x
		}, func(x *bundle.Exchange) { *x = *webExchange("send") }, "end-of-stream: want none, saw one (frame 3, body offset 75)", ""},
		{"a body in protobuf is compared as JSON", scenarios.Match{Body: &scenarios.BodyMatch{JSONHas: map[string]any{"seen": map[string]any{"method": "GET"}}}},
			func() *bundle.Exchange {
				x := unaryExchange("send")
				x.RPC, x.Codec = "assay.v1.Probe/Safe", "proto"
				x.Body = new(bundle.NewBlob([]byte("\x0a\x05\x1a\x03GET"), nil))
				return x
			}, func(x *bundle.Exchange) { x.Body = new(bundle.NewBlob([]byte("\x0a\x04\x1a\x02PO"), nil)) },
			`body: at seen.method: want "GET", saw "PO"`, ""},
		{"a body by an expression", scenarios.Match{Body: &scenarios.BodyMatch{Matches: "^.}$"}}, func() *bundle.Exchange { return unaryExchange("send") },
			func(x *bundle.Exchange) { x.Body = nil }, `body: want it to match "^.}$", saw ""`, ""},
	} {
		t.Run(c.name, c.run)
	}
}

func TestFramesOfAConnection(t *testing.T) {
	frames := []bundle.H2Frame{
		{Dir: "received", Type: "SETTINGS"},
		{Dir: "sent", Type: "PING"},
		{Dir: "received", Type: "PING", Flags: 1},
		{Dir: "received", Type: "RST_STREAM", Stream: 1, Detail: "CANCEL"},
		{Dir: "received", Type: "RST_STREAM", Stream: 3, Detail: "INTERNAL_ERROR"},
	}
	for name, c := range map[string]struct {
		match   scenarios.Match
		message string
	}{
		"received frames":                 {scenarios.Match{H2: []string{"SETTINGS", "PING-ACK", "RST_STREAM CANCEL"}}, ""},
		"a sent frame":                    {scenarios.Match{H2: []string{"PING"}}, "HTTP/2: want a frame PING, saw SETTINGS, PING-ACK, RST_STREAM on stream 1 (CANCEL), RST_STREAM on stream 3 (INTERNAL_ERROR)"},
		"a frame of another stream":       {scenarios.Match{H2: []string{"RST_STREAM INTERNAL_ERROR"}}, "HTTP/2: want a frame RST_STREAM INTERNAL_ERROR, saw SETTINGS, PING-ACK, RST_STREAM on stream 1 (CANCEL), RST_STREAM on stream 3 (INTERNAL_ERROR)"},
		"a forbidden frame":               {scenarios.Match{H2Never: []string{"GOAWAY", "RST_STREAM CANCEL"}}, "HTTP/2: want no frame RST_STREAM CANCEL, saw RST_STREAM on stream 1 (CANCEL)"},
		"an acknowledgement is its own":   {scenarios.Match{H2Never: []string{"PING", "SETTINGS-ACK"}}, ""},
		"a forbidden one, another stream": {scenarios.Match{H2Never: []string{"RST_STREAM INTERNAL_ERROR"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := observation(grpcExchange("send"))
			o.Iterations[0].Conns[0].HTTP, o.Iterations[0].Conns[0].H2 = "h2c", frames
			v := judgeOne(t, scenarioOf(subjects("send", &c.match)), o)
			want := bundle.Pass
			if c.message != "" {
				want = bundle.Fail
			}
			wantVerdict(t, v, want, c.message)
		})
	}
	o := observation(streamExchange("send"))
	o.Iterations[0].Conns[0].HTTP = "1.1"
	wantVerdict(t, judgeOne(t, scenarioOf(subjects("send", &scenarios.Match{H2: []string{"PING"}})), o), bundle.Fail,
		"HTTP/2: the exchange has no HTTP/2 connection (HTTP 200, events start data end, ended with code 0)")
}

// A limit that is missed by no more than the driver's own lag proves nothing.
func TestTimesAreHeldAgainstTheLagOfTheDriver(t *testing.T) {
	within := &scenarios.Match{Within: scenarios.Span{Fixed: 5 * time.Millisecond}}
	took := func() *bundle.Observation { return observation(streamExchange("send")) } // 8 ms
	for lag, want := range map[int64]bundle.Conclusion{0: bundle.Fail, 2e6: bundle.Fail, 3e6: bundle.Inconclusive, 1e9: bundle.Inconclusive} {
		o := took()
		o.Lag = lag
		if v := judgeOne(t, scenarioOf(subjects("send", within)), o); v.Conclusion != want {
			t.Errorf("lag %d: got %s: %s, want %s", lag, v.Conclusion, v.Message, want)
		}
	}
	o := took()
	o.Lag = 1e9
	s := scenarioOf(scenarios.Clause{Sequence: []string{"send.data", "send.start"}})
	if v := judgeOne(t, s, o); v.Conclusion != bundle.Fail {
		t.Errorf("the byte order of one response does not depend on the driver: %s: %s", v.Conclusion, v.Message)
	}
	second := streamExchange("other")
	o = observation(streamExchange("send"), second)
	o.Lag = 1e9
	s = scenarioOf(scenarios.Clause{Sequence: []string{"send.returned", "other.start"}})
	if v := judgeOne(t, s, o); v.Conclusion != bundle.Inconclusive {
		t.Errorf("two connections: got %s: %s, want inconclusive", v.Conclusion, v.Message)
	}
}

func TestInstantsOfAnEndOfStream(t *testing.T) {
	for name, x := range map[string]*bundle.Exchange{"connect": streamExchange("p"), "grpc": grpcExchange("p"), "grpc-web": webExchange("p")} {
		s := scenarioOf(scenarios.Clause{Sequence: []string{"p.data", "p.end", "p.end-stream"}})
		if name != "connect" {
			x.Response.Ended.N, x.Returned.N = 98, 99
		}
		if v := judgeOne(t, s, observation(x)); v.Conclusion != bundle.Pass {
			t.Errorf("%s: %s: %s", name, v.Conclusion, v.Message)
		}
	}
}
