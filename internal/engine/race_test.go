package engine

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// The tests of races in numbers are not parallel with others: they stop when each order was seen, which takes fewer races on free processors.

// Neither side begins before its instant, and both have their connection before the first begins. How long after its instant
// a side begins depends on the machine, and is measured by the driver's lag.
func TestARaceIsReleasedWithItsOffset(t *testing.T) {
	t.Parallel()
	o := newBench(t, newMiniature(t).URL).run(`
repeat: {times: 12}
sweep: {d: -3ms..3ms}
steps:
  - start: {as: p, sh: read x}
  - race: {at: now, offset: $d, a: {input: {to: p, data: "\n"}}, b: {signal: {to: p, name: SIGKILL}}}
`)
	if len(o.Iterations) != 12 {
		t.Fatalf("%d iterations, want 12", len(o.Iterations))
	}
	for _, it := range o.Iterations {
		d, err := time.ParseDuration(it.Vars["d"] + "ns")
		if err != nil {
			t.Fatal(err)
		}
		a, b := it.Exchange("a"), it.Exchange("b")
		if a == nil || b == nil || a.Op != "input" || b.Op != "signal" {
			t.Fatalf("the sides are recorded as %+v and %+v", a, b)
		}
		if (a.Response.Status == 200) == (b.Response.Status == 200) {
			t.Errorf("statuses %d and %d: want exactly one success", a.Response.Status, b.Response.Status)
		}
		later := b
		if d < 0 {
			later = a
		}
		for _, x := range []*bundle.Exchange{a, b} {
			c := it.Conns[x.Conn]
			if c.Connected == nil || !c.Connected.Before(a.Invoked) || !c.Connected.Before(b.Invoked) {
				t.Errorf("connection %d was opened after the release", x.Conn)
			} else if waited := time.Duration(later.Invoked.T - c.Connected.T); waited < d.Abs() {
				t.Errorf("the later side began %v after the connections were open, want an offset of %v", waited, d.Abs())
			}
		}
	}
}

// The earlier side acts while the later one still waits.
func TestTheEarlierSideDoesNotWaitForTheLater(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	acted := make(chan time.Time, 2)
	one := side{ctx: ctx, st: &scenarios.Step{}, action: action{fire: func(context.Context) error { acted <- time.Now(); return nil }}}
	b := newBarrier(2)
	var both sync.WaitGroup
	both.Go(func() { _ = b.run(one, 0) })
	both.Go(func() { _ = b.run(one, time.Hour) })
	b.ready.Wait()
	base := time.Now().Add(lead)
	b.open(base)
	if at := <-acted; at.Before(base) {
		t.Errorf("it began %v before its instant", base.Sub(at))
	}
	cancel()
	both.Wait()
	if len(acted) > 0 {
		t.Error("the later side acted an hour too early")
	}
}

func TestARaceGoesOnUntilEachOrderHasItsMinimum(t *testing.T) {
	gw := newMiniature(t)
	o := newBench(t, gw.URL).run(raceScript("10m", "killed: {b: ok, min: 5}", "exited: {b: not_found, min: 5}"))
	if o.BudgetSpent {
		t.Error("the budget was spent")
	}
	killed := 0
	for i := range o.Iterations {
		if o.Iterations[i].Exchange("b").Response.Status == 200 {
			killed++
		}
	}
	if exits := len(o.Iterations) - killed; killed < 5 || exits < 5 {
		t.Errorf("%d kills and %d exits in %d iterations", killed, exits, len(o.Iterations))
	}
	for i := range o.Iterations {
		if o.Iterations[i].Index != i {
			t.Fatalf("iteration %d is recorded at place %d", o.Iterations[i].Index, i)
		}
	}
}

func TestARaceThatMissesAnOrderEndsWithItsBudget(t *testing.T) {
	gw := newMiniature(t)
	o := newBench(t, gw.URL).run(raceScript("100ms", "killed: {b: ok, min: 5}", "exited: {b: not_found}", "never: {b: {error: aborted}, min: 5}"))
	if !o.BudgetSpent || len(o.Iterations) < 10 {
		t.Errorf("budget spent: %v, after %d iterations", o.BudgetSpent, len(o.Iterations))
	}
	if len(o.Iterations) >= maxVain {
		t.Errorf("it went on for %d iterations", len(o.Iterations))
	}
	if len(o.Dropped) == 0 && len(o.Iterations) > 40 {
		t.Error("nothing was dropped of many similar iterations")
	}
}

// What fits none of the orders is a breach: more of it proves nothing.
func TestARaceWhoseIterationsFitNoOrderWaitsForNoneInVain(t *testing.T) {
	gw := newMiniature(t)
	o := newBench(t, gw.URL).run(raceScript("10m", "never: {b: {error: aborted}, min: 5}"))
	if n := len(o.Iterations); o.BudgetSpent || n < maxStrays || n > maxStrays+4 {
		t.Errorf("budget spent: %v, %d iterations, want %d and those under way", o.BudgetSpent, n, maxStrays)
	}
}

// An order that a thousand iterations do not show once is given up before the budget is spent.
func TestARaceGivesUpAnOrderThatNeverAppears(t *testing.T) {
	gw := newMiniature(t)
	o := newBench(t, gw.URL).run(raceScript("10m", "killed: {b: ok, min: 5}", "exited: {b: not_found}", "never: {b: {error: aborted}, min: 1}"))
	if n := len(o.Iterations); o.BudgetSpent || n < maxVain || n > maxVain+4 {
		t.Errorf("budget spent: %v, %d iterations, want %d and those under way", o.BudgetSpent, n, maxVain)
	}
}

func raceScript(budget string, orders ...string) string {
	return `
exclusive: true
repeat: {times: 10, parallel: 4, budget: ` + budget + `}
sweep: {d: -2ms..2ms}
steps:
  - start: {as: p, sh: read x}
  - race: {offset: $d, a: {input: {to: p, data: "\n"}}, b: {signal: {to: p, name: SIGKILL}}}
expect:
  orders:
    ` + strings.Join(orders, "\n    ") + "\n"
}

func TestAnAnchorReleasesARace(t *testing.T) {
	gw := newMiniature(t)
	o := newBench(t, gw.URL).run(`
steps:
  - start: {as: p, sh: exit 3, wait: none}
  - race: {at: p.end, offset: 2ms, a: {list: {}}, b: {list: {as: later}}}
  - race: {at: p.data, a: {list: {as: never1}}, b: {list: {as: never2}}}
`)
	it := o.Iterations[0]
	var end bundle.Stamp
	for _, e := range it.Exchange("p").Events {
		if e.Kind == bundle.EventEnd {
			end = e.At
		}
	}
	a, b := it.Exchange("a"), it.Exchange("later")
	if !end.Before(a.Invoked) || b.Invoked.T-end.T < int64(2*time.Millisecond) {
		t.Errorf("end %v, a %v, b %v", end, a.Invoked, b.Invoked)
	}
	if it.Exchange("never1") != nil || it.Exchange("never2") != nil {
		t.Error("a race was run although its anchor never came")
	}
	if len(it.Awaits) != 1 || it.Awaits[0].What != (bundle.Wait{Kind: bundle.WaitAnchor, Of: "p.data"}) || it.Awaits[0].Met {
		t.Errorf("awaits: %+v", it.Awaits)
	}
}

func TestASweepIsSpreadEvenlyAndPlannedByTheSeed(t *testing.T) {
	span := func(d time.Duration) scenarios.Span { return scenarios.Span{Fixed: d} }
	ranges := map[string]scenarios.Range{"d": {From: span(-time.Second), To: span(time.Second)}, "e": {To: span(time.Second)}}
	plan := func(seed uint64) (d, e []time.Duration) {
		s := newSweep(ranges, 10, seed, bundle.Calibration{})
		for i := range 30 {
			v := s.at(i)
			d, e = append(d, v["d"]), append(e, v["e"])
		}
		return d, e
	}
	d, e := plan(1)
	again, _ := plan(1)
	other, _ := plan(2)
	if !slices.Equal(d, again) || slices.Equal(d, other) {
		t.Error("the plan does not follow from the seed alone")
	}
	planned := slices.Sorted(slices.Values(d[:10]))
	for i, v := range planned {
		if want := -time.Second + time.Duration(2*i+1)*100*time.Millisecond; (v - want).Abs() > time.Microsecond {
			t.Errorf("value %d in order is %v, want %v", i, v, want)
		}
	}
	if slices.IsSorted(d[:10]) || slices.IsSortedFunc(e[:10], func(a, b time.Duration) int { return int(b - a) }) {
		t.Error("the values are in order")
	}
	more := slices.Sorted(slices.Values(d[10:]))
	for i := 1; i < len(more); i++ {
		if more[i]-more[i-1] > 300*time.Millisecond {
			t.Errorf("a gap of %v between values beyond the plan", more[i]-more[i-1])
		}
	}
	if more[0] < -time.Second || more[len(more)-1] > time.Second {
		t.Errorf("values from %v to %v are out of range", more[0], more[len(more)-1])
	}
}

func TestWaitingForAnInstantEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := until(ctx, time.Now().Add(time.Hour)); err == nil {
		t.Error("no error")
	}
}
