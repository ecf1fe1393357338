//go:build linux && (amd64 || arm64)

package fast_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"assay/fakes/zoo"
	"assay/internal/bundle"
	"assay/internal/load"
	"assay/internal/load/fast"
	"assay/internal/load/loadtest"
	"assay/internal/load/portable"
	"assay/internal/wire"
)

// The frames are damaged at random places, and sent in two pieces. Both engines judge them
// alike.
func TestBothEnginesJudgeBrokenFramesAlike(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(3, 4))
	good := loadtest.Out("1\n") + loadtest.Frame(wire.WSPing, "p") + loadtest.Out("2\n3\n") + loadtest.Exit(0) + loadtest.CloseWS(1000)
	for n := range 120 {
		text := []byte(good)
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
		cut := draw.IntN(len(text) + 1)
		addr := loadtest.Attach(t, func(c *loadtest.Socket) {
			c.Send(string(text[:cut]))
			c.Send(string(text[cut:]))
			if tcp, ok := c.Conn.(*net.TCPConn); ok {
				_ = tcp.CloseWrite() // closing with unread bytes would reset the connection
			}
			c.Drain()
		})
		slow, quick := together(t, func() *load.Plan { return loadtest.Plan(t, addr, loadtest.OverWS) })
		if same(t, slow, quick); t.Failed() {
			t.Fatalf("frames %d: %q", n, text)
		}
	}
}

// The mix over WebSocket has kills, hang-ups, think time and input.
func TestBothEnginesKillAndHangUpWebSockets(t *testing.T) {
	for _, e := range []load.Engine{portable.Engine{}, fast.Engine{}} {
		t.Run(e.Name(), func(t *testing.T) {
			t.Parallel()
			gateway, err := zoo.Start(t.Context(), zoo.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer gateway.Close()
			plan := loadtest.Plan(t, strings.TrimPrefix(gateway.URL(), "http://"), loadtest.OverWS, func(p *load.Plan) {
				p.Count, p.Streams, p.Seed = 40, 8, 5
				p.Limits = load.DefaultLimits(1)
				ticks, short, input := p.Classes[0].Dialect, p.Classes[0].Dialect, p.Classes[0].Dialect
				ticks.Command = "i=0; while :; do echo $i; i=$((i+1)); sleep 0.02; done"
				input.Command = "cat"
				p.Classes = []load.Class{
					{Name: "ticks", Share: 2, Dialect: ticks, Check: load.Check{Kind: load.CheckSequence}, Endless: true, KillShare: 0.5, DisconnectShare: 0.5, Within: 50 * time.Millisecond},
					{Name: "short", Share: 1, Dialect: short, Check: load.Check{Kind: load.CheckSame}, Think: 5 * time.Millisecond},
					{Name: "input", Share: 1, Dialect: input, Check: load.Check{Kind: load.CheckSequence, First: 1, Lines: 2}, Stdin: []byte("1\n2\n")},
				}
			})
			q := loadtest.Drive(t.Context(), t, e, plan)
			kinds := map[string]int{}
			for _, r := range q.Results {
				kinds[fmt.Sprintf("%v %d %v", r.Outcome, r.Fate, r.Disconnected)]++
				if r.Outcome.Failed() || r.Outcome == bundle.StreamCancelled && !r.Disconnected || r.Message != "" {
					t.Errorf("%+v", r)
				}
			}
			ok := kinds[fmt.Sprintf("ok %d false", load.EndedOK)]
			killed := kinds[fmt.Sprintf("killed %d false", load.FateKilled)]
			gone := kinds[fmt.Sprintf("cancelled %d true", load.EndedHungUp)] + kinds[fmt.Sprintf("cancelled %d true", load.FateKilled)]
			if ok+killed+gone != 40 || ok < 18 || ok > 22 || killed < 3 || gone < 3 {
				t.Errorf("%v", kinds)
			}
		})
	}
}

// What does not fit into the buffers of a socket is written when there is room again.
func TestInputThatDoesNotFitIsWrittenLater(t *testing.T) {
	t.Parallel()
	const size = 8 << 20 // more than the buffers of both ends, of which that of the gateway is small
	got, last := make(chan int, 1), make(chan wire.WSOpcode, 1)
	addr := loadtest.Attach(t, func(c *loadtest.Socket) {
		_ = c.Conn.(*net.TCPConn).SetReadBuffer(256 << 10)
		n := 0
		for {
			op, p, ok := c.Next()
			if !ok || op == wire.WSText {
				break
			}
			n += len(p)
		}
		got <- n
		_, _ = io.WriteString(c.Conn, loadtest.Exit(0)+loadtest.CloseWS(1000))
		op, _, _ := c.Next()
		last <- op
	})
	c := loadtest.Drive(t.Context(), t, fast.Engine{}, loadtest.Plan(t, addr, loadtest.OverWS, func(p *load.Plan) {
		p.Classes[0].Stdin, p.Classes[0].Check = make([]byte, size), load.Check{}
	}))
	c.Want(t, map[bundle.StreamOutcome]int64{bundle.StreamOK: 1})
	if n := <-got; n != size {
		t.Errorf("%d bytes of input arrived, want %d", n, size)
	}
	if op := <-last; op != wire.WSClose {
		t.Errorf("a %v follows the input, want close", op)
	}
}
