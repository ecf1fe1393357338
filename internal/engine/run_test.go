package engine

import (
	"strings"
	"testing"
	"time"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

func TestARunIsRepeatedAsIterationsOfOneObservation(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script     string
		iterations int
		note       string
	}{
		"one":                        {"steps: [{list: {as: l}}]", 3, ""},
		"several":                    {"repeat: {times: 2, parallel: 2}\nsteps: [{list: {as: l}}]", 6, ""},
		"counters that grow with it": {"needs: [metrics.prometheus]\nexclusive: true\nsteps: [{start: {as: p, sh: exit 0, wait: end}}]\nexpect: {metrics: {started: +n, active: +0}}", 3, ""},
		"counters that do not":       {"needs: [metrics.prometheus]\nexclusive: true\nsteps: [{start: {as: p, sh: exit 0, wait: end}}]\nexpect: {metrics: {started: +1}}", 1, "run once and not 3 times"},
		"iterations that expire":     {"steps: [{start: {as: p, sh: sleep}}, {await: {on: p, done: true, within: 20ms}}]", 3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, newMiniature(t).URL)
			b.options.Repeat = 3
			o := b.run(tc.script)
			if len(o.Iterations) != tc.iterations {
				t.Errorf("%d iterations, want %d", len(o.Iterations), tc.iterations)
			}
			if notes := strings.Join(o.Dropped, "; "); tc.note == "" && notes != "" || !strings.Contains(notes, tc.note) {
				t.Errorf("dropped %q, want %q in it", notes, tc.note)
			}
		})
	}
}

func TestRepeatingEndsWhenTheObservationIsFull(t *testing.T) {
	b := newBench(t, newMiniature(t).URL)
	in := newInstance(newEnv(b.options), instanceOf(parse(t, "steps: [{list: {as: l}}]")))
	in.again = 1000
	r := newRepeater(in)
	r.room = 20_000
	r.run(t.Context())
	var o bundle.Observation
	r.into(&o)
	if n := len(o.Iterations); n < 2 || n > 20 {
		t.Errorf("%d iterations fit into 20,000 bytes", n)
	}
	if !strings.Contains(o.Stopped, "of 1000 iterations were run, since an observation holds no more") {
		t.Errorf("dropped %q", o.Dropped)
	}
}

func TestNothingBeginsAfterTheBudget(t *testing.T) {
	b := newBench(t, newMiniature(t).URL)
	b.options.Run.Jobs = 1
	b.options.Budget = time.Hour
	b.options.Repeat = 1000
	first := instanceOf(parse(t, "steps: [{list: {as: l}}, {pause: 1ms}]"))
	second := instanceOf(parse(t, "id: test.second\nsteps: [{list: {as: l}}]"))
	started := make(chan *Engine, 1)
	b.options.OnStart = func(scenarios.Instance) { // the budget is spent as soon as the first instance runs
		e := <-started
		e.began = e.began.Add(-2 * time.Hour)
	}
	e := b.start(first, second)
	started <- e
	all := e.Observations()
	if n := len(all[0].Iterations); n != 1 {
		t.Errorf("the instance that had begun has %d iterations, want the one under way", n)
	}
	if s := all[1].Skip; s == nil || s.Reason != bundle.SkipBudget {
		t.Errorf("the instance that had not begun: skip %+v", s)
	}
}

func TestTheBudgetEndsWhatRuns(t *testing.T) {
	gw := newMiniature(t)
	b := newBench(t, gw.URL)
	b.options.Budget = time.Hour
	started := make(chan struct{})
	b.options.OnStart = func(scenarios.Instance) { close(started) }
	e := b.start(instanceOf(parse(t, "deadline: 1h\nsteps: [{start: {as: p, sh: sleep}}, {await: {on: p, done: true}}]")))
	<-started
	<-gw.spawned
	e.budget.Reset(0)
	o := e.Observations()[0]
	if !o.Interrupted || !o.CutByBudget || len(o.Iterations) != 1 {
		t.Errorf("interrupted %v, by the budget %v, %d iterations", o.Interrupted, o.CutByBudget, len(o.Iterations))
	}
}

func TestTheDriversOwnLagIsRecorded(t *testing.T) {
	t.Parallel()
	const held = 60 * time.Millisecond
	gw := newMiniature(t)
	b := newBench(t, gw.URL)
	slow := instanceOf(parse(t, "deadline: 60s\nsteps: [{start: {as: p, sh: sleep}}, {await: {on: p, done: true}}]"))
	began := time.Now()
	e := b.start(slow)
	pid := <-gw.spawned // of a running instance, which ends with its process
	e.holdUp(held)
	gw.end(pid, 0, "")
	o := e.Wait(slow)
	if lag := time.Duration(o.Lag); lag < held-lagEvery || lag > time.Since(began) {
		t.Errorf("a sampler that was held up for %v recorded a lag of %v", held, lag)
	}
	if e.Lag() < held-lagEvery || e.Lag() < time.Duration(o.Lag) {
		t.Errorf("the greatest lag of the run is %v", e.Lag())
	}
}

// A scenario has only the part of the sampler's delay that fell into its own time.
func TestALagIsThatOfTheTimeInWhichAScenarioRan(t *testing.T) {
	const ms = time.Millisecond
	for name, tc := range map[string]struct{ tick, entered, now, before, want time.Duration }{
		"all of it":                           {100 * ms, 0, 150 * ms, 0, 50 * ms},
		"it began while the machine stood":    {100 * ms, 130 * ms, 150 * ms, 0, 20 * ms},
		"the sampler is not due yet":          {100 * ms, 0, 95 * ms, 0, 0},
		"it began before the sampler was due": {100 * ms, 95 * ms, 97 * ms, 0, 0},
		"it was more before":                  {100 * ms, 0, 150 * ms, 70 * ms, 70 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			zero := time.Now()
			e := &Engine{tick: zero.Add(tc.tick), done: make(chan struct{})}
			close(e.done)
			s := &slot{entered: zero.Add(tc.entered), lag: tc.before}
			e.noteLag(s, zero.Add(tc.now))
			if s.lag != tc.want || e.Lag() != tc.want {
				t.Errorf("got %v, and %v for the run; want %v", s.lag, e.Lag(), tc.want)
			}
		})
	}
}

func TestScenariosRunBesideEachOther(t *testing.T) {
	t.Parallel()
	const n = 8
	gw := newMiniature(t)
	b := newBench(t, gw.URL)
	b.options.Run.Jobs = n
	is := numbered(t, n, "deadline: 60s\nsteps: [{start: {as: p, sh: sleep, wait: end}}]\nexpect: {p: {end: {code: 0}}}")
	e := b.start(is...)
	var pids []uint32
	for range n { // no instance ends before all have begun
		pids = append(pids, <-gw.spawned)
	}
	for _, pid := range pids {
		gw.end(pid, 0, "")
	}
	for _, o := range e.Observations() {
		if p := o.Iterations[0].Exchange("p"); p.Outcome != bundle.OutcomeComplete || len(o.Beside) != n-1 {
			t.Errorf("%s ended %q beside %v", o.Scenario, p.Outcome, o.Beside)
		}
	}
}

// holdUp blocks the sampler, as an overloaded machine does.
func (e *Engine) holdUp(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}
