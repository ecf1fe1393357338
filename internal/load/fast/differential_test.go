//go:build linux && (amd64 || arm64)

package fast_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/fakes/zoo"
	"assay/internal/load"
	"assay/internal/load/fast"
	"assay/internal/target"
)

// both runs a plan on both engines at one time and compares all that they must agree on.
func both(t *testing.T, p func() *load.Plan) (portable, quick *tally) {
	t.Helper()
	var running sync.WaitGroup
	one, other := p(), p()
	running.Go(func() { portable = drive(t, t.Context(), load.Portable{}, one) })
	running.Go(func() { quick = drive(t, t.Context(), fast.Engine{}, other) })
	running.Wait()
	if a, b := portable.what(), quick.what(); a != b {
		t.Errorf("the engines differ:\nportable %s\n         %q\nfast     %s\n         %q", a, portable.messages(), b, quick.messages())
	}
	return portable, quick
}

// answers are what a gateway may write to a Start, right and wrong.
func answers() map[string]string {
	good := goodAnswer()
	body := startEvent(7) + stdout("1\n") + stdout("2\n") + stdout("3\n") + endEvent(0) + eos
	head := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	lines := func(text ...string) []string {
		out := []string{startEvent(7)}
		for _, s := range text {
			out = append(out, stdout(s))
		}
		return append(out, endEvent(0), eos)
	}
	return map[string]string{
		"as it should be":                  good,
		"in one chunk":                     streamHead + chunk(body) + lastChunk,
		"a chunk for each byte":            streamHead + bytewise(body) + lastChunk,
		"chunk sizes with leading zeros":   streamHead + fmt.Sprintf("%012X\r\n%s\r\n", len(body), body) + lastChunk,
		"chunk extensions":                 streamHead + fmt.Sprintf("%x;a=b\r\n%s\r\n", len(body), body) + "0;x\r\n\r\n",
		"trailers":                         strings.TrimSuffix(good, "\r\n") + "x-checksum: 1\r\n\r\n",
		"a bare newline after a size":      strings.Replace(good, chunk(startEvent(7)), strings.Replace(chunk(startEvent(7)), "\r\n", "\n", 1), 1),
		"a bare newline in the head":       head("OK\r\n", "OK\n"),
		"no CRLF behind a chunk":           strings.Replace(good, "}}}\r\n", "}}}xx", 1),
		"a size that is none":              streamHead + "zz\r\n",
		"a negative size":                  streamHead + "-1\r\n",
		"a size beyond 63 bits":            streamHead + "fffffffffffffffff\r\n",
		"an endless chunk line":            streamHead + "5;" + strings.Repeat("x", 9000),
		"endless headers":                  "HTTP/1.1 200 OK\r\n" + strings.Repeat("x-filler: 0123456789\r\n", 5000),
		"a header without a colon":         head("Content-Type", "nonsense\r\nContent-Type"),
		"interim answers first":            "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + good,
		"a switch of protocols":            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n" + good,
		"a length":                         head("Transfer-Encoding: chunked", fmt.Sprintf("Content-Length: %d", len(body)))[:len(head("Transfer-Encoding: chunked", fmt.Sprintf("Content-Length: %d", len(body))))-len(good)+len(streamHead)] + body,
		"until the connection closes":      "HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\n\r\n" + body,
		"a length that is too large":       fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nContent-Length: %d\r\n\r\n", len(body)+5) + body,
		"both a length and chunks":         head("Transfer-Encoding", "Content-Length: 5\r\nTransfer-Encoding"),
		"HTTP/1.0":                         "HTTP/1.0 200 OK\r\nContent-Type: application/connect+json\r\n\r\n" + body,
		"connection close":                 head("Content-Type", "Connection: close\r\nContent-Type"),
		"a date":                           head("Content-Type", "Date: Sat, 21 Nov 2026 02:29:02 GMT\r\nContent-Type"),
		"more than one answer":             good + good,
		"no HTTP":                          "SSH-2.0-OpenSSH_9.2\r\n",
		"garbage":                          "\x00\x01\x02\x03\xff\xfe\r\n\r\n",
		"HTTP/2":                           "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x05\x00\x00\x40\x00",
		"nothing":                          "",
		"half a status line":               "HTTP/1.1 20",
		"half a head":                      streamHead[:60],
		"a head only":                      streamHead,
		"half an envelope":                 streamHead + chunk(startEvent(7)[:9]),
		"a cut answer":                     good[:len(good)-20],
		"a cut last chunk":                 good[:len(good)-2],
		"404":                              "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope",
		"503 with an error":                "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 22\r\n\r\n{\"code\":\"unavailable\"}",
		"204":                              "HTTP/1.1 204 No Content\r\n\r\n",
		"another type":                     head("application/connect+json", "text/html"),
		"a type with parameters":           head("application/connect+json", "Application/Connect+JSON; charset=utf-8"),
		"an error in the end of stream":    answerOf(env(2, `{"error":{"code":"internal","message":"no"}}`)),
		"an error after output":            answerOf(startEvent(7), stdout("1\n"), env(2, `{"error":{"code":"unavailable"}}`)),
		"unauthenticated":                  answerOf(env(2, `{"error":{"code":"unauthenticated"}}`)),
		"an end of stream that is no JSON": answerOf(startEvent(7), stdout("1\n2\n3\n"), endEvent(0), env(2, `{`)),
		"metadata in the end of stream":    answerOf(startEvent(7), stdout("1\n2\n3\n"), endEvent(0), env(2, `{"metadata":{"a":["b"]}}`)),
		"no end of stream":                 answerOf(startEvent(7), stdout("1\n2\n3\n"), endEvent(0)),
		"no end event":                     answerOf(startEvent(7), stdout("1\n2\n3\n"), eos),
		"two end events":                   answerOf(startEvent(7), stdout("1\n2\n3\n"), endEvent(0), endEvent(0), eos),
		"output after the end event":       answerOf(startEvent(7), stdout("1\n2\n"), endEvent(0), stdout("3\n"), eos),
		"no start event":                   answerOf(stdout("1\n2\n3\n"), endEvent(0), eos),
		"two start events":                 answerOf(startEvent(7), startEvent(8), stdout("1\n2\n3\n"), endEvent(0), eos),
		"a start event without a pid":      answerOf(env(0, `{"event":{"start":{}}}`), eos),
		"a start event of pid 0":           answerOf(env(0, `{"event":{"start":{"pid":0}}}`), eos),
		"the largest pid":                  answerOf(append([]string{startEvent(4294967295)}, lines("1\n2\n3\n")[1:]...)...),
		"a pid that is too large":          answerOf(append([]string{startEvent(4294967296)}, lines("1\n2\n3\n")[1:]...)...),
		"an exit code":                     answerOf(startEvent(7), stdout("1\n2\n3\n"), endEvent(3), eos),
		"a line is missing":                answerOf(lines("1\n", "3\n")...),
		"a line came twice":                answerOf(lines("1\n", "2\n", "2\n", "3\n")...),
		"a line was changed":               answerOf(lines("1\n", "x\n", "3\n")...),
		"a line with a zero before":        answerOf(lines("1\n", "02\n", "3\n")...),
		"a line too many":                  answerOf(lines("1\n2\n3\n4\n")...),
		"no newline at the end":            answerOf(lines("1\n2\n3")...),
		"lines cut anywhere":               answerOf(lines("1", "\n2\n", "3", "\n")...),
		"a huge number":                    answerOf(lines("99999999999999999999999\n2\n3\n")...),
		"empty output":                     answerOf(startEvent(7), env(0, `{"event":{"data":{"stdout":""}}}`), stdout("1\n2\n3\n"), endEvent(0), eos),
		"stderr":                           answerOf(startEvent(7), env(0, `{"event":{"data":{"stderr":"eA=="}}}`), stdout("1\n2\n3\n"), endEvent(0), eos),
		"a terminal":                       answerOf(startEvent(7), env(0, `{"event":{"data":{"pty":"MQoyCjMK"}}}`), endEvent(0), eos),
		"white space in events":            answerOf(env(0, "{ \"event\" : {\n\"start\": {\"pid\":7} } }"), env(0, `{"event": {"data": {"stdout": "MQoyCjMK"}}}`), endEvent(0), eos),
		"keepalives":                       answerOf(startEvent(7), env(0, `{"event":{"keepalive":{}}}`), stdout("1\n2\n3\n"), endEvent(0), eos),
		"an event nobody knows":            answerOf(startEvent(7), env(0, `{"event":{"resized":{"cols":80}}}`), stdout("1\n2\n3\n"), endEvent(0), eos),
		"base64 of URLs":                   answerOf(startEvent(7), env(0, `{"event":{"data":{"stdout":"_-8="}}}`), endEvent(0), eos),
		"base64 without padding":           answerOf(startEvent(7), env(0, `{"event":{"data":{"stdout":"MQo"}}}`), endEvent(0), eos),
		"no base64":                        answerOf(startEvent(7), env(0, `{"event":{"data":{"stdout":"hello!"}}}`), endEvent(0), eos),
		"escapes in base64":                answerOf(startEvent(7), env(0, `{"event":{"data":{"stdout":"MQoy\u0043jMK"}}}`), endEvent(0), eos),
		"two outputs in one event":         answerOf(startEvent(7), env(0, `{"event":{"data":{"stdout":"MQo=","pty":"MQo="}}}`), endEvent(0), eos),
		"an event that is no JSON":         answerOf(startEvent(7), env(0, `{"event":{`), endEvent(0), eos),
		"reserved flags":                   answerOf(env(0x40, `{"event":{"start":{"pid":7}}}`), stdout("1\n2\n3\n"), endEvent(0), eos),
		"a compressed envelope":            answerOf(startEvent(7), env(1, "xx"), endEvent(0), eos),
		"a compressed end":                 answerOf(startEvent(7), stdout("1\n2\n3\n"), endEvent(0), env(3, "xx")),
		"bytes after the end of stream":    answerOf(startEvent(7), stdout("1\n2\n3\n"), endEvent(0), eos, "x"),
		"an envelope of 4 GiB":             answerOf("\x00\xff\xff\xff\xff{"),
		"half an envelope at the end":      answerOf(startEvent(7), stdout("1\n2\n3\n"), endEvent(0), eos[:3]),
		"a large envelope": answerOf(startEvent(7), env(0, `{"event":{"keepalive":{}}`+strings.Repeat(" ", 100_000)+"}"),
			stdout("1\n2\n3\n"), endEvent(0), eos),
	}
}

func bytewise(p string) string {
	var b strings.Builder
	for i := range len(p) {
		b.WriteString(chunk(p[i : i+1]))
	}
	return b.String()
}

// Whatever a gateway writes, both engines come to the same result. The connection is
// closed after the answer.
func TestBothEnginesJudgeAnswersAlike(t *testing.T) {
	for name, text := range answers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := script(t, func(c net.Conn) { _, _ = io.WriteString(c, text); _ = c.Close() })
			both(t, func() *load.Plan { return testPlan(t, addr) })
		})
	}
}

// Answers that were broken at random places, and come in pieces.
func TestBothEnginesJudgeBrokenAnswersAlike(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	var all []string
	for _, name := range []string{"as it should be", "chunk extensions", "trailers", "white space in events", "a date"} {
		all = append(all, answers()[name])
	}
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
		if both(t, func() *load.Plan { return testPlan(t, addr) }); t.Failed() {
			t.Fatalf("answer %d: %q", n, text)
		}
	}
}

// ways are all protocols, codecs and versions that go together.
func ways() (out [][3]string) {
	for _, protocol := range []string{load.ProtocolConnect, load.ProtocolGRPC, load.ProtocolWeb, load.ProtocolNDJSON} {
		for _, codec := range []string{load.CodecJSON, load.CodecProto} {
			for _, version := range []string{load.HTTP11, load.H2C} {
				if protocol == load.ProtocolGRPC && version == load.HTTP11 || protocol == load.ProtocolNDJSON && codec == load.CodecProto {
					continue
				}
				out = append(out, [3]string{protocol, codec, version})
			}
		}
	}
	return out
}

// reports runs the same options on both engines, each against a gateway of its own, and
// stretches the times that a gateway may take.
func reports(t *testing.T, g zoo.Options, o load.Options) (portable, quick *load.Report) {
	t.Helper()
	engines := []load.Engine{load.Portable{}, fast.Engine{}}
	out := make([]*load.Report, len(engines))
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
			o.Engine, o.Target = e, target.Options{URL: gateway.URL(), TimeScale: 3}
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

// alike compares what two reports count.
func alike(t *testing.T, a, b *load.Report) {
	t.Helper()
	sum := func(r *load.Report) string {
		return fmt.Sprintf("%s; %+v; %+v; %d events, %d bytes; first %d, violations %d", r.Verdict, r.Streams.Outcomes, r.Ledger,
			r.Output.Events, r.Output.Bytes, r.Latency.FirstEvent.Count, len(r.Metrics.Violations))
	}
	if sum(a) != sum(b) {
		t.Errorf("the engines differ:\nportable %s\n         %v\nfast     %s\n         %v", sum(a), a.Examples, sum(b), b.Examples)
	}
}

func TestBothEnginesCountAlike(t *testing.T) {
	for _, way := range ways() {
		for _, fault := range []string{"", "line-dropped", "eos-dropped", "error-as-200", "last-line-lost"} {
			t.Run(strings.Join(way[:], " ")+" "+fault, func(t *testing.T) {
				t.Parallel()
				var g zoo.Options
				if fault != "" {
					g.Faults = []string{fault}
				}
				o := load.Options{Protocol: way[0], Codec: way[1], HTTP: way[2], Streams: 4, Count: 12, Profile: "full"}
				a, b := reports(t, g, o)
				alike(t, a, b)
				if fault == "" && (b.Verdict != load.Pass || b.Streams.Outcomes[load.OK] != 12) {
					t.Errorf("%s because of %v: %v", b.Verdict, b.Reasons, b.Examples)
				}
			})
		}
	}
}

// Held streams are killed at the end by both, and what is measured of them is alike:
// ticks come 100 ms apart. A machine that stands still now and then makes that longer,
// a wrong unit makes it another power of ten altogether.
func TestBothEnginesMeasureAlike(t *testing.T) {
	for _, way := range [][3]string{
		{load.ProtocolConnect, load.CodecJSON, load.HTTP11}, {load.ProtocolGRPC, load.CodecProto, load.H2C},
		{load.ProtocolNDJSON, load.CodecJSON, load.HTTP11}, {load.ProtocolWeb, load.CodecProto, load.H2C},
	} {
		t.Run(strings.Join(way[:], " "), func(t *testing.T) {
			t.Parallel()
			a, b := reports(t, zoo.Options{}, load.Options{
				Protocol: way[0], Codec: way[1], HTTP: way[2], Streams: 4, Duration: time.Hour, Profile: "full",
				Command: "i=0; while :; do echo $i; i=$((i+1)); sleep 0.1; done", Expect: "none",
			})
			if a.Streams.Outcomes != b.Streams.Outcomes || a.Ledger != b.Ledger || b.Streams.Outcomes[load.Killed] != 4 {
				t.Errorf("portable %v %+v, fast %v %+v: %v", a.Streams.Outcomes, a.Ledger, b.Streams.Outcomes, b.Ledger, b.Examples)
			}
			for name, l := range map[string]load.Latency{"portable": a.Latency.Gap, "fast": b.Latency.Gap} {
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

// Kills, hang-ups and think time in a mix of classes.
func TestBothEnginesKillAndHangUpAlike(t *testing.T) {
	for _, version := range []string{load.HTTP11, load.H2C} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			gateway, err := zoo.Start(t.Context(), zoo.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer gateway.Close()
			addr := strings.TrimPrefix(gateway.URL(), "http://")
			plan := testPlan(t, addr, func(p *load.Plan) {
				p.HTTP, p.Count, p.Streams, p.Seed = version, 40, 8, 5
				p.Limits = load.DefaultLimits(0, 1)
				ticks, short, input := p.Dialect, p.Dialect, p.Dialect
				ticks.Command = "i=0; while :; do echo $i; i=$((i+1)); sleep 0.02; done"
				input.Command, input.Stdin = "cat", true
				p.Classes = []load.Class{
					{Name: "ticks", Share: 2, Dialect: ticks, Check: load.Check{Kind: load.CheckSequence}, Endless: true, KillShare: 0.5, DisconnectShare: 0.5, Within: 50 * time.Millisecond},
					{Name: "short", Share: 1, Dialect: short, Check: load.Check{Kind: load.CheckSame}, Think: 5 * time.Millisecond},
					{Name: "input", Share: 1, Dialect: input, Check: load.Check{Kind: load.CheckSequence, First: 1, Lines: 2}, Stdin: []byte("1\n2\n")},
				}
			})
			q := drive(t, t.Context(), fast.Engine{}, plan)
			firsts := map[int]int{}
			for n := range int64(40) {
				firsts[plan.Stream(n).Class]++
			}
			if !maps.Equal(q.firsts, firsts) {
				t.Errorf("start events by class: %v, want %v", q.firsts, firsts)
			}
			kinds := map[string]int{}
			for _, r := range q.results {
				kinds[fmt.Sprintf("%v %d %v %v", r.Outcome, r.Fate, r.Disconnected, r.Uncertain)]++
				if r.Outcome.Failed() || r.Outcome == load.Cancelled && !r.Disconnected || r.Disconnected && (r.Message != "" || !r.KillSent) {
					t.Errorf("%+v", r)
				}
			}
			ok := kinds[fmt.Sprintf("ok %d false false", load.EndedOK)]
			killed := kinds[fmt.Sprintf("killed %d false false", load.FateKilled)]
			gone := kinds[fmt.Sprintf("cancelled %d true false", load.FateKilled)]
			if ok+killed+gone != 40 || ok < 18 || ok > 22 || killed < 3 || gone < 3 {
				t.Errorf("%v", kinds)
			}
		})
	}
}

func TestAnInterruptedRunLeavesNothing(t *testing.T) {
	for _, version := range []string{load.HTTP11, load.H2C} {
		gateway, err := zoo.Start(t.Context(), zoo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		addr := strings.TrimPrefix(gateway.URL(), "http://")
		ctx, stop := context.WithCancel(t.Context())
		q := newTally()
		q.begun = func(started int) {
			if started == 30 {
				stop()
			}
		}
		driveTo(t, ctx, q, fast.Engine{Loops: 2}, testPlan(t, addr, func(p *load.Plan) {
			p.HTTP, p.Count, p.Streams, p.Duration, p.Endless = version, 0, 30, time.Hour, true
			p.Limits = load.DefaultLimits(time.Second, 1)
			p.Check = load.Check{Kind: load.CheckSequence}
			p.Dialect.Command = "i=0; while :; do echo $i; i=$((i+1)); sleep 1; done"
		}))
		stop()
		killed := 0
		for _, r := range q.results {
			if r.Outcome == load.Killed && r.Fate == load.FateKilled {
				killed++
			}
		}
		if killed != 30 {
			t.Errorf("%s: %s %q", version, q.what(), q.messages())
		}
		_ = gateway.Close()
	}
}

// Names are resolved, and where nobody answers the streams say so.
func TestAnAddressMayBeAName(t *testing.T) {
	addr := script(t, func(c net.Conn) { _, _ = io.WriteString(c, goodAnswer()) })
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	_, quick := both(t, func() *load.Plan { return testPlan(t, "localhost:"+port) })
	if quick.results[0].Outcome != load.OK {
		t.Errorf("%+v", quick.results)
	}
	both(t, func() *load.Plan { return testPlan(t, "localhost:1") })
	both(t, func() *load.Plan { return testPlan(t, "127.0.0.1:1") })
}
