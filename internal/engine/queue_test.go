package engine

import (
	"slices"
	"testing"

	"assay/internal/bundle"
	"assay/scenarios"
)

// slotsOver returns slots with scenarios named a, b, c, … and these versions of HTTP.
func slotsOver(versions ...string) []*slot {
	var all []*slot
	for i, v := range versions {
		all = append(all, &slot{run: scenarios.Instance{
			Scenario: &scenarios.Scenario{ID: string(rune('a' + i))}, Axes: bundle.Axes{Protocol: "p" + v, Codec: "c" + v, HTTP: v},
		}})
	}
	return all
}

func taken(q *queue, n int) (ids []string) {
	for range n {
		if s := q.take(false); s != nil {
			ids = append(ids, s.run.Scenario.ID)
		}
	}
	return ids
}

func TestHalfOfTheWorkersTryAWayThatIsNotProven(t *testing.T) {
	q := newQueue(slotsOver("h2c", "h2c", "h2c", "h2c", "1.1", "1.1", "1.1", "1.1"), new(fuse), 4)
	if got, want := taken(q, 5), []string{"a", "b", "e", "f", "c"}; !slices.Equal(got, want) {
		t.Errorf("taken are %v, want %v: two of each, and then the first that is left", got, want)
	}
}

func TestAWayIsOpenToAllOnceAnIterationHasEndedInTime(t *testing.T) {
	var f fuse
	f.put(&instance{axes: bundle.Axes{Protocol: "ph2c", Codec: "ch2c", HTTP: "h2c"}}, &result{})
	q := newQueue(slotsOver("h2c", "h2c", "h2c", "1.1"), &f, 2)
	if got, want := taken(q, 9), []string{"a", "b", "c", "d"}; !slices.Equal(got, want) {
		t.Errorf("taken are %v, want %v", got, want)
	}
}

func TestAWorkerThatIsFreeAgainTriesTheWayAgain(t *testing.T) {
	slots := slotsOver("h2c", "h2c", "1.1", "h2c")
	q := newQueue(slots, new(fuse), 2)
	got := taken(q, 1)
	q.done(slots[0])
	if got = append(got, taken(q, 1)...); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("taken are %v", got)
	}
}

// Other slots wait for a canary: one that nobody takes would stop them all.
func TestACanaryKeepsItsTurn(t *testing.T) {
	slots := slotsOver("h2c", "h2c", "1.1")
	slots[1].canary = true
	if got := taken(newQueue(slots, new(fuse), 2), 2); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("taken are %v", got)
	}
}

func TestASlotThatWaitsHasAWorkerOfItsOwn(t *testing.T) {
	slots := slotsOver("1.1", "1.1", "1.1")
	slots[0].waits, slots[2].waits = true, true
	q := newQueue(slots, new(fuse), 8)
	var got []string
	for _, waiting := range []bool{false, true, true, true} {
		if s := q.take(waiting); s != nil {
			got = append(got, s.run.Scenario.ID)
		}
	}
	if want := []string{"b", "a", "c"}; !slices.Equal(got, want) {
		t.Errorf("taken are %v, want %v: the one that is busy, then those that wait", got, want)
	}
}

func TestOtherWorkersTakeWhatWaitsWhenNothingElseIsLeft(t *testing.T) {
	slots := slotsOver("1.1", "1.1")
	slots[0].waits = true
	if got, want := taken(newQueue(slots, new(fuse), 8), 3), []string{"b", "a"}; !slices.Equal(got, want) {
		t.Errorf("taken are %v, want %v", got, want)
	}
}
