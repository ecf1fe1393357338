package gateway

import (
	"testing"
	"time"

	"connectrpc.com/connect"

	"assay/fakes/virtual"
)

func TestThePaceIsTheMeanDelayOfTheLastDeliveries(t *testing.T) {
	now := time.Now()
	var p pace
	p.delivered(now.Add(-time.Hour), now)
	if got := p.lateness(now); got < time.Hour/overEvents-1 || got > time.Hour/overEvents {
		t.Errorf("after one of an hour: %v", got)
	}
	for range 20 * overEvents {
		p.delivered(now.Add(-3*time.Second), now)
	}
	if got := p.lateness(now); got < 2900*time.Millisecond || got > 3*time.Second {
		t.Errorf("after many of 3 s: %v", got)
	}
	if got := p.lateness(now.Add(2 * outdated)); got != 0 {
		t.Errorf("long after the last: %v, want 0", got)
	}
}

// late makes the table believe that its events are an hour late.
func late(tab *table) {
	now := time.Now().Add(time.Hour) // a slow test does not outdate it
	for range overEvents {
		tab.store.pace.delivered(now.Add(-time.Hour), now)
	}
}

// A gateway that is behind refuses more load, where it has much.
func TestATableThatIsBehindRefusesMoreProcesses(t *testing.T) {
	tab, _, _ := newStubTable(t)
	late(tab)
	_, sub := run(t, tab, Spec{}) // below the crowd
	sub.close()
	tab.busy = crowd
	late(tab)
	if _, _, err := tab.Start(Spec{}); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("while it is behind: %v, want resource_exhausted", err)
	}
	tab.store.pace.mean.Store(0)
	_, sub = run(t, tab, Spec{})
	sub.close()
}

func TestDeliveriesAreMeasuredFromTheWriteToTheEndOfTheSend(t *testing.T) {
	tab, _, box := newStubTable(t)
	p, sub := run(t, tab, Spec{})
	var seen []EventKind
	sink := EventSinkFunc(func(e Event) error {
		if e.Kind == EventData {
			tab.store.pace.mean.Store(0)
			sub.taken = sub.taken.Add(-time.Hour) // as if the write of the process were long ago
		}
		seen = append(seen, e.Kind)
		return nil
	})
	box.At(0).Print("a\n")
	box.At(0).Exit(virtual.Status{})
	if err := follow(t.Context(), &Stream{Process: p, Table: tab, Sink: sink, sub: sub}); err != nil {
		t.Fatal(err)
	}
	if got := time.Duration(tab.store.pace.mean.Load()); got < time.Hour/overEvents-time.Second {
		t.Errorf("a line that was an hour late makes the mean %v", got)
	}
	if len(seen) != 3 {
		t.Errorf("%d events, want start, data and end", len(seen))
	}
}
