package loadtest

import (
	"context"
	"testing"
	"time"

	"assay/internal/load"
	"assay/internal/target"
)

const (
	// Soon is a deadline that a test waits for, when the peer sends nothing else.
	Soon = 300 * time.Millisecond
	// Later is a deadline that a test waits for, when the peer sends something before.
	Later = 3 * time.Second
	// Patience is the longest duration of a run that reaches no deadline of Plan.
	Patience = 50 * time.Second
)

// Plan returns a plan for one stream of three numbered lines, by Connect in JSON over
// HTTP/1.1. Its deadlines are long enough for any machine; a test of a deadline makes only
// that one short.
func Plan(tb testing.TB, addr string, change ...func(*load.Plan)) *load.Plan {
	tb.Helper()
	tg, err := target.New(target.Options{URL: "http://" + addr})
	if err != nil {
		tb.Fatal(err)
	}
	p := &load.Plan{
		Addr: addr, HTTP: load.HTTP11, Schedule: load.Schedule{Streams: 1, Count: 1},
		Limits: load.Limits{
			Connect: time.Minute, FirstEvent: time.Minute, End: time.Minute, Grace: time.Minute, KillAll: 5 * time.Minute,
		},
		Classes: []load.Class{{
			Share: 1, Silence: time.Minute, Check: load.Check{Kind: load.CheckSequence, First: 1, Lines: 3},
			Dialect: load.Dialect{Protocol: load.ProtocolConnect, Codec: load.CodecJSON, Target: tg, Command: "seq 1 3", Run: "test"},
		}},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

// Endless makes the streams of a plan tick until they are killed, after 100 ms.
func Endless(p *load.Plan) {
	p.Count, p.Duration = 0, 100*time.Millisecond
	p.Classes[0].Endless, p.Classes[0].Check = true, load.Check{Kind: load.CheckSequence}
}

// Drive runs an engine with a new tally and returns the tally.
func Drive(ctx context.Context, tb testing.TB, e load.Engine, p *load.Plan) *Tally {
	tb.Helper()
	return DriveTo(ctx, tb, NewTally(), e, p)
}

// DriveTo runs an engine with a tally.
func DriveTo(ctx context.Context, tb testing.TB, c *Tally, e load.Engine, p *load.Plan) *Tally {
	tb.Helper()
	begun := time.Now()
	if err := e.Run(ctx, p, c); err != nil {
		tb.Errorf("%s: %v", e.Name(), err)
	}
	if took := time.Since(begun); took > Patience {
		tb.Errorf("%s: it took %v", e.Name(), took)
	}
	return c
}
