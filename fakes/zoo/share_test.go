package zoo

import "testing"

func TestAShareStrikesAsOftenAsItSaysWhereverItBegins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ times, of uint64 }{{1, 4}, {3, 10}, {1, 1}} {
		for seed := range c.of {
			s, struck := newShare(c.times, c.of, seed), uint64(0)
			for range 2 * c.of {
				if s.strikes() {
					struck++
				}
			}
			if struck != 2*c.times {
				t.Errorf("%d in %d, from %d: %d of %d", c.times, c.of, seed, struck, 2*c.of)
			}
		}
	}
	if (*share)(nil).strikes() {
		t.Error("no share strikes")
	}
}
