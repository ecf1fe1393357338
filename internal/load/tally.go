package load

import (
	"time"

	"assay/internal/bundle"
)

// tally is all counts of a collector since the beginning of a run, as a worker process
// reports them.
type tally struct {
	Opening, Started, Live, Peak, Killing, Coalesced int64
	Unstamped, BackedOff                             int64
	Events, Bytes, Clamped                           int64
	Outcomes                                         bundle.StreamOutcomes
	Fates                                            [numFates]int64
	Uncertain, Killed, NotOpened, Unstarted          int64
	Swept, HungUp                                    int64
	Classes                                          []bundle.StreamOutcomes
	Steps                                            []time.Duration
}

// tally reads all counts.
func (c *collector) tally() tally {
	t := tally{
		Opening: c.opening.Load(), Started: c.started.Load(), Live: c.live.Load(), Peak: c.peak.Load(),
		Killing: c.killing.Load(), Coalesced: c.coalesced.Load(), Unstamped: c.unstamped.Load(), BackedOff: c.backedOff.Load(),
	}
	t.Events, t.Bytes, t.Clamped = c.hist.counts()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fold()
	b := &c.books
	t.Outcomes, t.Fates, t.Uncertain, t.Killed = b.outcomes, b.fates, b.uncertain, b.killed
	t.NotOpened, t.Unstarted, t.Swept, t.HungUp = b.notOpened, b.unstarted, b.swept, b.hungUp
	t.Classes = append(t.Classes, c.classes...)
	t.Steps = append(t.Steps, b.steps...)
	return t
}

// absorb adds the counts of a worker process since its last report. The peaks of open
// streams of several processes are added, as if they were at one time.
func (c *collector) absorb(last, now tally) {
	c.opening.Add(now.Opening - last.Opening)
	c.started.Add(now.Started - last.Started)
	c.live.Add(now.Live - last.Live)
	c.peak.Add(now.Peak - last.Peak)
	c.killing.Add(now.Killing - last.Killing)
	c.coalesced.Add(now.Coalesced - last.Coalesced)
	c.unstamped.Add(now.Unstamped - last.Unstamped)
	c.backedOff.Add(now.BackedOff - last.BackedOff)
	s := &c.hist.shards[0]
	s.events.Add(now.Events - last.Events)
	s.bytes.Add(now.Bytes - last.Bytes)
	s.clamped.Add(now.Clamped - last.Clamped)
	c.mu.Lock()
	defer c.mu.Unlock()
	b := &c.books
	b.outcomes.Add(now.Outcomes, last.Outcomes)
	for f := range b.fates {
		b.fates[f] += now.Fates[f] - last.Fates[f]
	}
	b.uncertain += now.Uncertain - last.Uncertain
	b.killed += now.Killed - last.Killed
	b.notOpened += now.NotOpened - last.NotOpened
	b.unstarted += now.Unstarted - last.Unstarted
	b.swept += now.Swept - last.Swept
	b.hungUp += now.HungUp - last.HungUp
	for i := range min(len(c.classes), len(now.Classes)) {
		before := bundle.StreamOutcomes{}
		if i < len(last.Classes) {
			before = last.Classes[i]
		}
		c.classes[i].Add(now.Classes[i], before)
	}
}
