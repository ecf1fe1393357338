package portable_test

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

	"assay/internal/load"
	"assay/internal/load/loadtest"
	"assay/internal/record/bundle"
)

func TestAStreamPlaysItsPart(t *testing.T) {
	tests := map[string]struct {
		class    load.Class
		kill     string
		outcome  bundle.StreamOutcome
		fate     load.Fate
		earliest time.Duration // of the end of a stream
	}{
		"killed after a while":                 {load.Class{KillShare: 1, Within: 30 * time.Millisecond}, loadtest.KillOK, bundle.StreamKilled, load.FateKilled, 0},
		"held for a span":                      {load.Class{Hold: 80 * time.Millisecond}, loadtest.KillOK, bundle.StreamKilled, load.FateKilled, 80 * time.Millisecond},
		"hung up on, and killed at the end":    {load.Class{DisconnectShare: 1, Within: 30 * time.Millisecond}, loadtest.KillOK, bundle.StreamCancelled, load.FateKilled, 0},
		"hung up on, and gone before the end":  {load.Class{DisconnectShare: 1, Within: 30 * time.Millisecond}, loadtest.KillGone, bundle.StreamCancelled, load.EndedUnseen, 0},
		"hung up on, and the kill was refused": {load.Class{DisconnectShare: 1, Within: 30 * time.Millisecond}, loadtest.KillRefused, bundle.StreamCancelled, load.LeftOpen, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, e load.Engine) {
				p := loadtest.Plan(t, ticking(t, tt.kill, loadtest.Chunk(loadtest.EndEvent(-1)+loadtest.EOS)+loadtest.LastChunk), loadtest.Endless, func(p *load.Plan) {
					p.Duration, p.Count, p.Streams = 0, 3, 3
					tt.class.Share, tt.class.Dialect, tt.class.Check, tt.class.Endless = 1, p.Classes[0].Dialect, p.Classes[0].Check, true
					p.Classes = []load.Class{tt.class}
				})
				begun := time.Now()
				c := loadtest.Drive(t.Context(), t, e, p)
				c.Want(t, map[bundle.StreamOutcome]int64{tt.outcome: 3})
				if c.Fates()[tt.fate] != 3 {
					t.Errorf("fates %v, want number %d three times", c.Fates(), tt.fate)
				}
				if took := time.Since(begun); took < tt.earliest {
					t.Errorf("it took %v, want at least %v", took, tt.earliest)
				}
				if n := len(c.Values[load.FromSent]); n != 3 {
					t.Errorf("%d first events were measured from the sent byte", n)
				}
			})
		})
	}
}

// fedServer answers Start with a start event, and ends the stream when the input is
// closed. calls are the other calls, in order.
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
			_, _ = io.WriteString(c, loadtest.StreamHead+loadtest.Chunk(loadtest.StartEvent(7)))
			<-f.done
			_, _ = io.WriteString(c, loadtest.Chunk(loadtest.EndEvent(0)+loadtest.EOS)+loadtest.LastChunk)
			continue
		}
		var m struct{ Input struct{ Stdin []byte } }
		_ = json.Unmarshal(body, &m)
		f.mu.Lock()
		f.calls = append(f.calls, name+" "+string(m.Input.Stdin))
		f.mu.Unlock()
		_, _ = io.WriteString(c, loadtest.KillOK)
		if name == "CloseStdin" {
			close(f.done)
		}
	}
}

func TestInputIsWrittenAndClosed(t *testing.T) {
	each(t, func(t *testing.T, e load.Engine) {
		f := &fedServer{done: make(chan struct{})}
		p := loadtest.Plan(t, loadtest.Listen(t, f.serve), func(p *load.Plan) {
			p.Classes[0].Stdin, p.Classes[0].Check = []byte("hello\n"), load.Check{}
		})
		loadtest.Drive(t.Context(), t, e, p).Want(t, map[bundle.StreamOutcome]int64{bundle.StreamOK: 1})
		f.mu.Lock()
		defer f.mu.Unlock()
		if want := []string{"SendInput hello\n", "CloseStdin "}; !slices.Equal(f.calls, want) {
			t.Errorf("calls %q, want %q", f.calls, want)
		}
	})
}

func TestInputThatIsRefusedIsAServerError(t *testing.T) {
	each(t, func(t *testing.T, e load.Engine) {
		p := loadtest.Plan(t, loadtest.Script(t, loadtest.Then(loadtest.StreamHead+loadtest.Chunk(loadtest.StartEvent(7)), loadtest.Hold), loadtest.KillRefused), func(p *load.Plan) {
			p.Classes[0].Stdin, p.Classes[0].Check = []byte{}, load.Check{}
		})
		c := loadtest.Drive(t.Context(), t, e, p)
		c.Want(t, map[bundle.StreamOutcome]int64{bundle.StreamServerError: 1})
		if !strings.Contains(c.Message(), "input could not be written") {
			t.Errorf("%q", c.Messages())
		}
	})
}

// Endless streams are killed at the end of the schedule, and short ones beside them get
// the grace period.
func TestAMixOfHeldAndShortStreams(t *testing.T) {
	each(t, func(t *testing.T, e load.Engine) {
		g := &loadtest.Ticker{Kill: loadtest.KillOK, End: loadtest.Chunk(loadtest.EndEvent(-1)+loadtest.EOS) + loadtest.LastChunk}
		lines := `{"type":"start","pid":9999}` + "\n" + `{"type":"end","exit_code":0}` + "\n"
		short := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(lines), lines)
		addr := loadtest.Listen(t, func(c net.Conn) {
			in := bufio.NewReader(c)
			first, err := in.Peek(16)
			if err != nil {
				return
			}
			if strings.HasPrefix(string(first), "POST /commands") {
				loadtest.ServeStarts(buffered{c, in}, short)
				return
			}
			g.Serve(buffered{c, in})
		})
		p := loadtest.Plan(t, addr, loadtest.Endless, func(p *load.Plan) {
			alias := p.Classes[0].Dialect
			alias.Protocol = load.ProtocolNDJSON
			p.Streams, p.Duration = 4, 200*time.Millisecond
			p.Classes = []load.Class{
				{Name: "held", Share: 3, Dialect: p.Classes[0].Dialect, Check: p.Classes[0].Check, Endless: true},
				{Name: "short", Share: 1, Dialect: alias},
			}
		})
		c := loadtest.Drive(t.Context(), t, e, p)
		all := c.Outcomes()
		if all[bundle.StreamKilled] < 3 || all[bundle.StreamOK] < 1 || all.Failed() > 0 {
			t.Errorf("%v, %q", all, c.Messages())
		}
	})
}

// buffered is a connection whose first bytes are in a buffer.
type buffered struct {
	net.Conn
	in *bufio.Reader
}

func (b buffered) Read(p []byte) (int, error) { return b.in.Read(p) }
