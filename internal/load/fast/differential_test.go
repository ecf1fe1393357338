//go:build linux && (amd64 || arm64)

package fast_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/fakes/gateway"
	"assay/fakes/zoo"
	"assay/internal/bundle"
	"assay/internal/load"
	"assay/internal/load/fast"
	"assay/internal/load/loadtest"
	"assay/internal/load/portable"
	"assay/internal/target"
)

// both runs a plan on both engines and compares the facts on which they must agree.
func both(t *testing.T, p func() *load.Plan) (slow, quick *loadtest.Tally) {
	t.Helper()
	slow, quick = together(t, p)
	same(t, slow, quick)
	return slow, quick
}

// together runs a plan on both engines at the same time.
func together(t *testing.T, p func() *load.Plan) (slow, quick *loadtest.Tally) {
	t.Helper()
	var running sync.WaitGroup
	one, other := p(), p()
	running.Go(func() { slow = loadtest.Drive(t.Context(), t, portable.Engine{}, one) })
	running.Go(func() { quick = loadtest.Drive(t.Context(), t, fast.Engine{}, other) })
	running.Wait()
	return slow, quick
}

func same(t *testing.T, slow, quick *loadtest.Tally) {
	t.Helper()
	if a, b := slow.Facts(), quick.Facts(); a != b {
		t.Errorf("the engines differ:\nportable %s\n         %q\nfast     %s\n         %q", a, slow.Messages(), b, quick.Messages())
	}
}

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
		"a chunk for each byte":            loadtest.StreamHead + bytewise(body) + loadtest.LastChunk,
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
		"not HTTP":                         "SSH-2.0-OpenSSH_9.2\r\n",
		"garbage":                          "\x00\x01\x02\x03\xff\xfe\r\n\r\n",
		"HTTP/2":                           "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x05\x00\x00\x40\x00",
		"nothing":                          "",
		"half a status line":               "HTTP/1.1 20",
		"half a head":                      loadtest.StreamHead[:60],
		"a head only":                      loadtest.StreamHead,
		"half an envelope":                 loadtest.StreamHead + loadtest.Chunk(loadtest.StartEvent(7)[:9]),
		"a cut response":                   good[:len(good)-20],
		"a cut last chunk":                 good[:len(good)-2],
		"404":                              "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope",
		"503 with an error":                "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 22\r\n\r\n{\"code\":\"unavailable\"}",
		"204":                              "HTTP/1.1 204 No Content\r\n\r\n",
		"another type":                     head("application/connect+json", "text/html"),
		"a type with parameters":           head("application/connect+json", "Application/Connect+JSON; charset=utf-8"),
		"an error in the end of stream":    loadtest.AnswerOf(loadtest.Env(2, `{"error":{"code":"internal","message":"no"}}`)),
		"an error after output":            loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Stdout("1\n"), loadtest.Env(2, `{"error":{"code":"unavailable"}}`)),
		"unauthenticated":                  loadtest.AnswerOf(loadtest.Env(2, `{"error":{"code":"unauthenticated"}}`)),
		"an end of stream that is no JSON": loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Stdout("1\n2\n3\n"), loadtest.EndEvent(0), loadtest.Env(2, `{`)),
		"metadata in the end of stream":    loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Stdout("1\n2\n3\n"), loadtest.EndEvent(0), loadtest.Env(2, `{"metadata":{"a":["b"]}}`)),
		"no end of stream":                 loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Stdout("1\n2\n3\n"), loadtest.EndEvent(0)),
		"no end event":                     loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Stdout("1\n2\n3\n"), loadtest.EOS),
		"two end events":                   loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Stdout("1\n2\n3\n"), loadtest.EndEvent(0), loadtest.EndEvent(0), loadtest.EOS),
		"output after the end event":       loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Stdout("1\n2\n"), loadtest.EndEvent(0), loadtest.Stdout("3\n"), loadtest.EOS),
		"no start event":                   loadtest.AnswerOf(loadtest.Stdout("1\n2\n3\n"), loadtest.EndEvent(0), loadtest.EOS),
		"two start events":                 loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.StartEvent(8), loadtest.Stdout("1\n2\n3\n"), loadtest.EndEvent(0), loadtest.EOS),
		"a start event without a pid":      loadtest.AnswerOf(loadtest.Env(0, `{"event":{"start":{}}}`), loadtest.EOS),
		"a start event of pid 0":           loadtest.AnswerOf(loadtest.Env(0, `{"event":{"start":{"pid":0}}}`), loadtest.EOS),
		"the largest pid":                  loadtest.AnswerOf(append([]string{loadtest.StartEvent(4294967295)}, lines("1\n2\n3\n")[1:]...)...),
		"a pid that is too large":          loadtest.AnswerOf(append([]string{loadtest.StartEvent(4294967296)}, lines("1\n2\n3\n")[1:]...)...),
		"an exit code":                     loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Stdout("1\n2\n3\n"), loadtest.EndEvent(3), loadtest.EOS),
		"a line is missing":                loadtest.AnswerOf(lines("1\n", "3\n")...),
		"a line came twice":                loadtest.AnswerOf(lines("1\n", "2\n", "2\n", "3\n")...),
		"a line was changed":               loadtest.AnswerOf(lines("1\n", "x\n", "3\n")...),
		"a line with a zero before":        loadtest.AnswerOf(lines("1\n", "02\n", "3\n")...),
		"one line too many":                loadtest.AnswerOf(lines("1\n2\n3\n4\n")...),
		"no newline at the end":            loadtest.AnswerOf(lines("1\n2\n3")...),
		"lines cut anywhere":               loadtest.AnswerOf(lines("1", "\n2\n", "3", "\n")...),
		"a huge number":                    loadtest.AnswerOf(lines("99999999999999999999999\n2\n3\n")...),
		"empty output":                     loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0, `{"event":{"data":{"stdout":""}}}`), loadtest.Stdout("1\n2\n3\n"), loadtest.EndEvent(0), loadtest.EOS),
		"stderr":                           loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0, `{"event":{"data":{"stderr":"eA=="}}}`), loadtest.Stdout("1\n2\n3\n"), loadtest.EndEvent(0), loadtest.EOS),
		"a terminal":                       loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0, `{"event":{"data":{"pty":"MQoyCjMK"}}}`), loadtest.EndEvent(0), loadtest.EOS),
		"white space in events":            loadtest.AnswerOf(loadtest.Env(0, "{ \"event\" : {\n\"start\": {\"pid\":7} } }"), loadtest.Env(0, `{"event": {"data": {"stdout": "MQoyCjMK"}}}`), loadtest.EndEvent(0), loadtest.EOS),
		"keepalives":                       loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0, `{"event":{"keepalive":{}}}`), loadtest.Stdout("1\n2\n3\n"), loadtest.EndEvent(0), loadtest.EOS),
		"an unknown event":                 loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0, `{"event":{"resized":{"cols":80}}}`), loadtest.Stdout("1\n2\n3\n"), loadtest.EndEvent(0), loadtest.EOS),
		"base64 of URLs":                   loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0, `{"event":{"data":{"stdout":"_-8="}}}`), loadtest.EndEvent(0), loadtest.EOS),
		"base64 without padding":           loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0, `{"event":{"data":{"stdout":"MQo"}}}`), loadtest.EndEvent(0), loadtest.EOS),
		"not base64":                       loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0, `{"event":{"data":{"stdout":"hello!"}}}`), loadtest.EndEvent(0), loadtest.EOS),
		"escapes in base64":                loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0, `{"event":{"data":{"stdout":"MQoy\u0043jMK"}}}`), loadtest.EndEvent(0), loadtest.EOS),
		"two outputs in one event":         loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0, `{"event":{"data":{"stdout":"MQo=","pty":"MQo="}}}`), loadtest.EndEvent(0), loadtest.EOS),
		"an event that is not JSON":        loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0, `{"event":{`), loadtest.EndEvent(0), loadtest.EOS),
		"reserved flags":                   loadtest.AnswerOf(loadtest.Env(0x40, `{"event":{"start":{"pid":7}}}`), loadtest.Stdout("1\n2\n3\n"), loadtest.EndEvent(0), loadtest.EOS),
		"a compressed envelope":            loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(1, "xx"), loadtest.EndEvent(0), loadtest.EOS),
		"a compressed end":                 loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Stdout("1\n2\n3\n"), loadtest.EndEvent(0), loadtest.Env(3, "xx")),
		"bytes after the end of stream":    loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Stdout("1\n2\n3\n"), loadtest.EndEvent(0), loadtest.EOS, "x"),
		"an envelope of 4 GiB":             loadtest.AnswerOf("\x00\xff\xff\xff\xff{"),
		"half an envelope at the end":      loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Stdout("1\n2\n3\n"), loadtest.EndEvent(0), loadtest.EOS[:3]),
		"a large envelope": loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0, `{"event":{"keepalive":{}}`+strings.Repeat(" ", 100_000)+"}"),
			loadtest.Stdout("1\n2\n3\n"), loadtest.EndEvent(0), loadtest.EOS),
	}
}

func bytewise(p string) string {
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
				addr := script(t, func(c net.Conn) { _, _ = io.WriteString(c, text); _ = c.Close() }, w)
				plan := func() *load.Plan { return loadtest.Plan(t, addr, w.Plan) }
				want, apart := coarser()[name]
				if !apart {
					both(t, plan)
					return
				}
				slow := loadtest.Drive(t.Context(), t, portable.Engine{}, plan())
				quick := loadtest.Drive(t.Context(), t, fast.Engine{}, plan())
				if got := [2]bundle.StreamOutcome{slow.Results[0].Outcome, quick.Results[0].Outcome}; got != want {
					t.Errorf("outcomes %v %q %q, want %v", got, slow.Messages(), quick.Messages(), want)
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
			at := draw.IntN(len(text))
			switch draw.IntN(4) {
			case 0:
				text[at] ^= 1 << draw.IntN(8)
			case 1:
				text = append(text[:at], text[at+1:]...)
			case 2:
				text = append(text[:at], append([]byte{text[draw.IntN(len(text))]}, text[at:]...)...)
			case 3:
				text = text[:at+1]
			}
		}
		cut := draw.IntN(len(text) + 1)
		addr := script(t, func(c net.Conn) {
			_, _ = c.Write(text[:cut])
			_, _ = c.Write(text[cut:])
			_ = c.Close()
		})
		slow, quick := together(t, func() *load.Plan { return loadtest.Plan(t, addr) })
		if breaksHTTP(slow.Message()) || breaksHTTP(quick.Message()) {
			syntax++ // net/http accepts some breaches, and stops elsewhere at others
			continue
		}
		if same(t, slow, quick); t.Failed() {
			t.Fatalf("response %d: %q", n, text)
		}
	}
	if syntax > 150 {
		t.Errorf("%d of 250 responses break the syntax of HTTP: too few are compared", syntax)
	}
}

// ways returns all valid combinations of protocol, codec and version.
func ways() (out [][3]string) {
	for _, protocol := range []string{load.ProtocolConnect, load.ProtocolGRPC, load.ProtocolWeb, load.ProtocolNDJSON} {
		for _, codec := range []string{load.CodecJSON, load.CodecProto} {
			for _, version := range []string{load.HTTP11, load.H2C, overTLS, load.H2TLS} {
				if protocol == load.ProtocolGRPC && (version == load.HTTP11 || version == overTLS) || protocol == load.ProtocolNDJSON && codec == load.CodecProto {
					continue
				}
				out = append(out, [3]string{protocol, codec, version})
			}
		}
	}
	return append(out, [3]string{load.ProtocolWS, "", load.HTTP11}, [3]string{load.ProtocolWS, "", overTLS})
}

// overTLS stands for HTTP/1.1 over TLS in tables.
const overTLS = "1.1 over TLS"

// reports runs the same options on both engines, each against its own gateway, with a time
// scale of 3.
func reports(t *testing.T, g zoo.Options, o load.Options) (slow, quick *bundle.LoadReport) {
	t.Helper()
	if g.TLS = o.HTTP == overTLS || o.HTTP == load.H2TLS; o.HTTP == overTLS {
		o.HTTP = load.HTTP11
	}
	engines := []load.Engine{portable.Engine{}, fast.Engine{}}
	out := make([]*bundle.LoadReport, len(engines))
	var running sync.WaitGroup
	for n, e := range engines {
		running.Go(func() {
			gateway, err := zoo.Start(t.Context(), g)
			if err != nil {
				t.Error(err)
				return
			}
			defer gateway.Close()
			o := o
			o.Engine, o.Target = e, target.Options{URL: gateway.URL(), CACert: gateway.CACert(), TimeScale: 3}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			if o.Duration > 0 {
				o.Progress = &enough{stop: stop}
			}
			if out[n], err = load.Run(ctx, o); err != nil {
				t.Errorf("%s: %v", e.Name(), err)
			}
		})
	}
	running.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return out[0], out[1]
}

// alike compares the counts of two reports.
func alike(t *testing.T, a, b *bundle.LoadReport) {
	t.Helper()
	sum := func(r *bundle.LoadReport) string {
		return fmt.Sprintf("%s; %+v; %+v; %d events, %d bytes; first %d, violations %d", r.Verdict, r.Streams.Outcomes, r.Ledger,
			r.Output.Events, r.Output.Bytes, r.Latency.FirstEvent.Count, len(r.Metrics.Violations))
	}
	if sum(a) != sum(b) {
		t.Errorf("the engines differ:\nportable %s\n         %v\nfast     %s\n         %v", sum(a), a.Examples, sum(b), b.Examples)
	}
}

// faulty returns faults of a protocol that fail streams: a lost line, and where the end is a message, a lost end.
func faulty(protocol string) []string {
	return append([]string{"line-dropped"}, map[string][]string{
		load.ProtocolConnect: {"eos-dropped"},
		load.ProtocolGRPC:    {"grpc-status-missing"},
		load.ProtocolWeb:     {"grpc-web-trailer-missing"},
	}[protocol]...)
}

// Faults are not combined with TLS: what they change is above it, and TestBothEnginesJudgeAnswersAlike has
// wrong responses over TLS.
func TestBothEnginesCountAlike(t *testing.T) {
	for _, way := range ways() {
		faults := []string{""}
		if way[2] == load.HTTP11 || way[2] == load.H2C {
			faults = append(faults, faulty(way[0])...)
		}
		for _, fault := range faults {
			t.Run(strings.Join(way[:], " ")+" "+fault, func(t *testing.T) {
				t.Parallel()
				var g zoo.Options
				o := load.Options{Protocol: way[0], Codec: way[1], HTTP: way[2], Schedule: load.Schedule{Streams: 4, Count: 12}, Profile: "full"}
				if fault != "" {
					// One line in 1,000 is dropped: here the ninetieth, which is the same one if streams follow each other.
					g.Faults, g.Seed, o.Streams = []string{fault}, 910, 1
				}
				a, b := reports(t, g, o)
				alike(t, a, b)
				if fault == "" && (b.Verdict != bundle.LoadPass || b.Streams.Outcomes[bundle.StreamOK] != 12) {
					t.Errorf("%s because of %v: %v", b.Verdict, b.Reasons, b.Examples)
				}
				if fault != "" && b.Streams.Outcomes.Failed() == 0 {
					t.Errorf("the fault has no effect: %v", b.Streams.Outcomes)
				}
			})
		}
	}
}

// Both engines kill held streams at the end, and measure similar gaps: ticks come every
// 100 ms. A machine that sometimes stands still makes gaps longer, a wrong unit changes
// them by powers of ten.
func TestBothEnginesMeasureAlike(t *testing.T) {
	for _, way := range [][3]string{
		{load.ProtocolConnect, load.CodecJSON, load.HTTP11}, {load.ProtocolGRPC, load.CodecProto, load.H2C},
		{load.ProtocolNDJSON, load.CodecJSON, load.HTTP11}, {load.ProtocolWeb, load.CodecProto, load.H2C},
		{load.ProtocolWS, "", load.HTTP11}, {load.ProtocolConnect, load.CodecJSON, overTLS}, {load.ProtocolGRPC, load.CodecProto, load.H2TLS},
	} {
		t.Run(strings.Join(way[:], " "), func(t *testing.T) {
			t.Parallel()
			a, b := reports(t, zoo.Options{}, load.Options{
				Protocol: way[0], Codec: way[1], HTTP: way[2], Schedule: load.Schedule{Streams: 4, Duration: time.Hour}, Profile: "full",
				Command: "i=0; while :; do echo $i; i=$((i+1)); sleep 0.1; done", Expect: "none",
			})
			if a.Streams.Outcomes != b.Streams.Outcomes || a.Ledger != b.Ledger || b.Streams.Outcomes[bundle.StreamKilled] != 4 {
				t.Errorf("portable %v %+v, fast %v %+v: %v", a.Streams.Outcomes, a.Ledger, b.Streams.Outcomes, b.Ledger, b.Examples)
			}
			for name, l := range map[string]bundle.Latency{"portable": a.Latency.Gap, "fast": b.Latency.Gap} {
				if l.Count < 12 || l.P50 < 50_000 || l.P50 > 10_000_000 {
					t.Errorf("%s: gaps %+v, want about 100 ms", name, l)
				}
			}
			if b.Latency.DriverLag.Count == 0 || b.Latency.FromSent.Count != 4 {
				t.Errorf("driver lag %+v, from sent %+v", b.Latency.DriverLag, b.Latency.FromSent)
			}
		})
	}
}

// served starts a gateway. way makes a plan reach it over an HTTP version.
func served(t *testing.T, version string) (addr string, way func(*load.Plan)) {
	t.Helper()
	secure := version == overTLS || version == load.H2TLS
	gateway, err := zoo.Start(t.Context(), zoo.Options{Options: gateway.Options{TLS: secure}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gateway.Close() })
	_, addr, _ = strings.Cut(gateway.URL(), "://")
	return addr, func(p *load.Plan) {
		switch version {
		case load.H2C, load.H2TLS:
			p.HTTP = version
		case load.ProtocolWS:
			loadtest.OverWS(p)
		}
		if !secure {
			return
		}
		p.TLS = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "127.0.0.1", NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}
		if p.Multiplexed() {
			p.TLS.NextProtos = []string{"h2"}
		}
		p.TLS.RootCAs.AppendCertsFromPEM(gateway.CACert())
	}
}

// The mix of classes has kills, hang-ups, think time and input.
func TestBothEnginesKillAndHangUpAlike(t *testing.T) {
	for _, version := range []string{load.HTTP11, load.H2C, overTLS, load.H2TLS, load.ProtocolWS} {
		for _, e := range []load.Engine{portable.Engine{}, fast.Engine{}} {
			t.Run(version+" "+e.Name(), func(t *testing.T) {
				t.Parallel()
				addr, way := served(t, version)
				plan := loadtest.Plan(t, addr, way, mixed)
				q := loadtest.Drive(t.Context(), t, e, plan)
				firsts := map[int]int{}
				for n := range int64(plan.Count) {
					firsts[plan.Stream(n).Class]++
				}
				if version != load.ProtocolWS && !maps.Equal(q.Firsts, firsts) { // a socket may be closed before its first message
					t.Errorf("start events by class: %v, want %v", q.Firsts, firsts)
				}
				kinds := map[string]int{}
				for _, r := range q.Results {
					kinds[fmt.Sprintf("%v %d %v %v", r.Outcome, r.Fate, r.Disconnected, r.Uncertain)]++
					if r.Outcome.Failed() || r.Outcome == bundle.StreamCancelled && !r.Disconnected || r.Message != "" || r.Disconnected && !r.KillSent && version != load.ProtocolWS {
						t.Errorf("%+v", r)
					}
				}
				ok := kinds[fmt.Sprintf("ok %d false false", load.EndedOK)]
				killed := kinds[fmt.Sprintf("killed %d false false", load.FateKilled)]
				gone := kinds[fmt.Sprintf("cancelled %d true false", load.FateKilled)] + kinds[fmt.Sprintf("cancelled %d true false", load.EndedHungUp)]
				if ok+killed+gone != plan.Count || ok < 27 || ok > 33 || killed < 3 || gone < 3 {
					t.Errorf("%v", kinds)
				}
			})
		}
	}
}

func TestAnInterruptedRunLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, version := range []string{load.HTTP11, load.H2C, overTLS, load.H2TLS} {
		addr, way := served(t, version)
		ctx, stop := context.WithCancel(t.Context())
		q := loadtest.NewTally()
		q.OnStarted = func(started int) {
			if started == 30 {
				stop()
			}
		}
		loadtest.DriveTo(ctx, t, q, fast.Engine{Loops: 2}, loadtest.Plan(t, addr, way, func(p *load.Plan) {
			p.Count, p.Streams, p.Duration, p.Classes[0].Endless = 0, 30, time.Hour, true
			p.Limits = load.DefaultLimits(1)
			p.Classes[0].Check = load.Check{Kind: load.CheckSequence}
			p.Classes[0].Dialect.Command = "i=0; while :; do echo $i; i=$((i+1)); sleep 1; done"
		}))
		stop()
		killed := 0
		for _, r := range q.Results {
			if r.Outcome == bundle.StreamKilled && r.Fate == load.FateKilled {
				killed++
			}
		}
		if killed != 30 {
			t.Errorf("%s: %s %q", version, q.Facts(), q.Messages())
		}
	}
}

// Names are resolved, and a port without a listener is an outcome.
func TestAnAddressMayBeAName(t *testing.T) {
	addr := script(t, func(c net.Conn) { _, _ = io.WriteString(c, loadtest.GoodAnswer()) })
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	_, quick := both(t, func() *load.Plan { return loadtest.Plan(t, "localhost:"+port) })
	if quick.Results[0].Outcome != bundle.StreamOK {
		t.Errorf("%+v", quick.Results)
	}
	both(t, func() *load.Plan { return loadtest.Plan(t, "localhost:1") })
	both(t, func() *load.Plan { return loadtest.Plan(t, "127.0.0.1:1") })
}
