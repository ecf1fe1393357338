package load

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"assay/internal/target"
)

// patience is the longest duration of a run that waits for no deadline.
const patience = 50 * time.Second

// listen serves every connection with serve. When the test ends, it waits for all of them.
func listen(t *testing.T, serve func(c net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				serve(c)
				_ = c.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	return l.Addr().String()
}

// testPlan returns a plan for one stream of three numbered lines.
func testPlan(t *testing.T, addr string) *Plan {
	t.Helper()
	tg, err := target.New(target.Options{URL: "http://" + addr})
	if err != nil {
		t.Fatal(err)
	}
	return &Plan{
		Addr: addr, HTTP: HTTP11, Streams: 1, Count: 1, Limits: DefaultLimits(0, 10),
		Check:   Check{Kind: CheckSequence, First: 1, Lines: 3},
		Dialect: Dialect{Protocol: ProtocolConnect, Codec: CodecJSON, Target: tg, Command: "seq 1 3", Run: "test"},
	}
}

// stub is an engine whose streams end well at once.
type stub struct{}

var (
	_ Engine = stub{}
	_ Sizer  = stub{}
)

func (stub) Name() string            { return "stub" }
func (stub) StreamBytes(*Plan) int64 { return 16 << 10 }

func (stub) Run(_ context.Context, p *Plan, s Sink) error {
	for n := range p.Wanted() {
		s.Opening()
		s.Started()
		s.Record(0, p.Stream(int64(n)).Class, FirstEvent, time.Millisecond)
		s.Ended(Result{Stream: int64(n), Opened: true, Fate: EndedOK})
	}
	return nil
}

// nowhere is a sink that ignores everything.
type nowhere struct{}

var _ Sink = nowhere{}

func (nowhere) Record(int, int, Metric, time.Duration) {}
func (nowhere) Opening()                               {}
func (nowhere) Started()                               {}
func (nowhere) Output(int, int, int)                   {}
func (nowhere) HungUp()                                {}
func (nowhere) Killing()                               {}
func (nowhere) Ended(Result)                           {}
func (nowhere) Coalesced(int)                          {}
func (nowhere) Unstamped(int)                          {}
func (nowhere) ClockStepped(time.Duration)             {}
func (nowhere) BackedOff()                             {}
func (nowhere) Swept(int)                              {}
