package engine

import (
	"slices"
	"testing"

	"assay/scenarios"
)

// named returns slots with scenarios of these names.
func named(ids ...string) []*slot {
	var all []*slot
	for _, id := range ids {
		all = append(all, &slot{run: scenarios.Instance{Scenario: &scenarios.Scenario{ID: id}}})
	}
	return all
}

func TestWhatWouldUseAnOpenWayIsPutOff(t *testing.T) {
	q := &queue{slots: named("a", "b", "c", "d"), putsOff: func(s *slot) bool { return s.run.Scenario.ID != "b" }}
	var taken, off []string
	for s := q.take(); s != nil; s = q.take() {
		taken = append(taken, s.run.Scenario.ID)
	}
	for _, s := range q.off {
		off = append(off, s.run.Scenario.ID)
	}
	if !slices.Equal(taken, []string{"b"}) || !slices.Equal(off, []string{"a", "c", "d"}) {
		t.Errorf("taken are %v, put off %v", taken, off)
	}
}

// While an instance only waits, another worker takes its place, as long as there is anything to do and few of them wait.
func TestSomeWorkersAreReplacedWhileTheirInstancesWait(t *testing.T) {
	q := &queue{slots: named("a"), idle: 2}
	if got := []bool{q.lends(), q.lends(), q.lends()}; !slices.Equal(got, []bool{true, true, false}) {
		t.Errorf("replaced: %v, want two", got)
	}
	if q.back(); !q.lends() {
		t.Error("the place of one that is done is not used again")
	}
	q.back()
	q.take()
	if q.lends() {
		t.Error("a worker is replaced by one without anything to do")
	}
}
