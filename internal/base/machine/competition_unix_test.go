//go:build unix

package machine

import (
	"testing"
	"time"
)

func TestWhatCompetesIsReadFromTheFilesOfLinux(t *testing.T) {
	for text, want := range map[string]int{"0.42 0.31 0.20 3/512 4711\n": 3, "0.42 0.31": -1, "0.42 0.31 0.20 many/512 1": -1} {
		if n, ok := runnable(text); ok != (want >= 0) || ok && n != want {
			t.Errorf("%q: %d, %v", text, n, ok)
		}
	}
	const pressure = "some avg10=66.09 avg60=65.33 avg300=60.17 total=28017\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=9\n"
	if got := stalled(pressure); got != 28017*time.Microsecond {
		t.Errorf("stalled for %v", got)
	}
	if got := stalled("none"); got != 0 {
		t.Errorf("stalled for %v without a total", got)
	}
	if got := stolen("cpu  10 20 30 40 50 60 70 250 90 100\ncpu0 1 2\n"); got != 2500*time.Millisecond {
		t.Errorf("%v were stolen", got)
	}
	if got := stolen("cpu 1 2"); got != 0 {
		t.Errorf("%v were stolen in a short line", got)
	}
}
