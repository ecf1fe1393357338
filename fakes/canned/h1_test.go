package canned

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"assay/internal/wire"
)

const (
	twoLines = "events: [{lines: 1, times: 2}]"
	ticks    = "{first: 0, interval: 1s, events: [{lines: 1, times: forever}]}"
)

func start(body string) string {
	return fmt.Sprintf("POST /commands HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// unchunked returns the body of a chunked response; rest is what follows it.
func unchunked(t *testing.T, answer string) (head, body, rest string) {
	t.Helper()
	head, rest, ok := strings.Cut(answer, "\r\n\r\n")
	for ok {
		var n int
		line, more, _ := strings.Cut(rest, "\r\n")
		if _, err := fmt.Sscanf(line, "%x", &n); err != nil {
			t.Fatalf("no chunk: %q", rest)
		}
		if n == 0 {
			return head, body, strings.TrimPrefix(more, "\r\n")
		}
		body, rest = body+more[:n], strings.TrimPrefix(more[n:], "\r\n")
	}
	t.Fatalf("no end in %q", answer)
	return
}

func TestAStreamOverHTTP1HoldsTheEventsOfTheFile(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoLines)
	head, body, rest := unchunked(t, r.say(r.dial(), start("{}")))
	want := `{"type":"start","pid":1000000000}
{"type":"stdout","data":"1\n"}
{"type":"stdout","data":"2\n"}
{"type":"end","exit_code":0}
`
	if !strings.HasPrefix(head, "HTTP/1.1 200 OK\r\n") || body != want || rest != "" {
		t.Errorf("head %q, body %q, rest %q", head, body, rest)
	}
	if c := r.counters; c != (counters{started: 1, ok: 1, events: 4}) {
		t.Errorf("counters %+v", c)
	}
}

// The responses do not depend on how the requests are cut or combined.
func TestRequestsCutAnywhereAndPipelined(t *testing.T) {
	t.Parallel()
	requests := start("{}") + "\r\n" +
		"POST /commands HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\n{\"a\r\n2\r\n\":\r\n0\r\nT: u\r\n\r\n" +
		"GET /metrics HTTP/1.1\r\n\r\n" + start(strings.Repeat("x", 100))
	whole := newRig(t, twoLines)
	want := whole.say(whole.dial(), requests)
	if n := strings.Count(want, "HTTP/1.1 200"); n != 4 {
		t.Fatalf("%d responses, want 4: %q", n, want)
	}
	if !strings.Contains(want, "coppice_commands_started_total 2\n") {
		t.Errorf("the third response is not the counters after two streams: %q", want)
	}
	for _, size := range []int{1, 2, 7, 40} {
		r := newRig(t, twoLines)
		c := r.dial()
		var got strings.Builder
		for rest := requests; rest != ""; {
			n := min(size, len(rest))
			got.WriteString(r.say(c, rest[:n]))
			rest = rest[n:]
		}
		if got.String() != want {
			t.Errorf("cut every %d bytes: %q, want %q", size, got.String(), want)
		}
	}
}

// A pipelined request waits for the stream before it.
func TestAPipelinedRequestWaitsForTheStreamBeforeIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, "{interval: 1s, events: [{text: x}]}")
	c := r.dial()
	first := r.say(c, start("")+start(""))
	if strings.Count(first, "start") != 1 {
		t.Fatalf("at once: %q", first)
	}
	r.turn(r.now + time.Second.Nanoseconds() + 1<<slotBits)
	if got := r.paper.take(c); strings.Count(got, "end") != 1 || strings.Count(got, `"start"`) != 1 {
		t.Errorf("after a second: %q, want the rest of the first and the start of the second", got)
	}
}

func TestWhatIsNoRequestIsRefusedAndTheConnectionClosed(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no HTTP":                "hello\r\n\r\n",
		"an older version":       "GET / HTTP/1.0\r\n\r\n",
		"an invalid length":      "POST /commands HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
		"an unknown coding":      "POST /commands HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
		"a chunk without a size": "POST /commands HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
		"an endless head":        "GET / HTTP/1.1\r\n" + strings.Repeat("a", maxHead+1),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, twoLines)
			c := r.dial()
			if got := r.say(c, text); !strings.HasPrefix(got, "HTTP/1.1 400 ") {
				t.Errorf("got %q", got)
			}
			if !c.closed {
				t.Error("the connection is open")
			}
		})
	}
}

func TestAConnectionIsClosedWhenTheClientAsksForIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoLines)
	c := r.dial()
	got := r.say(c, "POST /commands HTTP/1.1\r\nConnection: close\r\n\r\n")
	if !strings.HasSuffix(got, lastChunk) || !c.closed {
		t.Errorf("got %q, closed %v", got, c.closed)
	}
}

func TestARequestThatWaitsIsToldToContinue(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoLines)
	c := r.dial()
	if got := r.say(c, "POST /commands HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"); got != "HTTP/1.1 100 Continue\r\n\r\n" {
		t.Errorf("got %q", got)
	}
	if got := r.say(c, "{}"); !strings.HasPrefix(got, "HTTP/1.1 200") {
		t.Errorf("got %q", got)
	}
}

// A killed stream ends with the event of a killed process, once.
func TestAKilledStreamEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, ticks)
	c, k := r.dial(), r.dial()
	r.say(c, start(""))
	kill := "POST /commands/1000000000/kill HTTP/1.1\r\n\r\n"
	if got := r.say(k, kill); !strings.HasPrefix(got, "HTTP/1.1 200") {
		t.Errorf("the response to the kill is %q", got)
	}
	if got := r.paper.take(c); !strings.Contains(got, `{"type":"end","exit_code":-1}`) || !strings.HasSuffix(got, lastChunk) {
		t.Errorf("the stream continues with %q", got)
	}
	if got := r.say(k, kill); !strings.HasPrefix(got, "HTTP/1.1 404") {
		t.Errorf("the response to the second kill is %q", got)
	}
	if c := r.counters; c.killed != 1 || c.started != 1 || c.ok != 0 || r.wheel.held != 0 {
		t.Errorf("counters %+v, %d timers", c, r.wheel.held)
	}
}

func TestAStreamEndsWithItsClient(t *testing.T) {
	t.Parallel()
	r := newRig(t, ticks)
	c := r.dial()
	r.say(c, start(""))
	c.drop()
	if r.counters.killed != 1 || r.wheel.held != 0 || len(r.processes) != 0 {
		t.Errorf("counters %+v, %d timers, %d processes", r.counters, r.wheel.held, len(r.processes))
	}
}

// Bytes that the kernel does not accept are sent later, in order, and a killed
// stream that waits for room ends too.
func TestAClientThatDoesNotReadGetsEverythingLater(t *testing.T) {
	t.Parallel()
	r := newRig(t, "events: [{size: 100000, times: 20}]")
	r.paper.room = 0
	c := r.dial()
	r.say(c, start(""))
	if len(c.out) > maxUnsent+200_000 || len(c.waiting) != 1 || !r.paper.watched[c][1] {
		t.Fatalf("%d bytes are kept, %d streams wait, watched %v", len(c.out), len(c.waiting), r.paper.watched[c])
	}
	r.paper.room = 150_000
	var got strings.Builder
	for range 100 {
		c.flush()
		r.turn(r.now)
		got.WriteString(r.paper.take(c))
	}
	_, body, rest := unchunked(t, got.String())
	whole := strings.Count(body, strings.Repeat("x", 99_999)+`\n`)
	if whole != 20 || rest != "" || r.counters.ok != 1 {
		t.Errorf("%d whole events, rest %q, counters %+v", whole, rest, r.counters)
	}
}

func TestTogetherIsOneWriteAndOtherwiseEveryEventIsOne(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]int{twoLines: 4, "{flush: together, events: [{lines: 1, times: 2}]}": 1} {
		r := newRig(t, file)
		c := r.dial()
		r.say(c, start(""))
		if got := r.paper.writes[c]; got != want {
			t.Errorf("%s: %d writes, want %d", file, got, want)
		}
	}
}

// For any input, the gateway does not fail and its counters stay consistent.
func FuzzConnection(f *testing.F) {
	f.Add([]byte(start("{}")+start("{}")), uint8(3))
	f.Add([]byte(attach+said(wire.WSPing, "x")+said(wire.WSText, `{"type":"signal"}`)), uint8(200))
	f.Add([]byte(http2.ClientPreface+"\x00\x00\x00\x04\x00\x00\x00\x00\x00"), uint8(9))
	f.Add([]byte("POST /commands HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"), uint8(1))
	f.Add([]byte(http2.ClientPreface+"\x00\x00\x05\x01\x05\x00\x00\x00\x01\x83\x86\x84\x04\x00"), uint8(30))
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		r := newRig(t, twoLines)
		c := r.dial()
		for rest := in; len(rest) > 0; {
			n := min(int(size)+1, len(rest))
			r.say(c, string(rest[:n]))
			rest = rest[n:]
		}
		c.drop()
		if b := r.counters; b.started != b.ok+b.killed || len(r.processes) != 0 || r.wheel.held != 0 {
			t.Errorf("counters %+v, %d processes, %d timers", b, len(r.processes), r.wheel.held)
		}
	})
}
