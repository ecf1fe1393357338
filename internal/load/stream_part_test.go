package load

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestAStreamPlaysItsPart(t *testing.T) {
	tests := map[string]struct {
		class    Class
		kill     string
		outcome  Outcome
		fate     Fate
		earliest time.Duration // of the end of a stream
	}{
		"killed after a while":                  {Class{KillShare: 1, Within: 30 * time.Millisecond}, killOK, Killed, FateKilled, 0},
		"held for a span":                       {Class{Hold: 80 * time.Millisecond}, killOK, Killed, FateKilled, 80 * time.Millisecond},
		"hung up on, and killed at the end":     {Class{DisconnectShare: 1, Within: 30 * time.Millisecond}, killOK, Cancelled, FateKilled, 0},
		"hung up on, and gone before the end":   {Class{DisconnectShare: 1, Within: 30 * time.Millisecond}, killGoneOK, Cancelled, EndedUnseen, 0},
		"hung up on, and it could not be ended": {Class{DisconnectShare: 1, Within: 30 * time.Millisecond}, killRefused, Cancelled, LeftOpen, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := testPlan(t, ticking(t, tt.kill, chunk(endEvent(-1)+eos)+lastChunk), endless, func(p *Plan) {
				p.Duration, p.Count, p.Streams = 0, 3, 3
				tt.class.Share, tt.class.Dialect, tt.class.Check, tt.class.Endless = 1, p.Dialect, p.Check, true
				p.Classes = []Class{tt.class}
			})
			begun := time.Now()
			c := runPlan(t, t.Context(), p)
			wantOutcomes(t, c, map[Outcome]int64{tt.outcome: 3})
			if b := c.snapshot(); b.fates[tt.fate] != 3 {
				t.Errorf("fates %v, want number %d three times", b.fates, tt.fate)
			}
			if took := time.Since(begun); took < tt.earliest {
				t.Errorf("it took %v, want at least %v", took, tt.earliest)
			}
			if n := c.hist.total[FromSent].TotalCount(); n != 3 {
				t.Errorf("%d first events were measured from the sent byte", n)
			}
		})
	}
}

// fedServer answers Start with a start event, and ends the stream when the input is
// closed. calls is what came, in order.
type fedServer struct {
	mu    sync.Mutex
	calls []string
	done  chan struct{}
}

func (f *fedServer) serve(c net.Conn) {
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, _ := io.ReadAll(r.Body)
		name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		if name == "Start" {
			_, _ = io.WriteString(c, streamHead+chunk(startEvent(7)))
			<-f.done
			_, _ = io.WriteString(c, chunk(endEvent(0)+eos)+lastChunk)
			continue
		}
		var m struct{ Input struct{ Stdin []byte } }
		_ = json.Unmarshal(body, &m)
		f.mu.Lock()
		f.calls = append(f.calls, name+" "+string(m.Input.Stdin))
		f.mu.Unlock()
		_, _ = io.WriteString(c, killOK)
		if name == "CloseStdin" {
			close(f.done)
		}
	}
}

func TestInputIsWrittenAndClosed(t *testing.T) {
	f := &fedServer{done: make(chan struct{})}
	p := testPlan(t, listen(t, f.serve), func(p *Plan) {
		p.Classes = []Class{{Share: 1, Dialect: p.Dialect, Stdin: []byte("hello\n")}}
	})
	wantOutcomes(t, runPlan(t, t.Context(), p), map[Outcome]int64{OK: 1})
	if want := []string{"SendInput hello\n", "CloseStdin "}; !slices.Equal(f.calls, want) {
		t.Errorf("calls %q, want %q", f.calls, want)
	}
}

func TestInputThatIsRefusedIsAServerError(t *testing.T) {
	p := testPlan(t, script(t, then(streamHead+chunk(startEvent(7)), hold), killRefused), func(p *Plan) {
		p.Classes = []Class{{Share: 1, Dialect: p.Dialect, Stdin: []byte{}}}
	})
	c := runPlan(t, t.Context(), p)
	wantOutcomes(t, c, map[Outcome]int64{ServerError: 1})
	if len(c.examples) != 1 || !strings.Contains(c.examples[0].Message, "CloseStdin") {
		t.Errorf("%v", c.examples)
	}
}

// Endless streams are killed at the end of the schedule, and short ones beside them
// are given their grace.
func TestAMixOfHeldAndShortStreams(t *testing.T) {
	g := &ticker{kill: killOK, end: chunk(endEvent(-1)+eos) + lastChunk, live: map[int]chan struct{}{}}
	lines := `{"type":"start","pid":9999}` + "\n" + `{"type":"end","exit_code":0}` + "\n"
	short := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(lines), lines)
	addr := listen(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		first, err := in.Peek(16)
		if err != nil {
			return
		}
		if strings.HasPrefix(string(first), "POST /commands") {
			serveStarts(buffered{c, in}, short)
			return
		}
		g.serve(buffered{c, in})
	})
	p := testPlan(t, addr, endless, func(p *Plan) {
		alias := p.Dialect
		alias.Protocol = ProtocolNDJSON
		p.Streams, p.Duration = 4, 200*time.Millisecond
		p.Classes = []Class{
			{Name: "held", Share: 3, Dialect: p.Dialect, Check: p.Check, Endless: true},
			{Name: "short", Share: 1, Dialect: alias},
		}
	})
	c := runPlan(t, t.Context(), p)
	b := c.snapshot()
	if b.outcomes[Killed] < 3 || b.outcomes[OK] < 1 || b.outcomes.Failed() > 0 {
		t.Errorf("%v, %v", named(b.outcomes), c.examples)
	}
}

// buffered is a connection of which some bytes were read.
type buffered struct {
	net.Conn
	in *bufio.Reader
}

func (b buffered) Read(p []byte) (int, error) { return b.in.Read(p) }
