package loadtest

import (
	"context"
	"testing"
	"time"

	"assay/internal/load"
	"assay/internal/target"
)

const (
	// Soon is a deadline that is to be over, and behind which nothing else comes.
	Soon = 300 * time.Millisecond
	// Later is one before which the other side has still something to say.
	Later = 3 * time.Second
	// Patience is what a run may take in which no deadline of Plan is over.
	Patience = 50 * time.Second
)

// Plan is a plan for one stream of three numbered lines, by Connect in JSON over
// HTTP/1.1. No machine is too slow for its deadlines: a test of one of them makes that
// one short, and no other.
func Plan(tb testing.TB, addr string, change ...func(*load.Plan)) *load.Plan {
	tb.Helper()
	tg, err := target.New(target.Options{URL: "http://" + addr})
	if err != nil {
		tb.Fatal(err)
	}
	p := &load.Plan{
		Addr: addr, HTTP: load.HTTP11, Streams: 1, Count: 1,
		Limits: load.Limits{
			Connect: time.Minute, FirstEvent: time.Minute, Silence: time.Minute,
			End: time.Minute, Grace: time.Minute, Wind: 5 * time.Minute,
		},
		Check:   load.Check{Kind: load.CheckSequence, First: 1, Lines: 3},
		Dialect: load.Dialect{Protocol: load.ProtocolConnect, Codec: load.CodecJSON, Target: tg, Command: "seq 1 3", Run: "test"},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

// Endless lets the streams of a plan tick until they are killed, after a tenth of a second.
func Endless(p *load.Plan) {
	p.Endless, p.Count, p.Duration, p.Check = true, 0, 100*time.Millisecond, load.Check{Kind: load.CheckSequence}
}

// Drive runs an engine and returns what it counted.
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
