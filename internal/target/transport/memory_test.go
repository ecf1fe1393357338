//go:build !race

package transport_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

const chunkedStream = "HTTP/1.1 200 OK\r\n" + streamJSON + "Transfer-Encoding: chunked\r\n"

// chunk is one chunk of a chunked body.
func chunk(p string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(p), p) }

// endless sends head once and body until the peer stops reading.
func endless(t *testing.T, head, body string) string {
	return rawServer(t, func(c *net.TCPConn) {
		if _, ok := readRequest(bufio.NewReader(c)); !ok {
			return
		}
		for _, err := io.WriteString(c, head); err == nil; {
			_, err = io.WriteString(c, body)
		}
	})
}

// A response that does not fit into the memory of the run is not read to its end: that is no
// violation of the peer. All memory is free again after the run.
func TestAResponseThatDoesNotFitIsLeftUnread(t *testing.T) {
	t.Parallel()
	bomb := string(call.Compress(make([]byte, 256<<20)))
	gzipped := "Connect-Content-Encoding: gzip\r\n"
	output := envelope(0, `{"event":{"data":{"stdout":"`+strings.Repeat("eHh4", 8<<10)+`"}}}`)
	tests := map[string]struct {
		call       transport.Call
		head, body string
		why        string
	}{
		"a gzip bomb as a body": {unaryCall(), respond(200, "Content-Type: application/json\r\nContent-Encoding: gzip\r\n", bomb), "",
			"larger than the limit once decompressed"},
		"a gzip bomb as a message": {startCall(), chunkedStream + gzipped + "\r\n", chunk(envelope(1, bomb)), "a message of more than"},
		"a gzip bomb of NDJSON": {lineCall(), respond(200, "Content-Type: application/x-ndjson\r\nContent-Encoding: gzip\r\n", bomb), "",
			"larger than the limit once decompressed"},
		"starts without end":          {startCall(), chunkedStream + "\r\n", chunk(envelope(0, startEvent)), "more than 1000 events"},
		"keepalives without end":      {startCall(), chunkedStream + "\r\n", chunk(strings.Repeat(envelope(0, `{"event":{"keepalive":{}}}`), 1000)), "more than 400000 frames"},
		"output without end":          {startCall(), chunkedStream + "\r\n", chunk(output), "memory"},
		"a body without end":          {plainCall(), "HTTP/1.1 200 OK\r\n\r\n", strings.Repeat("x", 32<<10), "memory"},
		"a long message in pieces":    {startCall(), chunkedStream + "\r\n" + chunk("\x00\x03\xff\xff\xff"), chunk(strings.Repeat("x", 4<<10)), "memory"},
		"an NDJSON line without end":  {lineCall(), "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n", strings.Repeat("x", 4<<10), "memory"},
		"a long end-of-stream":        {startCall(), chunkedStream + "\r\n", chunk(envelope(2, `{"metadata":{"a":["`+strings.Repeat("x", 1<<20)+`"]}}`)), "end-of-stream message of more than"},
		"metadata of many values":     {startCall(), chunkedStream + "\r\n", chunk(envelope(2, `{"metadata":{"a":["x"`+strings.Repeat(`,"x"`, 100_000)+`]}}`)), "trailing metadata"},
		"an error of a unary RPC":     {unaryCall(), "HTTP/1.1 500 No\r\nContent-Type: application/json\r\nContent-Length: 1100002\r\n\r\n", `"` + strings.Repeat("x", 1_100_000) + `"`, "an error of more than"},
		"end events with long status": {startCall(), chunkedStream + "\r\n", chunk(envelope(0, `{"event":{"end":{"status":"`+strings.Repeat("x", 30<<10)+`"}}}`)), "memory"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			limit := int64(3 << 20)
			if tt.why != "memory" {
				limit = 128 << 20
			}
			memory := transport.NewMemory(limit)
			c := newClient(t)
			c.rec.Within(memory)
			var addr string
			if tt.body == "" {
				addr = answering(t, false, tt.head)
			} else {
				addr = endless(t, tt.head, tt.body)
			}
			c.done(c.request(c.dial(addr), tt.call))
			_, xs := c.rec.Finish(nil)
			x := xs[0]
			if x.Outcome != bundle.OutcomeAborted || !strings.Contains(x.Unread, tt.why) || violations(x) != "" {
				t.Errorf("outcome %s, unread %q, violations %q; want aborted, %q", x.Outcome, x.Unread, violations(x), tt.why)
			}
			if !memory.Take(limit) {
				t.Error("not all memory is returned")
			}
		})
	}
}

// A target whose responses have to be cut keeps sending more of the same.
func TestAfterThreeUnreadResponsesLaterOnesAreReadLessFar(t *testing.T) {
	t.Parallel()
	memory := transport.NewMemory(256 << 20)
	c := newClient(t)
	c.rec.Within(memory)
	addr := endless(t, chunkedStream+"\r\n", chunk(strings.Repeat(envelope(0, `{"event":{"keepalive":{}}}`), 1000)))
	var seen []string
	for range 4 {
		seen = append(seen, c.done(c.request(c.dial(addr), startCall())).Unread)
	}
	want := []string{"it has more than 400000 frames", "it has more than 400000 frames", "it has more than 400000 frames", "it has more than 50000 frames"}
	if !slices.Equal(seen, want) {
		t.Errorf("the responses are left unread because %q", seen)
	}
}

// On HTTP/2 only the stream ends that is not read: the next one is complete.
func TestAnUnreadStreamLeavesTheOthersOfItsConnection(t *testing.T) {
	both := make(chan struct{})
	w := h2Server(t, func(p *h2peer) {
		p.settings()
		id := p.request()
		p.headers(id, false, ":status", "200", "content-type", "application/connect+json")
		for range 2000 {
			p.f.WriteData(id, false, []byte(envelope(0, startEvent)))
		}
		for reset, next := false, uint32(0); !reset || next == 0; { // in either order
			switch f := p.read().(type) {
			case nil:
				return
			case *http2.RSTStreamFrame:
				reset = f.StreamID == id
			case *http2.HeadersFrame:
				next = f.StreamID
				p.headers(next, true, ":status", "200", "content-type", "application/json")
			}
		}
		close(both)
		p.drain()
	})
	c := newClient(t)
	conn := c.open(w)
	x, _ := conn.Request(c.ctx, startCall(), true)
	if s := c.done(x); s.Outcome != bundle.OutcomeAborted || s.Unread == "" {
		t.Errorf("outcome %s, unread %q", s.Outcome, s.Unread)
	}
	next, _ := conn.Request(c.ctx, unaryCall(), true)
	if s := c.done(next); s.Outcome != bundle.OutcomeComplete {
		t.Errorf("the next one: %s %s", s.Outcome, s.Detail)
	}
	select {
	case <-both:
	case <-c.ctx.Done():
		t.Error("the unread stream was not reset")
	}
}

// A run without a free byte still records small responses.
func TestASmallResponseNeedsNoMemoryOfTheRun(t *testing.T) {
	c := newClient(t)
	c.rec.Within(transport.NewMemory(0))
	body := envelope(0, startEvent) + envelope(0, endEvent) + envelope(2, "{}")
	x := c.done(c.request(c.dial(answering(t, false, respond(200, streamJSON, body))), startCall()))
	if x.Outcome != bundle.OutcomeComplete || kinds(x) != "start end" {
		t.Errorf("outcome %s, events %q", x.Outcome, kinds(x))
	}
}
