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

// Totals are the keys of the counters that only rise. Active is a gauge.
var Totals = []string{KeyStarted, KeyOK, KeyError, KeyKilled}

// Counters holds the counters of an exposition, summed over labels except status.
type Counters struct {
	Started, OK, Error, Killed, Active float64
	// Has lists the series in the exposition: started, ok, error, killed, active. An absent
	// one counts as zero: a client library exports a labelled series only after its first
	// increment.
	Has map[string]bool
}

// Finished returns OK + Error + Killed.
func (c Counters) Finished() float64 { return c.OK + c.Error + c.Killed }

// Get returns the value of a key ("finished" is the sum); ok is false for an unknown key.
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

// Seen reports whether the exposition has the series of a key; for "finished", any of its
// three parts.
func (c Counters) Seen(key string) bool {
	if key == KeyFinished {
		return c.Has[KeyOK] || c.Has[KeyError] || c.Has[KeyKilled]
	}
	return c.Has[key]
}

// Diff returns after minus before for each series, with Has of after.
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

// Monotone describes the counters that decreased between two expositions; nil for none.
func Monotone(earlier, later Counters) []string {
	var down []string
	for _, key := range Totals {
		a, _ := earlier.Get(key)
		b, _ := later.Get(key)
		if b < a {
			down = append(down, fmt.Sprintf("%s decreased from %s to %s", key, Number(a), Number(b)))
		}
	}
	return down
}

// Partition checks that every started process is counted exactly once: started = ok + error
// + killed + active. A scrape is not atomic, so inFlight processes may be counted on one
// side only. It applies to absolute values and to differences; the message is "" if it
// holds.
func Partition(c Counters, inFlight int) string {
	missing := c.Started - c.Finished() - c.Active
	if math.Abs(missing) <= float64(inFlight) {
		return ""
	}
	return fmt.Sprintf("started %s is not ok %s + error %s + killed %s + active %s = %s",
		Number(c.Started), Number(c.OK), Number(c.Error), Number(c.Killed), Number(c.Active), Number(c.Finished()+c.Active))
}

// Number formats v, without a fraction if it is an integer.
func Number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%g", v)
}
