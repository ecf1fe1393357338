package loadtest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"assay/internal/load"
	"assay/internal/record/bundle"
)

// Tally is a sink that counts.
type Tally struct {
	Results   []load.Result
	Values    map[load.Metric][]time.Duration
	Firsts    map[int]int // start events by class
	Opened    int
	Begun     int
	Kills     int
	Events    int
	Bytes     int
	Vague     int // coalesced events
	Blind     int // unstamped reads
	Found     int // swept processes
	Backoffs  int
	OnStarted func(started int)
	OnRecord  func(m load.Metric)

	mu sync.Mutex
}

var _ load.Sink = (*Tally)(nil)

// NewTally makes an empty tally.
func NewTally() *Tally {
	return &Tally{Values: map[load.Metric][]time.Duration{}, Firsts: map[int]int{}}
}

func (t *Tally) locked(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
}

// Record keeps a value.
func (t *Tally) Record(_, class int, m load.Metric, d time.Duration) {
	t.locked(func() {
		t.Values[m] = append(t.Values[m], d)
		if m == load.FirstEvent {
			t.Firsts[class]++
		}
		if t.OnRecord != nil {
			t.OnRecord(m)
		}
	})
}

// HungUp does nothing.
func (t *Tally) HungUp() {}

// Opening counts.
func (t *Tally) Opening() { t.locked(func() { t.Opened++ }) }

// Started counts.
func (t *Tally) Started() {
	t.locked(func() {
		if t.Begun++; t.OnStarted != nil {
			t.OnStarted(t.Begun)
		}
	})
}

// Killing counts.
func (t *Tally) Killing() { t.locked(func() { t.Kills++ }) }

// Swept counts.
func (t *Tally) Swept(n int) { t.locked(func() { t.Found += n }) }

// BackedOff counts.
func (t *Tally) BackedOff() { t.locked(func() { t.Backoffs++ }) }

// Unstamped counts.
func (t *Tally) Unstamped(n int) { t.locked(func() { t.Blind += n }) }

// Coalesced counts.
func (t *Tally) Coalesced(n int) { t.locked(func() { t.Vague += n }) }

// Output counts.
func (t *Tally) Output(_, events, bytes int) {
	t.locked(func() { t.Events, t.Bytes = t.Events+events, t.Bytes+bytes })
}

// ClockStepped does nothing.
func (t *Tally) ClockStepped(time.Duration) {}

// Ended keeps a result.
func (t *Tally) Ended(r load.Result) { t.locked(func() { t.Results = append(t.Results, r) }) }

// Outcomes counts the results by outcome.
func (t *Tally) Outcomes() (all bundle.StreamOutcomes) {
	for _, r := range t.Results {
		all[r.Outcome]++
	}
	return all
}

// Fates counts the results by fate.
func (t *Tally) Fates() map[load.Fate]int {
	all := map[load.Fate]int{}
	for _, r := range t.Results {
		all[r.Fate]++
	}
	return all
}

// Messages returns the messages of the results.
func (t *Tally) Messages() (all []string) {
	for _, r := range t.Results {
		all = append(all, r.Message)
	}
	return all
}

// Message returns the first message that is not empty.
func (t *Tally) Message() string {
	all := t.Messages()
	if i := slices.IndexFunc(all, func(m string) bool { return m != "" }); i >= 0 {
		return all[i]
	}
	return ""
}

// Want fails the test unless the counts of outcomes are exactly these.
func (t *Tally) Want(tb testing.TB, want map[bundle.StreamOutcome]int64) {
	tb.Helper()
	var all bundle.StreamOutcomes
	for o, n := range want {
		all[o] = n
	}
	if got := t.Outcomes(); got != all {
		tb.Errorf("outcomes %v, want %v; %q", got, all, t.Messages())
	}
}

// Facts returns everything about the results on which two drivers must agree.
func (t *Tally) Facts() string {
	counts := map[string]int{}
	bytes := t.Bytes
	for _, r := range t.Results {
		counts[fmt.Sprintf("%v/%d opened=%v uncertain=%v killsent=%v disconnected=%v refused=%v said=%v",
			r.Outcome, r.Fate, r.Opened, r.Uncertain, r.KillSent, r.Disconnected, r.Refused, r.Message != "")]++
		if r.Outcome == bundle.StreamCorrupt {
			bytes = 0 // how much of a corrupt output is read may differ
		}
	}
	return fmt.Sprintf("%v; %d opening, %d started, %d killing, %d swept; %d events, %d bytes; %d first %v, %d from sent, %d ends, %d start lags",
		counts, t.Opened, t.Begun, t.Kills, t.Found, t.Events, bytes,
		len(t.Values[load.FirstEvent]), t.Firsts, len(t.Values[load.FromSent]), len(t.Values[load.EndOfStream]), len(t.Values[load.StartLag]))
}
