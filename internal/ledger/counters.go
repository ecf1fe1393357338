package ledger

import (
	"fmt"
	"math"
)

// Names are the metric names of the process counters. Finished is split by the
// label "status" with the values ok, error and killed.
type Names struct{ Started, Finished, Active string }

// The keys of Counters.Has and of Counters.Get.
const (
	KeyStarted  = "started"
	KeyFinished = "finished"
	KeyOK       = "ok"
	KeyError    = "error"
	KeyKilled   = "killed"
	KeyActive   = "active"
)

// Counters is what an exposition says, summed over labels except status.
type Counters struct {
	Started, OK, Error, Killed, Active float64
	// Has tells which series stood in the exposition: started, ok, error, killed, active.
	// One that is absent counts as zero: a client library shows a labelled series
	// from its first increment on.
	Has map[string]bool
}

// Finished is OK + Error + Killed.
func (c Counters) Finished() float64 { return c.OK + c.Error + c.Killed }

// Get returns the value of a key ("finished" is the sum); ok is false for a name that is no key.
func (c Counters) Get(key string) (v float64, ok bool) {
	switch key {
	case KeyStarted:
		return c.Started, true
	case KeyFinished:
		return c.Finished(), true
	case KeyOK:
		return c.OK, true
	case KeyError:
		return c.Error, true
	case KeyKilled:
		return c.Killed, true
	case KeyActive:
		return c.Active, true
	}
	return 0, false
}

// Seen reports whether the series of a key stood in the exposition; for
// "finished", whether any of its three parts did.
func (c Counters) Seen(key string) bool {
	if key == KeyFinished {
		return c.Has[KeyOK] || c.Has[KeyError] || c.Has[KeyKilled]
	}
	return c.Has[key]
}

// Diff is after minus before, series by series; Has is that of after.
func Diff(before, after Counters) Counters {
	return Counters{
		Started: after.Started - before.Started,
		OK:      after.OK - before.OK,
		Error:   after.Error - before.Error,
		Killed:  after.Killed - before.Killed,
		Active:  after.Active - before.Active,
		Has:     after.Has,
	}
}

// Monotone tells which counters went down from one exposition to a later one, in
// words; nil when none did. Active is a gauge and may.
func Monotone(earlier, later Counters) []string {
	var down []string
	for _, key := range []string{KeyStarted, KeyOK, KeyError, KeyKilled} {
		a, _ := earlier.Get(key)
		b, _ := later.Get(key)
		if b < a {
			down = append(down, fmt.Sprintf("%s went from %s to %s", key, Number(a), Number(b)))
		}
	}
	return down
}

// Partition checks that every started process is in exactly one place: started =
// ok + error + killed + active. An exposition is not read at one instant, so
// inFlight processes may be counted on one side only. It holds for absolute
// values and for differences alike; the message is "" when it holds.
func Partition(c Counters, inFlight int) string {
	missing := c.Started - c.Finished() - c.Active
	if math.Abs(missing) <= float64(inFlight) {
		return ""
	}
	return fmt.Sprintf("started %s is not ok %s + error %s + killed %s + active %s = %s",
		Number(c.Started), Number(c.OK), Number(c.Error), Number(c.Killed), Number(c.Active), Number(c.Finished()+c.Active))
}

// Number is v as people write it: without a fraction when it is whole.
func Number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%g", v)
}
