package transport_test

import (
	"testing"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

// trailerFrame returns a trailer frame of gRPC-Web.
func trailerFrame(text string) string { return envelope(0x80, text) }

func grpcCall(protocol, rpc string) transport.Call {
	return transport.Call{Name: "x", Op: "call", RPC: "process.Process/" + rpc, Protocol: protocol,
		Shape: bundle.Shape(call.ShapeOf("process.Process/" + rpc)), Codec: "json", Method: "POST", Path: "/process.Process/" + rpc}
}

// The records of gRPC-Web answers, with their violations.
func TestAnswerOfGRPCWebIsDecodedStrictly(t *testing.T) {
	const kind = "Content-Type: application/grpc-web+json\r\n"
	const ok = "grpc-status: 0\r\n"
	tests := []struct {
		name, rpc, answer string
		violations        string
		status            int // -1: none
		in, body          string
	}{
		{"a unary answer", "List", respond(200, kind, envelope(0, "{}")+trailerFrame(ok)), "", 0, "frame", "{}"},
		{"a stream", "Start", respond(200, kind, envelope(0, startEvent)+envelope(0, endEvent)+trailerFrame(ok)), "", 0, "frame", ""},
		{"an error after a message", "Start", respond(200, kind, envelope(0, startEvent)+trailerFrame("grpc-status: 13\r\ngrpc-message: a%20b\r\n")), "", 13, "frame", ""},
		{"the status in the head", "List", respond(200, kind+"Grpc-Status: 12\r\n", ""), "", 12, "headers", ""},
		{"a compressed trailer frame", "List", respond(200, kind+"grpc-encoding: gzip\r\n", envelope(0, "{}")+envelope(0x81, string(call.Compress([]byte(ok))))), "", 0, "frame", "{}"},
		{"a compressed trailer frame that was not declared", "List", respond(200, kind, envelope(0, "{}")+envelope(0x81, string(call.Compress([]byte(ok))))),
			"grpc-web.compressed-undeclared grpc.status-missing", -1, "", "{}"},
		{"a message that does not decompress", "List", respond(200, kind+"grpc-encoding: gzip\r\n", envelope(1, "zz")+trailerFrame(ok)), "grpc-web.bad-compression", 0, "frame", ""},
		{"an encoding that was never offered", "List", respond(200, kind+"grpc-encoding: br\r\n", envelope(1, "zz")+trailerFrame(ok)), "grpc-web.bad-compression", 0, "frame", ""},
		{"no trailers", "List", respond(200, kind, envelope(0, "{}")), "grpc-web.trailers-missing", -1, "", "{}"},
		{"no status in the trailers", "List", respond(200, kind, envelope(0, "{}")+trailerFrame("x: y\r\n")), "grpc.status-missing", -1, "", "{}"},
		{"a body with the status in the head", "List", respond(200, kind+"Grpc-Status: 0\r\n", envelope(0, "{}")), "grpc-web.trailers-missing", 0, "headers", "{}"},
		{"the status in the head and in the frame", "List", respond(200, kind+"Grpc-Status: 0\r\n", envelope(0, "{}")+trailerFrame(ok)), "grpc.status-repeated", 0, "frame", "{}"},
		{"the status in HTTP trailers", "List", "HTTP/1.1 200 OK\r\n" + kind + "Transfer-Encoding: chunked\r\n\r\n7\r\n" + envelope(0, "{}") + "\r\n0\r\nGrpc-Status: 0\r\n\r\n",
			"grpc-web.http-trailers grpc-web.trailers-missing", -1, "", "{}"},
		{"bytes after the trailers", "List", respond(200, kind, envelope(0, "{}")+trailerFrame(ok)+"x"), "grpc-web.bytes-after-trailers", 0, "frame", "{}"},
		{"a unary answer without a message", "List", respond(200, kind, trailerFrame(ok)), "grpc.unary-messages", 0, "frame", ""},
		{"a unary answer of two messages", "List", respond(200, kind, envelope(0, "{}")+envelope(0, "{}")+trailerFrame(ok)), "grpc.unary-messages", 0, "frame", "{}{}"},
		{"a reserved name", "List", respond(200, kind+"Grpc-Mood: good\r\n", envelope(0, "{}")+trailerFrame(ok)), "grpc.reserved-name", 0, "frame", "{}"},
		{"cut in a message", "List", respond(200, kind, "\x00\x00\x00\x00\x09{}"), "grpc-web.truncated-payload grpc-web.trailers-missing", -1, "", ""},
		{"a proxy's page with a status", "List", respond(503, "Content-Type: text/html\r\nGrpc-Status: 14\r\n", "<html>"), "", 14, "headers", "<html>"},
		{"a proxy's page without one", "List", respond(503, "Content-Type: text/html\r\n", "<html>"), "", -1, "", "<html>"},
		{"an answer of gRPC", "List", respond(200, "Content-Type: application/grpc\r\n", envelope(0, "{}")), "", -1, "", envelope(0, "{}")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t)
			x := c.request(c.dial(answering(t, false, tt.answer)), grpcCall("grpc-web", tt.rpc))
			s := c.done(x)
			if got := violations(s); got != tt.violations {
				t.Errorf("violations = %q, want %q (%+v)", got, tt.violations, s.Violations)
			}
			checkStatus(t, s, tt.status, tt.in)
			if got := string(x.BodyBytes()); got != tt.body {
				t.Errorf("body = %q, want %q", got, tt.body)
			}
		})
	}
}

func checkStatus(t *testing.T, s bundle.Exchange, status int, in string) {
	t.Helper()
	switch {
	case s.Outcome != bundle.OutcomeComplete:
		t.Errorf("outcome = %s (%s)", s.Outcome, s.Detail)
	case status < 0 && s.GRPC != nil, status >= 0 && (s.GRPC == nil || s.GRPC.Code != status || s.GRPC.In != in):
		t.Errorf("status = %+v, want %d in %q", s.GRPC, status, in)
	case (status > 0) != (s.Error != nil):
		t.Errorf("error = %+v with status %d", s.Error, status)
	}
}

// The same for gRPC, whose status is in HTTP trailers.
func TestAnswerOfGRPCIsDecodedStrictly(t *testing.T) {
	head := []string{":status", "200", "content-type", "application/grpc+json"}
	tests := []struct {
		name, rpc  string
		head       []string
		body       string
		trailers   []string // nil: the stream ends without
		violations string
		status     int
		in         string
	}{
		{"a unary answer", "List", head, envelope(0, "{}"), []string{"grpc-status", "0"}, "", 0, "trailers"},
		{"a stream with an error", "Start", head, envelope(0, startEvent), []string{"grpc-status", "4", "grpc-message", "late"}, "", 4, "trailers"},
		{"trailers only", "Start", append(head, "grpc-status", "5"), "", nil, "", 5, "headers"},
		{"no status", "List", head, envelope(0, "{}"), nil, "grpc.status-missing", -1, ""},
		{"trailers without a status", "List", head, envelope(0, "{}"), []string{"x", "y"}, "grpc.status-missing", -1, ""},
		{"a body with the status in the head", "List", append(head, "grpc-status", "0"), envelope(0, "{}"), nil, "grpc.status-missing", 0, "headers"},
		{"the status twice", "List", append(head, "grpc-status", "0"), envelope(0, "{}"), []string{"grpc-status", "0"}, "grpc.status-repeated", 0, "trailers"},
		{"the trailer frame of gRPC-Web", "List", head, envelope(0, "{}") + trailerFrame("grpc-status: 0\r\n"), []string{"grpc-status", "0"},
			"grpc.reserved-flags grpc.unary-messages", 0, "trailers"},
		{"the end of Connect", "Start", head, envelope(0, startEvent) + envelope(2, "{}"), []string{"grpc-status", "0"}, "grpc.reserved-flags event.shape", 0, "trailers"},
		{"a leading zero", "List", head, envelope(0, "{}"), []string{"grpc-status", "00"}, "grpc.status-value", 0, "trailers"},
		{"a compressed flag that was not declared", "List", head, envelope(1, "zz"), []string{"grpc-status", "0"}, "grpc.compressed-undeclared", 0, "trailers"},
		{"an empty message with the compressed flag", "List", append(head, "grpc-encoding", "gzip"), envelope(1, ""), []string{"grpc-status", "0"}, "", 0, "trailers"},
		{"cut in a message", "List", head, "\x00\x00\x00\x00\x09{}", []string{"grpc-status", "0"}, "grpc.truncated-payload grpc.unary-messages", 0, "trailers"},
		{"415 of a server without gRPC", "List", []string{":status", "415"}, "", nil, "", -1, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := h2Server(t, after(func(p *h2peer, id uint32) {
				p.headers(id, tt.body == "" && tt.trailers == nil, tt.head...)
				if tt.body != "" {
					p.f.WriteData(id, tt.trailers == nil, []byte(tt.body))
				}
				if tt.trailers != nil {
					p.headers(id, true, tt.trailers...)
				}
			}))
			c := newClient(t)
			x, err := c.open(w).Request(c.ctx, grpcCall("grpc", tt.rpc), true)
			if err != nil {
				t.Fatal(err)
			}
			s := c.done(x)
			if got := violations(s); got != tt.violations {
				t.Errorf("violations = %q, want %q (%+v)", got, tt.violations, s.Violations)
			}
			checkStatus(t, s, tt.status, tt.in)
		})
	}
}

func TestMessageKnowsTheRequestsOfEveryService(t *testing.T) {
	for rpc, text := range map[string]string{
		"process.Process/Start":       `{"process":{"cmd":"x"},"pty":{"size":{"cols":80,"rows":24}},"tag":"t","stdin":true}`,
		"process.Process/StreamInput": `{"data":{"input":{"pty":"eA=="}}}`,
		"process.Process/Update":      `{"process":{"pid":1},"pty":{"size":{"cols":1,"rows":1}}}`,
		"process.Process/SendSignal":  `{"process":{"tag":"t"},"signal":"SIGNAL_SIGTERM"}`,
		"filesystem.Filesystem/Stat":  `{"path":"/"}`,
		"assay.v1.Probe/Unary":        `{"script":{"error":{"code":5}}}`,
	} {
		if p, err := call.Encode(call.Text{RPC: rpc, JSON: []byte(text)}, call.Proto); err != nil || len(p) == 0 {
			t.Errorf("%s: %x, %v", rpc, p, err)
		}
	}
}
