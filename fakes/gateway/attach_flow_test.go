package gateway

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"assay/fakes/gatewaytest"
	"assay/fakes/stdio"
	"assay/fakes/virtual"
	"assay/internal/testkit"
)

func TestFramesThatAreForbiddenCloseTheConnection(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		sent []byte
		code int
	}{
		{"a message beyond 1 MiB", frame(finBinary, strings.Repeat("x", 1<<20+1)), 1009},
		{"a text beyond 1 MiB", frame(finText, strings.Repeat("x", 1<<20+1)), 1009},
		{"fragments beyond 1 MiB", append(frame(binary, strings.Repeat("x", 1<<20)), frame(finCont, "xy")...), 1009},
		{"a text that is not UTF-8", frame(finText, "{\xff}"), 1007},
		{"a reason that is not UTF-8", frame(finClose, "\x03\xe8f\xc3("), 1007},
		{"an unmasked frame", []byte{finBinary, 1, 'x'}, 1002},
		{"a reserved bit", frame(0xc2, "x"), 1002},
		{"an unknown opcode", frame(0x83, "x"), 1002},
		{"a continuation of nothing", frame(finCont, "x"), 1002},
		{"a message inside a message", append(frame(binary, "x"), frame(finBinary, "y")...), 1002},
		{"a fragmented ping", frame(0x09, "x"), 1002},
		{"a long ping", frame(finPing, strings.Repeat("x", 126)), 1002},
		{"a Close frame of one byte", frame(finClose, "x"), 1002},
		{"a Close frame with 1005", frame(finClose, "\x03\xed"), 1002},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := startGateway(t, Options{})
			conn := attachRaw(t, g, "cmd", "sleep", "arg", "1000")
			_, s := theOnly(t, g)
			if _, err := conn.Write(c.sent); err != nil {
				t.Fatal(err)
			}
			wantClose(t, c.name, conn, c.code)
			if got := endOf(t, s); got != "signal: terminated" {
				t.Error(got)
			}
		})
	}
}

func TestFragmentsAndControlFramesBetweenThemAreRead(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c := attachRaw(t, g, sh("head -c 7")...)
	for _, f := range [][]byte{frame(binary, "ab"), frame(finPing, "1"), frame(0, ""), frame(finPing, ""), frame(0, "cd"), frame(finCont, ""), frame(finBinary, ""), frame(finBinary, "efg")} {
		if _, err := c.Write(f); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for {
		head, payload, err := readFrame(c)
		if err != nil {
			break
		}
		got = append(got, fmt.Sprintf("%x %q", head, payload))
		if head == finClose {
			_, _ = c.Write(frame(finClose, string(payload)))
		}
	}
	text := strings.Join(got, "\n")
	for _, want := range []string{`8a "1"`, `8a ""`, `81 "{\"type\":\"exit\",\"code\":0}"` + "\n" + `88 "\x03\xe8"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
}

func TestTheLargestMessageIsTaken(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c := dialAttach(t, g, sh("wc -c")...)
	c.stdin(strings.Repeat("x", 1<<20))
	c.text(`{"type":"eof"}`)
	c.rest().wantEnd("0")
	if got := strings.TrimSpace(string(c.out[1])); got != strconv.Itoa(1<<20) {
		t.Error(got)
	}
}

func TestAPingIsAnsweredWhileOutputFloods(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c := attachRaw(t, g, sh("yes "+strings.Repeat("x", 200)+" | head -c 20000000")...)
	total, pings, pongs := 0, 0, 0
	for n := 0; ; n++ {
		if n%20 == 0 && pings < 10 { // all long before the end, when the rest is in the buffers of the kernel
			pings++
			_, _ = c.Write(frame(finPing, "now"))
		}
		head, payload, err := readFrame(c)
		switch {
		case err != nil:
			t.Fatal(err)
		case head == 0x8a:
			pongs++
			if total >= 20_000_000 {
				t.Error("a pong came behind the flood")
			}
		case head == finBinary:
			total += len(payload) - 1
		}
		if head == finClose {
			break
		}
	}
	if total != 20_000_000 || pongs != pings {
		t.Errorf("%d bytes, %d pongs for %d pings", total, pongs, pings)
	}
}

// untilItStands waits until a count has stood still for half a second: whoever counts is blocked. Where the machine pauses
// for longer, the wait ends early and the count is lower, which fails no test.
func untilItStands(t *testing.T, count *atomic.Int64) int64 {
	t.Helper()
	last, since := int64(0), time.Now()
	testkit.Eventually(t, func() error {
		if n := count.Load(); n != last || n == 0 {
			last, since = n, time.Now()
		}
		if time.Since(since) < 500*time.Millisecond {
			return fmt.Errorf("%d goes on", last)
		}
		return nil
	})
	return last
}

// heapNow is the memory in use.
func heapNow() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

func TestASlowReaderBlocksItsProcessAndLosesNothing(t *testing.T) {
	t.Parallel()
	if !testkit.Alone(t) {
		return
	}
	const size = 100_000_000
	var printed atomic.Int64
	g := startGateway(t, Options{Seams: Seams{Output: func(_ *Process, next Output) Output { return countedOutput{next, &printed} }}})
	before := heapNow()
	c := attachRaw(t, g, sh(fmt.Sprintf("yes %s | head -c %d; exit 3", strings.Repeat("x", 500), size))...)
	held := untilItStands(t, &printed) // the client reads nothing
	if p := g.table.List()[0]; p.hub.grace != time.Minute {
		t.Errorf("the process waits %v for its client", p.hub.grace)
	}
	grown := int64(heapNow()) - int64(before)
	t.Logf("%d MB printed, the heap grew by %d MB", held>>20, grown>>20)
	if held > size/2 || grown > 32<<20 {
		t.Errorf("the process printed %d bytes to a client that reads nothing; the heap grew by %d", held, grown)
	}
	_, _ = c.Write(frame(finPing, "pong while nothing is read"))
	total, pongs, exits := 0, 0, ""
	for {
		_ = c.SetDeadline(time.Now().Add(gatewaytest.Patience))
		head, payload, err := readFrame(c)
		if err != nil {
			break
		}
		switch head {
		case finBinary:
			total += len(payload) - 1
		case 0x8a:
			pongs++
		default:
			exits += fmt.Sprintf("%x%s ", head, payload)
		}
		if head == finClose {
			_ = c.Close()
		}
	}
	if total != size || pongs != 1 || exits != "81{\"type\":\"exit\",\"code\":3} 88\x03\xe8 " {
		t.Errorf("%d bytes, %d pongs, then %.200q", total, pongs, exits)
	}
}

// countedOutput counts what a process prints.
type countedOutput struct {
	Output
	n *atomic.Int64
}

func TestAClientThatPingsAndDoesNotReadIsBounded(t *testing.T) {
	t.Parallel()
	if !testkit.Alone(t) {
		return
	}
	g := startGateway(t, Options{})
	before := heapNow()
	c := attachRaw(t, g, "cmd", "sleep", "arg", "1000")
	flood := []byte(strings.Repeat(string(frame(finPing, strings.Repeat("p", 125))), 500))
	sent := 0
	for ; sent < 1<<30; sent += len(flood) {
		_ = c.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
		if _, err := c.Write(flood); err != nil {
			break // the gateway reads no more
		}
	}
	if grown := int64(heapNow()) - int64(before); grown > 32<<20 || sent >= 1<<30 {
		t.Errorf("after %d MB of pings the heap grew by %d MB", sent>>20, grown>>20)
	}
}

func TestStdinThatNobodyReadsIsBoundedAndKept(t *testing.T) {
	t.Parallel()
	if !testkit.Alone(t) {
		return
	}
	const size = 64 << 20
	g := startGateway(t, Options{})
	before := heapNow()
	c := dialAttach(t, g, sh("echo up; while ! test -e /tmp/go; do sleep 0.1; done; wc -c")...)
	var sent atomic.Int64
	done := make(chan error, 1)
	piece := make([]byte, 1<<20)
	go func() {
		for range size / len(piece) {
			if err := c.Write(context.Background(), websocket.MessageBinary, piece); err != nil {
				done <- err
				return
			}
			sent.Add(int64(len(piece)))
		}
		done <- c.Write(context.Background(), websocket.MessageText, []byte(`{"type":"eof"}`))
	}()
	c.until("up\n")
	held := untilItStands(t, &sent)
	grown := int64(heapNow()) - int64(before)
	t.Logf("%d MB sent, the heap grew by %d MB", held>>20, grown>>20)
	if held > size/2 || grown > 32<<20 {
		t.Errorf("the gateway took %d bytes; the heap grew by %d", held, grown)
	}
	dialAttach(t, g, sh("echo > /tmp/go")...).rest().wantEnd("0")
	c.rest().wantEnd("0")
	if err := <-done; err != nil || strings.TrimSpace(string(c.out[1])) != fmt.Sprint("up\n", size) {
		t.Errorf("%q, %v", c.out[1], err)
	}
}

func TestAClientThatAnswersNoPingIsGivenUp(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{ClockScale: 60}) // 60 s are 1 s
	silent := attachRaw(t, g, "cmd", "sleep", "arg", "1000")
	pings := 0
	for {
		head, payload, err := readFrame(silent)
		if err != nil {
			t.Error("no Close frame")
			break
		}
		if head == finPing {
			pings++
		}
		if head == finClose {
			if code := int(payload[0])<<8 | int(payload[1]); code != 1008 || pings == 0 {
				t.Errorf("Close %d after %d pings", code, pings)
			}
			break
		}
	}
	_ = silent.Close()
	untilNothingRuns(t, g)
	wantBooks(t, g, 1, 0, 0, 1, 0)

	deaf := attachRaw(t, g, sh("yes "+strings.Repeat("x", 500))...)
	untilNothingRuns(t, g)
	wantClose(t, "a client that reads nothing", deaf, 1013)
}

func TestTheMessagesToAClientCanBeDecorated(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Seams: Seams{Stdio: func(next stdio.Sink) stdio.Sink { return loudSink{next} }}})
	c := dialAttach(t, g, sh("echo up; exit 3")...).rest()
	if string(c.out[1]) != "UP\n" || c.code != 4001 {
		t.Errorf("%q, Close %d", c.out[1], c.code)
	}
}

// loudSink shouts.
type loudSink struct{ stdio.Sink }

func (s loudSink) Send(m stdio.Message) error {
	if m.Binary {
		m.Data = []byte(strings.ToUpper(string(m.Data)))
	}
	return s.Sink.Send(m)
}

func (s loudSink) Close(websocket.StatusCode, string) error { return s.Sink.Close(4001, "") }

func (o countedOutput) Write(s virtual.Stream, p []byte) {
	o.Output.Write(s, p)
	o.n.Add(int64(len(p)))
}
