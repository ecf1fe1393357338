package trend

import (
	"slices"
	"time"
)

// Point is the value of one window.
type Point struct {
	At    time.Duration // since the start of the soak
	Value float64
	Ops   float64 // operations done up to then
}

// Kind says what is measured, and so how large a rise must be to count.
type Kind string

// The kinds.
const (
	Memory      Kind = "memory"      // bytes
	Descriptors Kind = "descriptors" // open files
	Goroutines  Kind = "goroutines"  // goroutines or threads
	Entries     Kind = "entries"     // entries of a list
	Gauge       Kind = "gauge"       // a gauge of running things, at rest
	Latency     Kind = "latency"     // microseconds
)

// Series is what was measured over the windows of a soak.
type Series struct {
	Name string
	Kind Kind
	Unit string // bytes, us, or "" for a number of things
	// Window is the planned length of a window: a longer distance between points is a missing window.
	Window time.Duration
	// Points are in the order of time.
	Points []Point
	// Points up to Warmup are shown and not judged.
	Warmup time.Duration
	// Breaks are restarts of the target: values before and after one are not compared.
	Breaks []time.Duration
}

// floor is the smallest rise that counts.
type floor struct {
	perHour float64 // in units; of a latency as a part of its median
	change  float64 // over all windows, in units; of a latency in microseconds
	part    float64 // over all windows, as a part of the level
}

// floorOf returns the floor of a kind. The memory of a process creeps for long after its start, so that less
// than a twentieth of it is no leak, whatever the length of the soak.
func floorOf(k Kind) floor {
	switch k {
	case Memory:
		return floor{perHour: 1 << 20, change: 1 << 20, part: 0.05}
	case Latency:
		return floor{change: 200, part: 0.1}
	case Descriptors, Goroutines, Entries, Gauge:
		return floor{perHour: 1, change: 2}
	}
	return floor{perHour: 1, change: 2}
}

// leastWindows is the number of windows below which nothing is said: the most extreme order of eight values has a
// probability of 1 in 40,320.
const leastWindows = 8

// judged returns the longest part of the series after the warm-up without a restart.
func (s *Series) judged() []Point {
	warm := slices.DeleteFunc(slices.Clone(s.Points), func(p Point) bool { return p.At <= s.Warmup })
	var best []Point
	breaks := append(slices.Sorted(slices.Values(s.Breaks)), time.Duration(1<<62))
	for _, end := range breaks {
		n := slices.IndexFunc(warm, func(p Point) bool { return p.At >= end })
		if n < 0 {
			n = len(warm)
		}
		if n > len(best) {
			best = warm[:n]
		}
		warm = warm[n:]
	}
	return best
}

// missing returns the number of windows that are absent between points.
func (s *Series) missing(points []Point) int {
	if s.Window <= 0 {
		return 0
	}
	n := 0
	for i := 1; i < len(points); i++ {
		n += max(int((points[i].At-points[i-1].At+s.Window/2)/s.Window)-1, 0)
	}
	return n
}
