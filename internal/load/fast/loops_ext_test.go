//go:build linux && (amd64 || arm64)

package fast_test

import (
	"fmt"
	"maps"
	"runtime"
	"testing"
	"time"

	"assay/internal/load"
	"assay/internal/load/fast"
	"assay/internal/load/loadtest"
	"assay/internal/record/bundle"
)

// mixed is a plan whose streams end by themselves, are killed or hung up on, think, or get input.
func mixed(p *load.Plan) {
	p.Count, p.Streams, p.Seed = 60, 12, 5
	p.Limits = load.DefaultLimits(1)
	ticks, short, input := p.Classes[0].Dialect, p.Classes[0].Dialect, p.Classes[0].Dialect
	ticks.Command = "i=0; while :; do echo $i; i=$((i+1)); sleep 0.02; done"
	input.Command, input.Stdin = "cat", input.Protocol != load.ProtocolWS
	p.Classes = []load.Class{
		{Name: "ticks", Share: 2, Dialect: ticks, Check: load.Check{Kind: load.CheckSequence}, Endless: true, KillShare: 0.5, DisconnectShare: 0.5, Within: 50 * time.Millisecond},
		{Name: "short", Share: 1, Dialect: short, Check: load.Check{Kind: load.CheckSame}, Think: 5 * time.Millisecond},
		{Name: "input", Share: 1, Dialect: input, Check: load.Check{Kind: load.CheckSequence, First: 1, Lines: 2}, Stdin: []byte("1\n2\n")},
	}
}

// Each stream of a plan has the same command and the same end for any number of loops. Every
// loop measures its own delay, and takes the kernel's time of arrival.
func TestTheStreamsAreTheSameForAnyNumberOfLoops(t *testing.T) {
	for _, version := range []string{load.HTTP11, load.H2C, overTLS, load.H2TLS} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			addr, way := served(t, version)
			ends := func(loops int) (map[int64]string, *loadtest.Tally) {
				q := loadtest.Drive(t.Context(), t, fast.Engine{Loops: loops}, loadtest.Plan(t, addr, way, mixed))
				all := map[int64]string{}
				for _, r := range q.Results {
					if r.Outcome.Failed() || all[r.Stream] != "" {
						t.Errorf("%d loops: %+v, and before %q", loops, r, all[r.Stream])
					}
					all[r.Stream] = fmt.Sprintf("%v %d %v", r.Outcome, r.Fate, r.Disconnected)
				}
				return all, q
			}
			one, first := ends(1)
			if len(one) != 60 {
				t.Fatalf("%d streams", len(one))
			}
			for _, loops := range []int{2, 7} {
				all, q := ends(loops)
				if !maps.Equal(all, one) {
					t.Errorf("%d loops: %v, want %v", loops, all, one)
				}
				if q.Opened != 60 || q.Kills != first.Kills || len(q.Values[load.StartLag]) != 60 || len(q.Values[load.DriverLag]) == 0 || len(q.Values[load.FirstEvent]) != 60 {
					t.Errorf("%d loops: %d opened, %d kills, %d start lags, %d lags, %d first events", loops, q.Opened, q.Kills, len(q.Values[load.StartLag]), len(q.Values[load.DriverLag]), len(q.Values[load.FirstEvent]))
				}
				if q.Blind > len(q.Values[load.DriverLag])/2 {
					t.Errorf("%d loops: %d of %d reads have no time of arrival", loops, q.Blind, len(q.Values[load.DriverLag]))
				}
			}
		})
	}
}

// Streams that start at a rate are shared evenly, and no loop opens one twice.
func TestLoopsShareARate(t *testing.T) {
	t.Parallel()
	addr, way := served(t, load.H2C)
	q := loadtest.Drive(t.Context(), t, fast.Engine{Loops: 3}, loadtest.Plan(t, addr, way, func(p *load.Plan) {
		p.Rate, p.Duration, p.Streams, p.Count = 200, 500*time.Millisecond, 0, 0
		p.Limits = load.DefaultLimits(1)
	}))
	seen := map[int64]bool{}
	for _, r := range q.Results {
		if seen[r.Stream] || r.Outcome != bundle.StreamOK {
			t.Errorf("%+v", r)
		}
		seen[r.Stream] = true
	}
	if len(seen) != 100 {
		t.Errorf("%d streams, want 100", len(seen))
	}
}

func TestTheNumberOfLoopsFollowsTheWork(t *testing.T) {
	cores := runtime.GOMAXPROCS(4)
	defer runtime.GOMAXPROCS(cores)
	for name, tt := range map[string]struct {
		engine fast.Engine
		plan   load.Plan
		want   int
	}{
		"few streams":                     {fast.Engine{}, load.Plan{Schedule: load.Schedule{Streams: 9_999}}, 1},
		"many streams":                    {fast.Engine{}, load.Plan{Schedule: load.Schedule{Streams: 20_000}}, 2},
		"no more than processors":         {fast.Engine{}, load.Plan{Schedule: load.Schedule{Streams: 1_000_000}}, 4},
		"many in all, few at a time":      {fast.Engine{}, load.Plan{Schedule: load.Schedule{Streams: 64, Count: 1_000_000}}, 1},
		"a low rate":                      {fast.Engine{}, load.Plan{Schedule: load.Schedule{Rate: 500, Duration: time.Hour}}, 1},
		"a high rate":                     {fast.Engine{}, load.Plan{Schedule: load.Schedule{Rate: 30_000, Duration: time.Hour}}, 3},
		"a stage with a high rate":        {fast.Engine{}, load.Plan{Schedule: load.Schedule{Stages: []load.Stage{{From: 1, To: 2, Duration: time.Second}, {From: 2, To: 30_000, Duration: time.Second}}}}, 3},
		"shared by processes":             {fast.Engine{}, load.Plan{Schedule: load.Schedule{Streams: 100_000}, Parts: 3}, 1},
		"shared by two processes":         {fast.Engine{}, load.Plan{Schedule: load.Schedule{Streams: 100_000}, Parts: 2}, 2},
		"as many as asked for":            {fast.Engine{Loops: 7}, load.Plan{Schedule: load.Schedule{Streams: 64}}, 7},
		"not more than there are streams": {fast.Engine{Loops: 7}, load.Plan{Schedule: load.Schedule{Streams: 3}}, 3},
		"not more than are open":          {fast.Engine{Loops: 7}, load.Plan{Schedule: load.Schedule{Streams: 2, Count: 100}}, 2},
		"for no stream":                   {fast.Engine{Loops: 7}, load.Plan{Schedule: load.Schedule{Rate: 1, Duration: time.Nanosecond}}, 1},
	} {
		if got := tt.engine.EventLoops(&tt.plan); got != tt.want {
			t.Errorf("%s: %d loops, want %d", name, got, tt.want)
		}
	}
}
