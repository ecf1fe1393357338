package engine

import (
	"context"
	"sync"
	"testing"
	"time"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// suspecting is a bench whose scenarios raise suspicions in some of their runs.
type suspecting struct {
	*bench
	mu   sync.Mutex
	runs map[string]string // an x for each run of a scenario that raises its suspicions
	of   map[string][]string
	done []string
}

func newSuspecting(t *testing.T) *suspecting {
	t.Helper()
	b := &suspecting{bench: newBench(t, newMiniature(t).URL), runs: map[string]string{}, of: map[string][]string{}}
	b.options.Suspicions = func(i scenarios.Instance, _ *bundle.Observation) []string {
		b.mu.Lock()
		defer b.mu.Unlock()
		id := i.Scenario.ID
		now, rest := b.runs[id], ""
		if now != "" {
			now, rest = now[:1], now[1:]
		}
		if b.runs[id] = rest; now != "x" {
			return nil
		}
		return b.of[id]
	}
	b.options.OnDone = func(i scenarios.Instance, _ *bundle.Observation) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.done = append(b.done, i.Scenario.ID)
	}
	return b
}

// script returns an instance that raises suspicions in some of its runs.
func (b *suspecting) script(id, runs string, of ...string) scenarios.Instance {
	b.runs[id], b.of[id] = runs, of
	return instanceOf(parse(b.t, "id: "+id+"\nsteps: [{list: {as: send}}]"))
}

func TestWhatRaisesASuspicionRunsAgainAlone(t *testing.T) {
	t.Parallel()
	b := newSuspecting(t)
	all := []scenarios.Instance{
		b.script("test.once", "x", "stalled"), b.script("test.third", "x.x", "late"), b.script("test.always", "xx", "held"),
		b.script("test.like", "x", "held"), b.script("test.more", "xx", "held", "other"), b.script("test.well", ""),
	}
	e := b.start(all...)
	got := e.Observations()
	for i, want := range []bundle.Confirmation{
		{Tries: mostTries}, {Tries: 2}, {Tries: 1}, {Like: "test.always"}, {Tries: 1},
	} {
		c := got[i].Confirm
		if c == nil || c.Tries != want.Tries || c.Like != want.Like || c.Untried != "" || (c.Alone != nil) != (want.Tries > 0) {
			t.Errorf("%s: %+v, want %+v", got[i].Scenario, c, want)
			continue
		}
		if a := c.Alone; a != nil && (a.Scenario != got[i].Scenario || len(a.Beside) > 0 || len(a.Iterations) != 1 || a.Confirm != nil || !got[5].Ended.Before(a.Started)) {
			t.Errorf("%s: alone it is %+v", got[i].Scenario, a)
		}
	}
	if got[5].Confirm != nil || b.done[0] != "test.well" || len(b.done) != len(all) {
		t.Errorf("what raised no suspicion has %+v; reported in the order %v", got[5].Confirm, b.done)
	}
}

// The time of the second pass is not spent by one that waits for minutes, where another shows the same in seconds.
func TestTheSecondPassTriesTheShortestWaitFirst(t *testing.T) {
	t.Parallel()
	b := newSuspecting(t)
	long, short := b.script("test.a", "x", "held"), b.script("test.b", "xx", "held")
	long.Scenario.Deadline = parse(t, "deadline: 5m\nsteps: [{list: {as: send}}]").Deadline
	got := b.start(long, short).Observations()
	if c := got[0].Confirm; c == nil || c.Like != "test.b" {
		t.Errorf("%+v, want it not tried, but like test.b", c)
	}
}

func TestASuspicionIsNotTriedWithoutTimeOrTarget(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		prepare func(*suspecting, *Engine, context.CancelFunc)
		budget  time.Duration
		want    string
	}{
		"no time":     {budget: 1, want: "the time to look again was spent"},
		"no target":   {prepare: func(_ *suspecting, e *Engine, _ context.CancelFunc) { e.gone.Store(true) }, want: "the target was gone"},
		"interrupted": {prepare: func(_ *suspecting, _ *Engine, cancel context.CancelFunc) { cancel() }, want: "the run was interrupted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newSuspecting(t)
			b.options.ConfirmBudget = tt.budget
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var e *Engine
			started := make(chan struct{})
			suspicions := b.options.Suspicions
			b.options.Suspicions = func(i scenarios.Instance, o *bundle.Observation) []string {
				if <-started; tt.prepare != nil {
					defer tt.prepare(b, e, cancel)
				}
				return suspicions(i, o)
			}
			b.options.Run.Jobs = 1
			e = Start(ctx, b.options, []scenarios.Instance{b.script("test.one", "xx", "stalled"), b.script("test.two", "xx", "held")})
			close(started)
			c := e.Observations()[1].Confirm // the first one has the time of an iteration in any case
			if tt.budget == 0 {
				c = e.Observations()[0].Confirm
			}
			if c == nil || c.Untried != tt.want || c.Alone != nil {
				t.Errorf("%+v, want %q", c, tt.want)
			}
		})
	}
}

// A destructive scenario is not run twice.
func TestTheSecondPassLeavesOutDestructiveScenarios(t *testing.T) {
	t.Parallel()
	b := newSuspecting(t)
	b.options.Destructive = true
	one := b.script("test.kills", "xx", "stalled")
	one.Scenario.Destructive = true
	if c := b.start(one).Observations()[0].Confirm; c != nil {
		t.Errorf("it was tried again: %+v", c)
	}
}

func TestWhatRanIsRunOnceMoreAfterTheRun(t *testing.T) {
	t.Parallel()
	b := newSuspecting(t)
	one, alone := b.script("test.one", ""), b.script("test.alone", "")
	alone.Scenario.Exclusive = true
	e := b.start(one, alone)
	first := e.Observations()
	again := e.Again(t.Context(), []scenarios.Instance{alone, one})
	for i, o := range again {
		before := first[1-i]
		if o == nil || o.Scenario != before.Scenario || len(o.Iterations) != 1 || !before.Ended.Before(o.Started) {
			t.Errorf("%s has run again as %+v", before.Scenario, o)
		}
	}
	if again[0] != nil && (len(again[0].Beside) > 0 || again[1] != nil && !again[1].Ended.Before(again[0].Started)) {
		t.Errorf("test.alone ran beside %v", again[0].Beside)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if o := e.Again(over, []scenarios.Instance{one})[0]; o != nil {
		t.Errorf("it ran when the time was over: %+v", o)
	}
	e.gone.Store(true)
	if o := e.Again(t.Context(), []scenarios.Instance{one})[0]; o != nil {
		t.Errorf("it ran without a target: %+v", o)
	}
}
