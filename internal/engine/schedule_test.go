package engine

import (
	"slices"
	"sync"
	"testing"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

func TestSharedScenariosRunBesideEachOtherAndExclusiveOnesAlone(t *testing.T) {
	t.Parallel()
	gw := newMiniature(t)
	b := newBench(t, gw.URL)
	b.options.Run.Jobs = 4
	b.options.Destructive = true
	shared := func(id string) scenarios.Instance {
		return instanceOf(parse(t, "id: "+id+"\ndeadline: 60s\nsteps: [{start: {as: p, sh: sleep, wait: end}}]"))
	}
	alone := func(id, kind string) scenarios.Instance {
		return instanceOf(parse(t, "id: "+id+"\n"+kind+": true\nsteps: [{list: {as: l}}, {pause: 10ms}]"))
	}
	is := []scenarios.Instance{
		alone("test.z", "destructive"), alone("test.x", "exclusive"), shared("test.a"), alone("test.y", "exclusive"), shared("test.b"),
	}
	var mu sync.Mutex
	var began, done []string
	b.options.OnStart = func(i scenarios.Instance) {
		mu.Lock()
		defer mu.Unlock()
		began = append(began, i.Scenario.ID)
	}
	b.options.OnDone = func(i scenarios.Instance, _ *bundle.Observation) { done = append(done, i.Scenario.ID) }
	e := b.start(is...)
	for _, pid := range []uint32{<-gw.spawned, <-gw.spawned} { // neither of the shared instances ends before both have begun
		gw.end(pid, 0, "")
	}
	all := e.Observations()

	if slices.Sort(began[:2]); !slices.Equal(began, []string{"test.a", "test.b", "test.x", "test.y", "test.z"}) || len(done) != 5 {
		t.Errorf("began %v, done %v", began, done)
	}
	for i, o := range all {
		if o.Scenario != is[i].Scenario.ID {
			t.Errorf("observation %d is of %s", i, o.Scenario)
		}
	}
	if !slices.Equal(all[2].Beside, []string{"test.b"}) || !slices.Equal(all[4].Beside, []string{"test.a"}) {
		t.Errorf("beside: %v and %v", all[2].Beside, all[4].Beside)
	}
	for _, i := range []int{0, 1, 3} {
		if len(all[i].Beside) != 0 {
			t.Errorf("%s ran beside %v", all[i].Scenario, all[i].Beside)
		}
	}
	if all[1].Ended.N > all[3].Started.N || all[3].Ended.N > all[0].Started.N || all[2].Ended.N > all[1].Started.N {
		t.Error("an exclusive or destructive scenario began before the others had ended")
	}
	last := all[0].Iterations[0].Exchanges
	if x := last[len(last)-1]; x.Op != bundle.OpProbe || x.Response == nil {
		t.Errorf("the destructive scenario is not followed by a probe but by %s", x.Op)
	}
}

func TestTheLongestBeginFirst(t *testing.T) {
	b := newBench(t, "http://127.0.0.1:1")
	b.options.Slow = true
	e := &Engine{o: b.options, env: newEnv(b.options)}
	for _, text := range []string{
		"id: test.quick\nsteps: [{list: {as: l}}]",
		"id: test.pause\nsteps: [{list: {as: l}}, {pause: 2s}]",
		"id: test.slow\nslow: 65s\nsteps: [{list: {as: l}}]",
		"id: test.repeat\nrepeat: {times: 100, parallel: 2}\nsteps: [{start: {as: l, sh: x}}]",
	} {
		i := instanceOf(parse(t, text))
		e.slots = append(e.slots, &slot{instance: i, run: i})
	}
	var order []string
	for _, s := range e.schedule().shared {
		order = append(order, s.instance.Scenario.ID)
	}
	if want := []string{"test.slow", "test.pause", "test.repeat", "test.quick"}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

// According to the profile, the target does not survive it.
func TestWhatTheProfileAllowsToBreakRunsLastOfTheDestructiveOnes(t *testing.T) {
	const alone = "\ndestructive: true\nsteps: [{list: {as: l}}]"
	for name, tc := range map[string]struct {
		deviation scenarios.Deviation
		want      []string
	}{
		"in that scenario":    {scenarios.Deviation{Scenarios: []string{"test.b*"}}, []string{"test.a", "test.c", "test.b"}},
		"with a symptom":      {scenarios.Deviation{Symptoms: []bundle.Symptom{"no-end"}, Scenarios: []string{"test.a"}}, []string{"test.b", "test.c", "test.a"}},
		"wherever it is":      {scenarios.Deviation{}, []string{"test.c", "test.a", "test.b"}},
		"in some other one":   {scenarios.Deviation{Scenarios: []string{"test.z"}}, []string{"test.a", "test.b", "test.c"}},
		"of a rule elsewhere": {scenarios.Deviation{Scenarios: []string{"test.c"}}, []string{"test.a", "test.b", "test.c"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "http://127.0.0.1:1")
			b.options.Destructive = true
			b.options.Profile.Deviations = map[string]scenarios.Deviation{"test.rule": tc.deviation}
			e := &Engine{o: b.options, env: newEnv(b.options)}
			for _, text := range []string{"id: test.a", "id: test.b", "id: test.c\nrules: [test.other]"} {
				i := instanceOf(parse(t, text+alone))
				e.slots = append(e.slots, &slot{instance: i, run: i})
			}
			var order []string
			for _, s := range e.schedule().destructive {
				order = append(order, s.instance.Scenario.ID)
			}
			if !slices.Equal(order, tc.want) {
				t.Errorf("order %v, want %v", order, tc.want)
			}
		})
	}
}

func TestWhatCannotRunIsSkippedWithItsReason(t *testing.T) {
	gw := newMiniature(t)
	for name, tc := range map[string]struct {
		script string
		axes   bundle.Axes
		reason bundle.SkipReason
		detail string
	}{
		"absent features; one that the probe could not determine is tried": {
			"needs: [process.pty, process.start, process.user]\nsteps: [{list: {as: l}}]", plainAxes,
			bundle.SkipFeature, "process.pty",
		},
		"a codec that the axes imply": {
			"steps: [{list: {as: l}}]", bundle.Axes{Protocol: "connect", Codec: "proto", HTTP: "1.1", Compression: "gzip"},
			bundle.SkipFeature, "codec.proto, compress.gzip",
		},
		"a destructive one": {
			"destructive: true\nsteps: [{list: {as: l}}]", plainAxes,
			bundle.SkipDestructive, "it may kill the target; --destructive runs it",
		},
		"a slow one": {
			"slow: 65s\nsteps: [{list: {as: l}}]", plainAxes,
			bundle.SkipSlow, "it waits 1m5s; --slow runs it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, gw.URL)
			f := b.options.Run.Features
			f["process.pty"] = bundle.Feature{State: bundle.FeatureAbsent}
			f["process.user"] = bundle.Feature{State: bundle.FeatureUnknown}
			delete(f, "codec.proto")
			delete(f, "compress.gzip")
			o := b.start(scenarios.Instance{Scenario: parse(t, tc.script), Axes: tc.axes}).Observations()[0]
			if o.Skip == nil || o.Skip.Reason != tc.reason || o.Skip.Detail != tc.detail || len(o.Iterations) != 0 {
				t.Errorf("skip %+v, want %s: %s", o.Skip, tc.reason, tc.detail)
			}
		})
	}
}

func TestATargetThatDiesIsNotAskedAnyFurther(t *testing.T) {
	t.Parallel()
	gw := newMiniature(t)
	b := newBench(t, gw.URL)
	b.options.Destructive = true
	kills := instanceOf(parse(t, "id: test.kills\ndestructive: true\nsteps: [{list: {as: l}}]"))
	next := instanceOf(parse(t, "id: test.next\ndestructive: true\nsteps: [{list: {as: l}}]"))
	// The target dies after the first scenario's call.
	b.options.OnStart = func(i scenarios.Instance) {
		if i == kills {
			gw.Close()
		}
	}
	all := b.start(kills, next).Observations()
	if all[0].Skip != nil {
		t.Errorf("the first: %+v", all[0].Skip)
	}
	if s := all[1].Skip; s == nil || s.Reason != bundle.SkipTargetGone {
		t.Errorf("the next: skip %+v, want target-gone", s)
	}
}

func TestWaitKnowsOnlyWhatWasStarted(t *testing.T) {
	b := newBench(t, "http://127.0.0.1:1")
	e := b.start()
	if o := e.Wait(instanceOf(parse(t, "steps: [{list: {as: l}}]"))); o != nil {
		t.Errorf("got %+v", o)
	}
	<-e.Done()
}

func TestADefectEndsTheScenarioAndNotTheRun(t *testing.T) {
	gw := newMiniature(t)
	b := newBench(t, gw.URL)
	broken := parse(t, "steps: [{parallel: [{list: {as: l}}, {list: {as: m}}]}]")
	broken.Steps[0].Parallel[1] = scenarios.Step{At: "steps[0].parallel[1]"}
	worse := parse(t, "steps: [{list: {as: l}}]")
	worse.Steps[0].List = nil
	worse.Steps[0].Parallel = []scenarios.Step{{Await: &scenarios.Await{On: "nobody", Done: true}}}
	good := parse(t, "steps: [{list: {as: l}}]")
	all := b.start(instanceOf(broken), instanceOf(worse), instanceOf(good)).Observations()
	if want := "iteration 0: steps[0].parallel[1]: the step is empty"; all[0].Defect != want {
		t.Errorf("defect %q, want %q", all[0].Defect, want)
	}
	if all[1].Defect == "" {
		t.Error("an unknown name is no defect")
	}
	if all[2].Defect != "" || all[2].Iterations[0].Exchange("l").Outcome != bundle.OutcomeComplete {
		t.Errorf("the good one: %+v", all[2])
	}
}

func TestAPanicIsADefect(t *testing.T) {
	err := guard(func() error { panic("oops") })
	if err == nil || err.Error()[:11] != "panic: oops" {
		t.Errorf("got %v", err)
	}
}
