package gateway

import (
	"testing"
	"time"

	"connectrpc.com/connect"

	"assay/fakes/virtual"
)

func TestThePaceIsTheMeanDelayOfTheLastSecond(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var p pace
	deliver := func(times int, every, delay time.Duration) {
		for range times {
			now = now.Add(every)
			p.delivered(now.Add(-delay), now)
		}
	}
	deliver(10_000, time.Millisecond, 10*time.Millisecond)
	if got := p.lateness(now); got < 9*time.Millisecond || got > 10*time.Millisecond {
		t.Errorf("after many of 10 ms: %v", got)
	}
	for range 100 {
		deliver(1, 50*time.Microsecond, time.Hour) // a reader that is far behind
		deliver(20, 50*time.Microsecond, 10*time.Millisecond)
	}
	if got := p.lateness(now); got > tooLate/2 {
		t.Errorf("one reader of twenty is far behind: %v", got)
	}
	deliver(10_000, time.Millisecond, 1500*time.Millisecond)
	if got := p.lateness(now); got < 1400*time.Millisecond || got > 1500*time.Millisecond {
		t.Errorf("after many of 1.5 s: %v", got)
	}
	deliver(30, 100*time.Millisecond, time.Millisecond)
	if got := p.lateness(now); got > tooLate/4 {
		t.Errorf("three seconds later, with few deliveries: %v", got)
	}
	if got := p.lateness(now.Add(2 * paceWindow)); got != 0 {
		t.Errorf("long after the last: %v, want 0", got)
	}
}

// A gateway that is behind refuses more load, where it has much.
func TestATableThatIsBehindRefusesMoreProcesses(t *testing.T) {
	t.Parallel()
	tab, _, _ := newStubTable(t)
	tab.most = maxProcesses // whatever memory this machine has
	now := time.Now().Add(time.Hour)
	late := func() { // in an hour, so that a slow test does not outdate it
		tab.store.pace.mean.Store(int64(2 * tooLate))
		tab.store.pace.last.Store(now.UnixNano())
	}
	late()
	_, sub := run(t, tab, Spec{}) // below the crowd
	sub.close()
	tab.busy = crowd
	late()
	if _, _, err := tab.Start(Spec{}); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("while it is behind: %v, want resource_exhausted", err)
	}
	tab.store.pace.mean.Store(0)
	_, sub = run(t, tab, Spec{})
	sub.close()
}

func TestDeliveriesAreMeasuredFromTheWriteToTheEndOfTheSend(t *testing.T) {
	t.Parallel()
	tab, _, box := newStubTable(t)
	pace := &tab.store.pace
	p, sub := run(t, tab, Spec{})
	var kinds []EventKind
	sink := EventSinkFunc(func(e Event) error {
		kinds = append(kinds, e.Kind)
		if e.Kind == EventData {
			sub.taken = sub.taken.Add(-time.Hour) // as if the process had written long ago
			pace.last.Store(0)                    // and the gateway had delivered nothing since
		}
		return nil
	})
	box.At(0).Print("a\n")
	box.At(0).Exit(virtual.Status{})
	if err := follow(t.Context(), &Stream{Process: p, Table: tab, Sink: sink, sub: sub}); err != nil {
		t.Fatal(err)
	}
	if got := time.Duration(pace.mean.Load()); got != 2*tooLate {
		t.Errorf("a line that is an hour late makes the mean %v, want %v", got, 2*tooLate)
	}
	if len(kinds) != 3 {
		t.Errorf("events %v, want start, data and end", kinds)
	}
}
