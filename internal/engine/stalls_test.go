package engine

import (
	"testing"
	"time"

	"assay/internal/bundle"
	"assay/scenarios"
)

// ofScenario returns a new instance of a scenario.
func ofScenario(id string) *instance { return &instance{s: &scenarios.Scenario{ID: id}} }

func TestAKindOfStallIsEstablishedByThreeScenarios(t *testing.T) {
	var s vainWaits
	const kind, other = kindStream, kindCall
	for _, id := range []string{"a", "a", "b"} {
		s.put(kind, ofScenario(id))
	}
	if s.established(kind) || s.any() {
		t.Fatal("two scenarios establish it")
	}
	s.put(other, ofScenario("c"))
	if s.established(kind) {
		t.Fatal("a stall of another kind counts")
	}
	s.put(kind, ofScenario("c"))
	if !s.established(kind) || !s.any() || s.established(other) {
		t.Error("three scenarios do not establish it, or establish another kind")
	}
}

// A scenario with many permutations keeps every worker waiting.
func TestAKindOfStallIsEstablishedByTheInstancesOfOneScenario(t *testing.T) {
	var s vainWaits
	const kind = kindStream
	one := ofScenario("a")
	for range instancesToHurry - 1 {
		s.put(kind, one)
		s.put(kind, ofScenario("a"))
		if s.established(kind) && len(s.vain[kind].instances) < instancesToHurry {
			t.Fatal("fewer instances establish it")
		}
	}
	if !s.established(kind) {
		t.Errorf("%d instances do not establish it", instancesToHurry)
	}
}

// Cleaning up after each scenario of a target that answers no kill must not take its full time.
func TestACleanUpTakesLessTimeOnceOthersWereInVain(t *testing.T) {
	b := newBench(t, "http://127.0.0.1:1")
	b.options.Run.Calibration = bundle.Calibration{RTT: 1e5, Spawn: 1e6}
	e := newEnv(b.options)
	before := e.cleanupBound()
	for _, id := range []string{"a", "b", "c"} {
		e.stalls.put(opCleanup, ofScenario(id))
	}
	if after := e.cleanupBound(); after >= before/2 {
		t.Errorf("it takes %v, and %v before", after, before)
	}
}

// A clean-up consists of unary calls.
func TestACleanUpTakesLessTimeOnceUnaryCallsWereInVain(t *testing.T) {
	b := newBench(t, "http://127.0.0.1:1")
	e := newEnv(b.options)
	before := e.cleanupBound()
	for _, id := range []string{"a", "b", "c"} {
		e.stalls.put(kindCall, ofScenario(id))
	}
	if after := e.cleanupBound(); after >= before/2 {
		t.Errorf("it takes %v, and %v before", after, before)
	}
}

func TestAScrapeTakesLessTimeOnceOthersWereInVain(t *testing.T) {
	scenario := instanceOf(parse(t, "steps: [{list: {as: l}}]"))
	newOf := func(b *bench) *instance { return newInstance(newEnv(b.options), scenario) }
	b := newBench(t, "http://127.0.0.1:1")
	usual := newOf(b).scrapeBound()

	one := newOf(b)
	one.unscraped.Store(true)
	if got := one.scrapeBound(); got >= usual/2 {
		t.Errorf("the second of an instance takes %v, and %v usually", got, usual)
	}
	if got := newInstance(one.env, scenario).scrapeBound(); got != usual {
		t.Errorf("that of another instance takes %v, want %v", got, usual)
	}
	for _, id := range []string{"a", "b", "c"} {
		one.stalls.put(opScrape, ofScenario(id))
	}
	if got := newInstance(one.env, scenario).scrapeBound(); got >= usual/2 {
		t.Errorf("after three scenarios it takes %v, and %v usually", got, usual)
	}
}

func TestTheKindOfAWaitHasNoDetailsOfTheScript(t *testing.T) {
	start := &handle{rpc: "process.Process/Start"}
	one, two := &waiting{what: `output "ready\n"`, handle: start}, &waiting{what: `output "x"`, handle: start}
	if kindOf(one) != kindOf(two) {
		t.Errorf("%q and %q differ", kindOf(one), kindOf(two))
	}
	list, signal := &waiting{handle: &handle{rpc: "process.Process/List"}}, &waiting{handle: &handle{rpc: "process.Process/SendSignal"}}
	if kindOf(list) != kindOf(signal) || kindOf(list) == kindOf(one) {
		t.Errorf("the kinds are %q and %q for calls, %q for streams", kindOf(list), kindOf(signal), kindOf(one))
	}
	if frame := (&waiting{what: "frame PING-ACK"}); kindOf(frame) == kindOf(&waiting{what: "closed"}) {
		t.Errorf("two waits for a connection are both of the kind %q", kindOf(frame))
	}
}

// A run has only so much time for what waits in vain; what is well runs to its end.
func TestWhatWaitsInVainRunsOnlyForSomeTime(t *testing.T) {
	const calls, streams = "steps: [{list: {as: send}}]", "steps: [{start: {as: send, sh: x}}]"
	for name, tc := range map[string]struct {
		left   time.Duration
		vain   string // kind that others waited for
		script string
		want   bool
	}{
		"before the time":       {time.Hour, kindCall, calls, false},
		"after it":              {-time.Second, kindCall, calls, true},
		"another kind":          {-time.Second, kindCall, streams, false},
		"streams":               {-time.Second, kindStream, streams, true},
		"nothing is in vain":    {-time.Second, "", streams, false},
		"a run without a limit": {0, kindStream, streams, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(newBench(t, "http://127.0.0.1:1").options)
			if tc.left != 0 {
				e.lateUntil = time.Now().Add(tc.left)
			}
			for _, id := range []string{"a", "b", "c"} {
				e.stalls.put(tc.vain, ofScenario(id))
			}
			skip := newInstance(e, instanceOf(parse(t, tc.script))).tooLong()
			if (skip != nil) != tc.want || skip != nil && skip.Reason != bundle.SkipStalled {
				t.Errorf("skip: %+v", skip)
			}
		})
	}
}

// After the time of a run for what waits in vain, the other waits of a late target are short too.
func TestALateTargetIsWaitedForBrieflyInTheEnd(t *testing.T) {
	b := newBench(t, "http://127.0.0.1:1")
	b.options.LateBudget = time.Nanosecond
	e := newEnv(b.options)
	it := &iteration{in: newInstance(e, instanceOf(parse(t, "steps: [{list: {as: send}}]"))), trail: &trail{limit: defaultDeadline}}
	w := waiting{what: "the head"}
	if got := it.patience(&w); got != defaultDeadline {
		t.Errorf("%v for a target that is not late", got)
	}
	for _, id := range []string{"a", "b", "c"} {
		e.stalls.put(kindStream, ofScenario(id))
	}
	if got := it.patience(&w); got >= defaultDeadline/2 {
		t.Errorf("%v for a late one", got)
	}
	e.lateUntil = time.Now().Add(time.Hour)
	if got := it.patience(&w); got != defaultDeadline {
		t.Errorf("%v before the time is over", got)
	}
}
