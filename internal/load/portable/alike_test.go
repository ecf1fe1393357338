package portable_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"

	"assay/internal/load"
	"assay/internal/load/loadtest"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// answers returns responses to a Start, right and wrong, by name.
func answers() map[string]string {
	good := loadtest.GoodAnswer()
	body := loadtest.StartEvent(7) + loadtest.Stdout("1\n") + loadtest.Stdout("2\n") + loadtest.Stdout("3\n") + loadtest.EndEvent(0) + loadtest.EOS
	head := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	lines := func(text ...string) []string {
		out := []string{loadtest.StartEvent(7)}
		for _, s := range text {
			out = append(out, loadtest.Stdout(s))
		}
		return append(out, loadtest.EndEvent(0), loadtest.EOS)
	}
	return map[string]string{
		"a good response":                  good,
		"in one chunk":                     loadtest.StreamHead + loadtest.Chunk(body) + loadtest.LastChunk,
		"a chunk for each byte":            loadtest.StreamHead + inChunks(body) + loadtest.LastChunk,
		"chunk sizes with leading zeros":   loadtest.StreamHead + fmt.Sprintf("%012X\r\n%s\r\n", len(body), body) + loadtest.LastChunk,
		"chunk extensions":                 loadtest.StreamHead + fmt.Sprintf("%x;a=b\r\n%s\r\n", len(body), body) + "0;x\r\n\r\n",
		"trailers":                         strings.TrimSuffix(good, "\r\n") + "x-checksum: 1\r\n\r\n",
		"a bare newline after a size":      strings.Replace(good, loadtest.Chunk(loadtest.StartEvent(7)), strings.Replace(loadtest.Chunk(loadtest.StartEvent(7)), "\r\n", "\n", 1), 1),
		"no CRLF after a chunk":            strings.Replace(good, "}}}\r\n", "}}}xx", 1),
		"a size that is not a number":      loadtest.StreamHead + "zz\r\n",
		"a negative size":                  loadtest.StreamHead + "-1\r\n",
		"a size beyond 63 bits":            loadtest.StreamHead + "fffffffffffffffff\r\n",
		"an endless chunk line":            loadtest.StreamHead + "5;" + strings.Repeat("x", 9000),
		"endless headers":                  "HTTP/1.1 200 OK\r\n" + strings.Repeat("x-filler: 0123456789\r\n", 5000),
		"a header without a colon":         head("Content-Type", "nonsense\r\nContent-Type"),
		"interim responses first":          "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + good,
		"a switch of protocols":            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n" + good,
		"a length":                         head("Transfer-Encoding: chunked", fmt.Sprintf("Content-Length: %d", len(body)))[:len(head("Transfer-Encoding: chunked", fmt.Sprintf("Content-Length: %d", len(body))))-len(good)+len(loadtest.StreamHead)] + body,
		"until the connection closes":      "HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\n\r\n" + body,
		"a length that is too large":       fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nContent-Length: %d\r\n\r\n", len(body)+5) + body,
		"both a length and chunks":         head("Transfer-Encoding", "Content-Length: 5\r\nTransfer-Encoding"),
		"HTTP/1.0":                         "HTTP/1.0 200 OK\r\nContent-Type: application/connect+json\r\n\r\n" + body,
		"connection close":                 head("Content-Type", "Connection: close\r\nContent-Type"),
		"connection close in a list":       head("Content-Type", "Connection: x-hop, Close\r\nContent-Type"),
		"a date":                           head("Content-Type", "Date: Sat, 21 Nov 2026 02:29:02 GMT\r\nContent-Type"),
		"more than one response":           good + good,
		"garbage":                          "\x00\x01\x02\x03\xff\xfe\r\n\r\n",
		"HTTP/2":                           "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x05\x00\x00\x40\x00",
		"half a status line":               "HTTP/1.1 20",
		"a head only":                      loadtest.StreamHead,
		"half an envelope":                 loadtest.StreamHead + loadtest.Chunk(loadtest.StartEvent(7)[:9]),
		"404":                              "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope",
		"503 with an error":                "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 22\r\n\r\n{\"code\":\"unavailable\"}",
		"204":                              "HTTP/1.1 204 No Content\r\n\r\n",
		"another type":                     head("application/connect+json", "text/html"),
		"a type with parameters":           head("application/connect+json", "Application/Connect+JSON; charset=utf-8"),
		"an error after output":            loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Stdout("1\n"), loadtest.Env(2, `{"error":{"code":"unavailable"}}`)),
		"unauthenticated":                  loadtest.AnswerOf(loadtest.Env(2, `{"error":{"code":"unauthenticated"}}`)),
		"an end of stream that is no JSON": loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Stdout("1\n2\n3\n"), loadtest.EndEvent(0), loadtest.Env(2, `{`)),
		"metadata in the end of stream":    loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Stdout("1\n2\n3\n"), loadtest.EndEvent(0), loadtest.Env(2, `{"metadata":{"a":["b"]}}`)),
		"a start event without a pid":      loadtest.AnswerOf(loadtest.Env(0, `{"event":{"start":{}}}`), loadtest.EOS),
		"a start event of pid 0":           loadtest.AnswerOf(loadtest.Env(0, `{"event":{"start":{"pid":0}}}`), loadtest.EOS),
		"the largest pid":                  loadtest.AnswerOf(append([]string{loadtest.StartEvent(4294967295)}, lines("1\n2\n3\n")[1:]...)...),
		"a pid that is too large":          loadtest.AnswerOf(append([]string{loadtest.StartEvent(4294967296)}, lines("1\n2\n3\n")[1:]...)...),
		"a line was changed":               loadtest.AnswerOf(lines("1\n", "x\n", "3\n")...),
		"a line with a zero before":        loadtest.AnswerOf(lines("1\n", "02\n", "3\n")...),
		"one line too many":                loadtest.AnswerOf(lines("1\n2\n3\n4\n")...),
		"no newline at the end":            loadtest.AnswerOf(lines("1\n2\n3")...),
		"lines cut anywhere":               loadtest.AnswerOf(lines("1", "\n2\n", "3", "\n")...),
		"a huge number":                    loadtest.AnswerOf(lines("99999999999999999999999\n2\n3\n")...),
		"empty output":                     loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0, `{"event":{"data":{"stdout":""}}}`), loadtest.Stdout("1\n2\n3\n"), loadtest.EndEvent(0), loadtest.EOS),
		"a terminal":                       loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0, `{"event":{"data":{"pty":"MQoyCjMK"}}}`), loadtest.EndEvent(0), loadtest.EOS),
		"white space in events":            loadtest.AnswerOf(loadtest.Env(0, "{ \"event\" : {\n\"start\": {\"pid\":7} } }"), loadtest.Env(0, `{"event": {"data": {"stdout": "MQoyCjMK"}}}`), loadtest.EndEvent(0), loadtest.EOS),
		"base64 of URLs":                   loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0, `{"event":{"data":{"stdout":"_-8="}}}`), loadtest.EndEvent(0), loadtest.EOS),
		"base64 without padding":           loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0, `{"event":{"data":{"stdout":"MQo"}}}`), loadtest.EndEvent(0), loadtest.EOS),
		"escapes in base64":                loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0, `{"event":{"data":{"stdout":"MQoy\u0043jMK"}}}`), loadtest.EndEvent(0), loadtest.EOS),
		"two outputs in one event":         loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0, `{"event":{"data":{"stdout":"MQo=","pty":"MQo="}}}`), loadtest.EndEvent(0), loadtest.EOS),
		"a compressed end":                 loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Stdout("1\n2\n3\n"), loadtest.EndEvent(0), loadtest.Env(3, "xx")),
		"an envelope of 4 GiB":             loadtest.AnswerOf("\x00\xff\xff\xff\xff{"),
		"a large envelope": loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0, `{"event":{"keepalive":{}}`+strings.Repeat(" ", 100_000)+"}"),
			loadtest.Stdout("1\n2\n3\n"), loadtest.EndEvent(0), loadtest.EOS),
	}
}

func inChunks(p string) string {
	var b strings.Builder
	for i := range len(p) {
		b.WriteString(loadtest.Chunk(p[i : i+1]))
	}
	return b.String()
}

// coarser returns the outcomes of responses that break the syntax of HTTP/1.1, and where
// net/http accepts the breach or gives up earlier: of the portable engine, then of the fast
// one.
func coarser() map[string][2]bundle.StreamOutcome {
	return map[string][2]bundle.StreamOutcome{
		"more than one response":      {bundle.StreamOK, bundle.StreamCorrupt},
		"both a length and chunks":    {bundle.StreamOK, bundle.StreamCorrupt},
		"a bare newline after a size": {bundle.StreamCorrupt, bundle.StreamCorrupt},
		"a header without a colon":    {bundle.StreamCorrupt, bundle.StreamCorrupt},
		"a switch of protocols":       {bundle.StreamServerError, bundle.StreamOK},
		"HTTP/2":                      {bundle.StreamReset, bundle.StreamServerError},
	}
}

// For any response, both engines have the same result, except for breaches that only our
// own parser notices. The connection is closed after the response.
func TestBothEnginesJudgeAnswersAlike(t *testing.T) {
	for name, text := range answers() {
		for _, w := range loadtest.Ways() {
			t.Run(name+", "+w.Name, func(t *testing.T) {
				t.Parallel()
				addr := loadtest.Script(t, loadtest.Then(text, loadtest.HangUp), loadtest.KillOK, w)
				all := together(t, func() *load.Plan { return loadtest.Plan(t, addr, w.Plan) })
				want, apart := coarser()[name]
				if !apart {
					alike(t, all)
					return
				}
				for i, c := range all {
					c.Want(t, map[bundle.StreamOutcome]int64{want[i]: 1})
				}
			})
		}
	}
}

// breaksHTTP reports whether a message is about the syntax of HTTP/1.1.
func breaksHTTP(message string) bool {
	return strings.Contains(message, "http.") || strings.Contains(message, "not HTTP/1.1") ||
		strings.Contains(message, "malformed") || strings.Contains(message, "chunk") || strings.Contains(message, "HTTP 1")
}

// damaged changes, removes or doubles a byte at a random place, or cuts what follows it.
func damaged(draw *rand.Rand, text []byte) []byte {
	at := draw.IntN(len(text))
	switch draw.IntN(4) {
	case 0:
		text[at] ^= 1 << draw.IntN(8)
		return text
	case 1:
		return append(text[:at], text[at+1:]...)
	case 2:
		return append(text[:at], append([]byte{text[draw.IntN(len(text))]}, text[at:]...)...)
	}
	return text[:at+1]
}

// The responses are damaged at random places, and sent in two pieces.
func TestBothEnginesJudgeBrokenAnswersAlike(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(1, 2))
	var all []string
	for _, name := range []string{"a good response", "chunk extensions", "trailers", "white space in events", "a date"} {
		all = append(all, answers()[name])
	}
	syntax := 0
	for n := range 250 {
		text := []byte(all[n%len(all)])
		for range 1 + draw.IntN(2) {
			text = damaged(draw, text)
		}
		cut := draw.IntN(len(text) + 1)
		addr := loadtest.Script(t, func(c net.Conn) {
			_, _ = c.Write(text[:cut])
			_, _ = c.Write(text[cut:])
			_ = c.Close()
		}, loadtest.KillOK)
		drivers := together(t, func() *load.Plan { return loadtest.Plan(t, addr) })
		if slices.ContainsFunc(drivers, func(c *loadtest.Tally) bool { return breaksHTTP(c.Message()) }) {
			syntax++ // net/http accepts some breaches, and stops elsewhere at others
			continue
		}
		if alike(t, drivers); t.Failed() {
			t.Fatalf("response %d: %q", n, text)
		}
	}
	if syntax > 150 {
		t.Errorf("%d of 250 responses break the syntax of HTTP: too few are compared", syntax)
	}
}

// The frames are damaged at random places, and sent in two pieces. Both engines judge them
// alike.
func TestBothEnginesJudgeBrokenFramesAlike(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(3, 4))
	good := loadtest.Out("1\n") + loadtest.Frame(wire.WSPing, "p") + loadtest.Out("2\n3\n") + loadtest.Exit(0) + loadtest.CloseWS(1000)
	for n := range 120 {
		text := damaged(draw, []byte(good))
		cut := draw.IntN(len(text) + 1)
		addr := loadtest.Attach(t, func(c *loadtest.Socket) {
			c.Send(string(text[:cut]))
			c.Send(string(text[cut:]))
			if tcp, ok := c.Conn.(*net.TCPConn); ok {
				_ = tcp.CloseWrite() // closing with unread bytes would reset the connection
			}
			c.Drain()
		})
		if alike(t, together(t, func() *load.Plan { return loadtest.Plan(t, addr, loadtest.OverWS) })); t.Failed() {
			t.Fatalf("frames %d: %q", n, text)
		}
	}
}

// Names are resolved, and a port without a listener is an outcome.
func TestAnAddressMayBeAName(t *testing.T) {
	_, port, err := net.SplitHostPort(loadtest.Script(t, loadtest.Answers(loadtest.GoodAnswer()), loadtest.KillOK))
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[string]bundle.StreamOutcome{"localhost:" + port: bundle.StreamOK, "localhost:1": bundle.StreamReset, "127.0.0.1:1": bundle.StreamReset} {
		all := together(t, func() *load.Plan { return loadtest.Plan(t, addr) })
		alike(t, all)
		all[0].Want(t, map[bundle.StreamOutcome]int64{want: 1})
	}
}
