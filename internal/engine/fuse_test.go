package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assay/internal/bundle"
	"assay/internal/envd/call"
	"assay/internal/testkit"
	"assay/scenarios"
)

// numbered returns n scenarios with the same text.
func numbered(t *testing.T, n int, text string) []scenarios.Instance {
	t.Helper()
	all := make([]scenarios.Instance, n)
	for i := range all {
		all[i] = instanceOf(parse(t, fmt.Sprintf("id: test.number-%d\n%s", i, text)))
	}
	return all
}

const stalls = "deadline: 150ms\nsteps: [{start: {as: p, sh: sleep}}, {await: {on: p, event: end}}]"

func TestATargetThatEndsNothingIsLeft(t *testing.T) {
	t.Parallel()
	b := newBench(t, newMiniature(t).URL)
	b.options.Run.Jobs = 1
	is := append(numbered(t, blowAfter+2, stalls), instanceOf(parse(t, "id: test.list\nsteps: [{list: {as: l}}]")))
	all := b.start(is...).Observations()
	for i, o := range all {
		left := o.Skip != nil && o.Skip.Reason == bundle.SkipStalled
		if want := i == blowAfter || i == blowAfter+1; left != want {
			t.Errorf("%d (%s): skip %+v", i, o.Scenario, o.Skip)
		}
	}
}

// If as many instances are well as stall, the target as a whole is not at fault.
func TestATargetThatEndsSomeOfItsStreamsIsNotLeft(t *testing.T) {
	t.Parallel()
	b := newBench(t, newMiniature(t).URL)
	b.options.Run.Jobs = 1
	is := numbered(t, 2*blowAfter+2, "exclusive: true\n"+stalls) // in this order
	for i := range is {
		if i%2 == 1 {
			is[i] = instanceOf(parse(t, "id: test.good\nexclusive: true\nsteps: [{start: {as: p, sh: exit 0, wait: end}}]"))
		}
	}
	for i, o := range b.start(is...).Observations() {
		if o.Skip != nil {
			t.Errorf("%d: skip %+v", i, o.Skip)
		}
	}
}

func TestALongDeadlineIsCutShortWhereEverythingStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "http://127.0.0.1:1")
		in := newInstance(newEnv(b.options), instanceOf(parse(t, "deadline: 60s\nsteps: [{start: {as: p, sh: x}}]")))
		began := time.Now()
		ctx, cancel := in.newIteration(0).within(t.Context())
		defer cancel()
		testkit.Advance(25 * time.Second)
		for range hurryAfter {
			in.fuse.put(&instance{axes: in.axes}, &result{late: true, Iteration: bundle.Iteration{Exchanges: []bundle.Exchange{{Op: "start", RPC: call.ProcessStart}}}})
		}
		<-ctx.Done()
		if took := time.Since(began); took > 27*time.Second || !errors.Is(ended(ctx), errExpired) {
			t.Errorf("ended after %v: %v", took, ended(ctx))
		}
	})
}

// A wait that a script limits proves nothing when others cut it: it had less time than the rule allows.
func TestAWaitThatIsCutBeforeItsOwnTimeIsHurried(t *testing.T) {
	for _, hurried := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, "http://127.0.0.1:1")
			in := newInstance(newEnv(b.options), instanceOf(parse(t, "deadline: 60s\nsteps: [{start: {as: p, sh: x}}]")))
			it := in.newIteration(0)
			ctx, cancel := it.within(t.Context())
			defer cancel()
			if hurried {
				for range hurryAfter {
					in.fuse.put(&instance{axes: in.axes}, &result{late: true, Iteration: bundle.Iteration{Exchanges: []bundle.Exchange{{Op: "start", RPC: call.ProcessStart}}}})
				}
			}
			never := make(chan struct{})
			err := it.wait(ctx, waiting{
				what: "x", changed: func() <-chan struct{} { return never }, within: 20 * time.Second, record: true,
				met: func() bool { return false }, over: func() bool { return false },
			})
			if a := it.awaits[0]; !errors.Is(err, errExpired) || it.hurried.Load() != hurried || a.Short || a.Met {
				t.Errorf("hurried %v: %v, %+v", hurried, err, a)
			}
		})
	}
}

func TestAFuseCountsWhatStallsAndNothingElse(t *testing.T) {
	start := func(kinds ...bundle.EventKind) bundle.Exchange {
		x := bundle.Exchange{Op: "start", RPC: call.ProcessStart}
		for _, k := range kinds {
			x.Events = append(x.Events, bundle.Event{Kind: k})
		}
		return x
	}
	for name, tc := range map[string]struct {
		out       result
		exchanges []bundle.Exchange
		want      bool
	}{
		"nothing came":                   {result{late: true}, []bundle.Exchange{start()}, true},
		"no end came":                    {result{late: true}, []bundle.Exchange{start(bundle.EventStart)}, true},
		"one of two ended":               {result{late: true}, []bundle.Exchange{start(), start(bundle.EventEnd)}, true},
		"a response was left unread":     {result{unread: true}, []bundle.Exchange{start(bundle.EventEnd)}, true},
		"it ended in time":               {result{}, []bundle.Exchange{start(bundle.EventEnd)}, false},
		"it failed at once":              {result{expired: true}, []bundle.Exchange{start()}, false},
		"nothing was started":            {result{late: true}, []bundle.Exchange{{Op: "list"}}, false},
		"raw bytes are up to the script": {result{late: true}, []bundle.Exchange{{Op: "raw", Shape: bundle.ShapeStream}}, false},
		"the run was interrupted":        {result{late: true, interrupted: true}, []bundle.Exchange{start()}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var f fuse
			tc.out.Exchanges = tc.exchanges
			for range hurryAfter {
				f.put(new(instance), &tc.out)
			}
			if f.hurries(new(instance)) != tc.want || f.blown(bundle.Axes{}, false) != nil {
				t.Errorf("hurries %v, blown %v; want %v and not yet", f.hurries(new(instance)), f.blown(bundle.Axes{}, false), tc.want)
			}
			one := new(instance)
			for range 2 * blowAfter {
				f.put(one, &tc.out)
			}
			if f.blown(bundle.Axes{}, false) != nil {
				t.Error("one instance alone blew the fuse")
			}
		})
	}
}

func TestWhereEverythingStallsAnIterationHasLessTime(t *testing.T) {
	b := newBench(t, "http://127.0.0.1:1")
	in := newInstance(newEnv(b.options), instanceOf(parse(t, "steps: [{start: {as: p, sh: x}}, {pause: 700ms}]")))
	if got := in.patience(); got != defaultDeadline {
		t.Errorf("at first %v", got)
	}
	for range hurryAfter {
		in.fuse.put(&instance{axes: in.axes}, &result{late: true, Iteration: bundle.Iteration{Exchanges: []bundle.Exchange{{Op: "start", RPC: call.ProcessStart}}}})
	}
	if got := in.patience(); got < leastPatience+700*time.Millisecond || got > 3*time.Second {
		t.Errorf("then %v", got)
	}
}

// Streams that end, but too late, prove less than streams that never do.
func TestStreamsThatAreOnlyLateBlowTheFuseLater(t *testing.T) {
	late := result{late: true, Iteration: bundle.Iteration{Exchanges: []bundle.Exchange{{
		Op: "start", RPC: call.ProcessStart, Events: []bundle.Event{{Kind: bundle.EventEnd}},
	}}}}
	var f fuse
	for i := range lateAfter {
		if f.blown(bundle.Axes{}, false) != nil {
			t.Fatalf("the fuse has blown after %d late instances", i)
		}
		f.put(new(instance), &late)
	}
	if f.blown(bundle.Axes{}, false) == nil {
		t.Errorf("the fuse has not blown after %d late instances", lateAfter)
	}
}

// A wait without progress for the usual time had its time; one that others made shorter had not,
// unless the target is known to be late from a run that gave it its time.
func TestAWaitIsHurriedIfItEndsBeforeTheUsualTime(t *testing.T) {
	for name, c := range map[string]struct {
		vain, known, progress bool
		want                  bool
	}{
		"alone":                               {},
		"others were in vain":                 {vain: true, want: true},
		"others were in vain in a run before": {vain: true, known: true},
		"it still delivers":                   {vain: true, progress: true, want: true},
		"it delivers for too long, alone":     {progress: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, "http://127.0.0.1:1")
				b.options.Hurry = c.known
				in := newInstance(newEnv(b.options), instanceOf(parse(t, "steps: [{start: {as: p, sh: x}}]")))
				if c.vain {
					for _, id := range []string{"a", "b", "c"} {
						in.stalls.put("x", ofScenario(id))
					}
				}
				it := in.newIteration(0)
				w := waiting{what: "x", met: func() bool { return false }, over: func() bool { return false }}
				never := make(chan struct{})
				w.changed = func() <-chan struct{} { return never }
				if c.progress {
					w.since = func() time.Duration { return 0 }
				}
				ctx, cancel := context.WithTimeout(t.Context(), 65*time.Second)
				defer cancel()
				if err := it.wait(ctx, w); !errors.Is(err, errExpired) || it.hurried.Load() != c.want {
					t.Errorf("%v, hurried %v, want %v", err, it.hurried.Load(), c.want)
				}
			})
		})
	}
}

func TestIterationsAreCutOnceMostAreOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "http://127.0.0.1:1")
		e := newEnv(b.options)
		began := time.Now()
		var all []context.Context
		for range hurryAfter {
			it := newInstance(e, instanceOf(parse(t, "deadline: 60s\nsteps: [{start: {as: p, sh: x}}]"))).newIteration(0)
			ctx, cancel := it.within(t.Context())
			defer cancel()
			all = append(all, ctx)
		}
		for _, ctx := range all {
			<-ctx.Done()
		}
		if took := time.Since(began); took > 12*time.Second {
			t.Errorf("they ended after %v", took)
		}
	})
}

// What runs again after a run that was late has less time from its first iteration.
func TestATargetThatIsKnownToBeLateIsHurriedFromTheStart(t *testing.T) {
	b := newBench(t, "http://127.0.0.1:1")
	b.options.Hurry = true
	in := newInstance(newEnv(b.options), instanceOf(parse(t, "steps: [{start: {as: p, sh: x}}]")))
	if got := in.patience(); got >= defaultDeadline/2 || in.fuse.blown(in.axes, false) != nil {
		t.Errorf("it has %v; blown: %v", got, in.fuse.blown(in.axes, false))
	}
}

// A target can be well over HTTP/1.1 and dead over HTTP/2.
func TestADeadWayIsLeftWhereTheOthersAreWell(t *testing.T) {
	out := func(late bool, kinds ...bundle.EventKind) *result {
		x := bundle.Exchange{Op: "start", RPC: call.ProcessStart}
		for _, k := range kinds {
			x.Events = append(x.Events, bundle.Event{Kind: k})
		}
		return &result{late: late, Iteration: bundle.Iteration{Exchanges: []bundle.Exchange{x}}}
	}
	over1 := bundle.Axes{Protocol: "connect", Codec: "json", HTTP: "1.1"}
	over2 := bundle.Axes{Protocol: "connect", Codec: "json", HTTP: "h2c"}
	var f fuse
	for range 3 * blowAfter {
		f.put(&instance{axes: over1}, out(false, bundle.EventEnd))
	}
	for n := range blowAfter {
		if hurries := f.hurries(&instance{axes: over2}); hurries != (n >= hurryAfter) || f.blown(over2, false) != nil {
			t.Fatalf("after %d stalled it hurries: %v, blown: %v", n, hurries, f.blown(over2, false))
		}
		f.put(&instance{axes: over2}, out(true))
	}
	if skip := f.blown(over2, false); skip == nil || !strings.Contains(skip.Detail, "HTTP h2c") {
		t.Errorf("the way is not left: %+v", skip)
	}
	if f.hurries(&instance{axes: over1}) || f.blown(over1, false) != nil {
		t.Error("the other way suffers")
	}
	if !f.hurriesAny() {
		t.Error("the target is not known to be late")
	}
}

// Calls without a process say nothing about streams, but streams that stall are followed by calls that do.
func TestCallsAreCountedApartFromStreams(t *testing.T) {
	var f fuse
	over := bundle.Axes{HTTP: "h2c"}
	for range blowAfter {
		f.put(&instance{axes: over, calls: true}, &result{late: true})
	}
	if skip := f.blown(over, true); skip == nil || !strings.Contains(skip.Detail, "the responses to their calls") {
		t.Errorf("calls are not left: %+v", skip)
	}
	if f.blown(over, false) != nil || f.hurries(&instance{axes: over}) {
		t.Error("streams suffer")
	}

	f = fuse{}
	for range blowAfter {
		f.put(&instance{axes: over}, &result{late: true, Iteration: bundle.Iteration{Exchanges: []bundle.Exchange{{Op: "start", RPC: call.ProcessStart}}}})
	}
	if f.blown(over, true) != nil || !f.hurries(&instance{axes: over, calls: true}) {
		t.Error("calls are left, or have their usual time")
	}
}

func TestCallsThatAreAnsweredAreNotLeft(t *testing.T) {
	var f fuse
	for range blowAfter {
		f.put(&instance{calls: true}, &result{late: true})
		f.put(&instance{calls: true}, &result{expired: true})
	}
	if skip := f.blown(bundle.Axes{}, true); skip != nil {
		t.Errorf("skip %+v", skip)
	}
}

// Streams that were waited for as long as usual prove more than short waits do.
func TestAFewWaitsOfTheUsualTimeHurryAWay(t *testing.T) {
	in := func() *instance { return &instance{axes: bundle.Axes{Codec: "proto"}} }
	waited := &result{late: true, overdue: true, Iteration: bundle.Iteration{Exchanges: []bundle.Exchange{{Op: "start", RPC: call.ProcessStart}}}}
	good := &result{Iteration: bundle.Iteration{Exchanges: []bundle.Exchange{{Op: "start", RPC: call.ProcessStart, Events: []bundle.Event{{Kind: bundle.EventEnd}}}}}}
	for name, tc := range map[string]struct {
		waited, well int
		want         bool
	}{
		"too few":          {hurryOverdue - 1, 0, false},
		"enough":           {hurryOverdue, 0, true},
		"others were well": {hurryOverdue, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			var f fuse
			for range tc.waited {
				f.put(in(), waited)
			}
			for range tc.well {
				f.put(in(), good)
			}
			if got := f.hurries(in()); got != tc.want {
				t.Errorf("hurries: %v", got)
			}
		})
	}
}

// flaky is a gateway that answers some of its Starts with 500.
func flaky(t *testing.T, fails func(n int64) bool) *bench {
	t.Helper()
	gw := newMiniature(t)
	var starts atomic.Int64
	handler := gw.Config.Handler
	gw.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/Start") && fails(starts.Add(1)) {
			http.Error(w, "broken", http.StatusInternalServerError)
			return
		}
		handler.ServeHTTP(w, r)
	})
	return newBench(t, gw.URL)
}

func TestRepeatingEndsWhenIterationsAreWrongInTheSameWay(t *testing.T) {
	t.Parallel()
	const script = "repeat: {times: 60}\nsteps: [{start: {as: p, sh: exit 0}}]\nexpect: {p: {end: {code: 0}}}"
	for name, tc := range map[string]struct {
		fails  func(n int64) bool
		script string
		want   int
	}{
		"all of them":       {func(int64) bool { return true }, script, maxAlike},
		"from the third on": {func(n int64) bool { return n > 2 }, script, 2 + maxAlike},
		"every second":      {func(n int64) bool { return n%2 == 0 }, script, 60},
		"never":             {func(int64) bool { return false }, script, 60},
		"an expected failure is not counted": {
			func(int64) bool { return true },
			"repeat: {times: 60}\nsteps: [{start: {as: p, sh: exit 0}}]\nexpect: {p: {status: 500}}", 60,
		},
		"another rule may still be broken": {
			func(int64) bool { return true },
			"rules: [test.rule, test.other]\nrepeat: {times: 60}\nsteps: [{start: {as: p, sh: exit 0}}]\nexpect: [{rule: test.rule, p: {end: {code: 0}}}, {rule: test.other, p: {status: 500}}]", 60,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := flaky(t, tc.fails).run(tc.script)
			if len(o.Iterations) != tc.want {
				t.Errorf("%d iterations, want %d: %s", len(o.Iterations), tc.want, o.Stopped)
			}
			if cut := tc.want < 60; cut != strings.Contains(o.Stopped, "5 in succession had failed in the same way, at their first Start: complete 500") {
				t.Errorf("stopped %q", o.Stopped)
			}
		})
	}
}
