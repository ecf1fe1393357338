package account

import (
	"testing"
	"time"

	"assay/internal/load"
)

// The pauses between failing dials double, dials that fail together count once, and a connection
// that takes a request ends them.
func TestFailingDialsPauseLongerEachTime(t *testing.T) {
	p := plan(t, load.ProtocolConnect, load.CodecJSON, load.Check{})
	var r Redial
	var now int64
	clock := func() int64 { return now }
	if r.Pausing(clock) || r.Tell() != nil || r.Told() {
		t.Error("it pauses before any failure")
	}
	for _, ms := range []int64{200, 400, 800, 1600, 3200, 5000, 5000} {
		most := ms * int64(time.Millisecond)
		for range 16 { // dials in flight
			r.Failed(p, Breach("no"), now)
		}
		if now += most/2 - 1; !r.Pausing(clock) {
			t.Errorf("it pauses for less than half of %d ms", ms)
		}
		if now += most/2 + 1; r.Pausing(clock) {
			t.Errorf("it pauses for more than %d ms", ms)
		}
	}
	one, other := r.Tell(), r.Tell()
	if one == nil || one == other || *one != *other || !r.Told() {
		t.Errorf("%v and %v are told", one, other)
	}
	r.Took()
	if r.Failed(p, Breach("no"), now); r.Told() || !r.Pausing(clock) {
		t.Error("the failure after a success counts as told, or makes no pause")
	}
}
