package transport_test

import (
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

// What is quoted from a frame is cut. The beginning of a secret before the cut is too short to be found.
func TestASecretAtTheCutOfAQuotationIsNotRecorded(t *testing.T) {
	t.Parallel()
	const token = "t0ken-0123456789abcdefghijklmnopqrstuvwx"
	at := func(cut int) string { return strings.Repeat("x", cut-len(token)/2+1) + token }
	head := func(fields ...string) func(p *h2peer, id uint32) {
		return func(p *h2peer, id uint32) { p.headers(id, true, fields...) }
	}
	for name, tt := range map[string]struct {
		sent   string // the value of a field
		answer func(p *h2peer, id uint32)
	}{
		"the name of a field":        {"", head(":status", "200", at(128), "x")},
		"the value of a field":       {"", head(":status", "200", "x", at(256))},
		"the value of a sent field":  {at(256), head(":status", "200")},
		"the debug data of GOAWAY":   {"", func(p *h2peer, _ uint32) { p.f.WriteGoAway(0, http2.ErrCodeNo, []byte(at(128))) }},
		"a name in upper case":       {"", head(":status", "200", "X"+at(63), "x")},
		"no name":                    {"", head(":status", "200", " "+at(63), "x")},
		"the name of a padded field": {"", head(":status", "200", at(64), " x")},
		"the name of a broken field": {"", head(":status", "200", at(64), "x\n")},
		"a pseudo field":             {"", head(":status", "200", ":"+at(63), "x")},
		"a status":                   {"", head(":status", at(32))},
		"a length":                   {"", head(":status", "200", "content-length", at(64))},
		"a reserved name in trailers": {"", func(p *h2peer, id uint32) {
			p.grpc(id, "")
			p.headers(id, true, "grpc-status", "0", "grpc-"+at(59), "x")
		}},
		"an unknown encoding": {"", func(p *h2peer, id uint32) { p.grpc(id, at(64)); p.f.WriteData(id, true, []byte(envelope(1, "x"))) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := h2Server(t, func(p *h2peer) {
				p.settings()
				tt.answer(p, p.request())
				p.drain()
			})
			c := newClient(t, token)
			call := grpcCall("grpc", "List")
			call.Headers = []bundle.Header{{Name: "host", Value: "gateway"}, {Name: "x-sent", Value: tt.sent}}
			x, err := c.open(w).Request(c.ctx, call, true)
			if err != nil {
				t.Fatal(err)
			}
			c.done(x)
			checkNothingOf(t, c.rec, token[:8])
		})
	}
}

// checkNothingOf checks that a text stands nowhere in a record.
func checkNothingOf(t *testing.T, rec *transport.Recorder, text string) {
	t.Helper()
	conns, xs := rec.Finish(nil)
	record, err := json.Marshal([]any{conns, xs})
	if err != nil {
		t.Fatal(err)
	}
	if at := strings.Index(string(record), text); at >= 0 {
		t.Errorf("recorded: %s", record[max(0, at-200):at+len(text)+20])
	}
}

// grpc begins a response of gRPC with an encoding of its messages.
func (p *h2peer) grpc(id uint32, encoding string) {
	p.headers(id, false, ":status", "200", "content-type", "application/grpc+json", "grpc-encoding", encoding)
}

// A raw frame of ours is described in the same way.
func TestASecretAtTheCutOfASentFrameIsNotRecorded(t *testing.T) {
	const token = "t0ken-0123456789abcdefghijklmnopqrstuvwx"
	w := h2Server(t, func(p *h2peer) { p.settings(); p.drain() })
	c := newClient(t, token)
	conn := c.open(w)
	frame, err := conn.FrameBytes(transport.Frame{Type: "GOAWAY", Payload: []byte(strings.Repeat("x", 109) + token)})
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Write(c.ctx, frame); err != nil {
		t.Fatal(err)
	}
	checkNothingOf(t, c.rec, token[:8])
}
