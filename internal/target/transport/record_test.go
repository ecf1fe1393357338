package transport_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"

	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

func TestSecretsNeverReachTheRecord(t *testing.T) {
	const secret = "s3cr3t-token"
	answer := respond(200, streamJSON+"X-Echo: "+secret+"\r\n",
		envelope(0, startEvent)+envelope(0, `{"event":{"data":{"stdout":"czNjcjN0LXRva2Vu"}}}`)+
			envelope(2, `{"error":{"code":"internal","message":"bad `+secret+`"},"metadata":{"k":["`+secret+`"]}}`))
	c := newClient(t, secret, "")
	conn := c.dial(answering(t, false, answer))
	call := startCall()
	call.Headers = []bundle.Header{{Name: "x-access-token", Value: secret}}
	call.Body = []byte("{" + secret + "}")
	x := conn.Begin(call)
	// One byte per write: the secret must be found across writes.
	for _, b := range append(transport.RequestHead("POST", "/x", append(call.Headers, bundle.Header{Name: "content-length", Value: "0"})), "\r\n"...) {
		if err := conn.Write(c.ctx, []byte{b}); err != nil {
			break // the server may have answered and closed
		}
	}
	x.MarkSent()
	s := c.done(x)
	if got := string(x.Output("stdout")); got != secret {
		t.Errorf("live output = %q, want it unredacted", got)
	}
	if s.Error == nil || s.Error.Message != "bad "+strings.Repeat("*", len(secret)) {
		t.Errorf("error = %+v", s.Error)
	}
	conns, xs := c.rec.Finish(map[string]map[string][]byte{"p": {"stdout": []byte(secret + "!")}})
	var all bytes.Buffer
	for _, v := range []any{conns, xs} {
		if err := json.NewEncoder(&all).Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	record := decodeBlobs(t, all.String())
	if strings.Contains(record, secret) {
		t.Errorf("the record holds the secret: %s", record)
	}
	if d := xs[0].Outputs["stdout"].Diff; d == nil || d.Off != int64(len(secret)) {
		t.Errorf("difference = %+v, want it after the redacted text", d)
	}
	if xs[0].Request.Headers[0].Value != strings.Repeat("*", len(secret)) {
		t.Errorf("request header = %q", xs[0].Request.Headers[0].Value)
	}
}

// decodeBlobs appends the plain form of every base64 string of a JSON text, so that
// their contents can be searched.
func decodeBlobs(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	out.WriteString(text)
	for _, word := range strings.Split(text, `"`) {
		var p []byte
		if json.Unmarshal([]byte(`"`+word+`"`), &p) == nil {
			out.Write(p)
			out.WriteByte('\n')
		}
	}
	return out.String()
}

func TestSnapshotsDoNotChangeAfterwards(t *testing.T) {
	const steps = 5
	next := make(chan struct{}, steps)
	addr := rawServer(t, func(c *net.TCPConn) {
		readRequest(bufio.NewReader(c))
		io.WriteString(c, "HTTP/1.1 200 OK\r\n"+streamJSON+"\r\n"+envelope(0, startEvent))
		for range steps {
			<-next
			io.WriteString(c, strings.Repeat(envelope(0, dataEvent), 40))
		}
		io.WriteString(c, envelope(2, "{}"))
		c.Close()
	})
	c := newClient(t)
	x := c.request(c.dial(addr), startCall())
	type seen struct {
		snapshot bundle.Exchange
		text     string
	}
	var all []seen
	render := func(s bundle.Exchange) string {
		p, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(p)
	}
	step := func(s bundle.Exchange) bool { return len(s.Events) == 1+40*len(all) }
	for range steps {
		s := c.until(x, "the next step", step)
		all = append(all, seen{s, render(s)})
		next <- struct{}{}
	}
	c.done(x)
	for _, s := range all {
		if render(s.snapshot) != s.text {
			t.Fatal("a snapshot changed after it was taken")
		}
	}
}

// Keepalives, even in two pieces, are no progress; all other content is.
func TestOnlyContentIsProgress(t *testing.T) {
	ping := envelope(0, `{"event":{"keepalive":{}}}`)
	pieces := []struct {
		text     string
		events   int // recorded after this piece
		progress bool
	}{
		{"HTTP/1.1 200 OK\r\n" + streamJSON + "\r\n", 0, true},
		{envelope(0, startEvent), 1, true},
		{ping, 2, false},
		{ping, 3, false},
		{envelope(0, dataEvent), 4, true},
		{ping[:9], 4, true}, // not yet recognisable as a keepalive
		{ping[9:] + ping[:9], 5, false},
		{ping[9:], 6, false},
		{envelope(0, dataEvent)[:9], 6, false}, // not yet recognisable either, and no more than came before
		{envelope(0, dataEvent)[9:], 7, true},
	}
	next := make(chan struct{})
	addr := rawServer(t, func(c *net.TCPConn) {
		readRequest(bufio.NewReader(c))
		for _, p := range pieces {
			io.WriteString(c, p.text)
			<-next
		}
		c.Close()
	})
	c := newClient(t)
	conn := c.dial(addr)
	x := c.request(conn, startCall())
	var last bundle.Stamp
	var sent int64
	for i, p := range pieces {
		sent += int64(len(p.text))
		c.untilConn(conn, "the next piece", func() bool { n, _ := conn.Received(); return n == sent })
		now := x.Progressed()
		if got := now != last; got != p.progress || len(x.Snapshot().Events) != p.events {
			t.Errorf("piece %d: progress %v, %d events; want %v, %d", i, got, len(x.Snapshot().Events), p.progress, p.events)
		}
		last = now
		next <- struct{}{}
	}
	c.done(x)
}

func TestExpectedBytesGiveTheFirstDifference(t *testing.T) {
	c := newClient(t)
	c.done(c.request(c.dial(answering(t, false, respond(200, "", "abcX"))), plainCall()))
	_, xs := c.rec.Finish(map[string]map[string][]byte{"get": {"body": []byte("abcd")}})
	if d := xs[0].Body.Diff; d == nil || d.Off != 3 || string(d.Want) != "abcd" {
		t.Errorf("difference = %+v", d)
	}
}

func TestNumbersOfTheClockRiseWithItsTime(t *testing.T) {
	clock := transport.NewClock()
	last := clock.Stamp()
	if last.N != 1 {
		t.Errorf("first number = %d, want 1", last.N)
	}
	for range 1000 {
		s := clock.Stamp()
		if !last.Before(s) || s.T < last.T {
			t.Fatalf("%+v after %+v", s, last)
		}
		last = s
	}
}
