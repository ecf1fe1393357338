package load

import (
	"assay/internal/bundle"
)

// Counts are all counts of a collector: since the beginning of a run, or of a window.
type Counts struct {
	Opening, Started, Live, Peak, Killing, Coalesced int64
	Unstamped, BackedOff                             int64
	Events, Bytes, Clamped                           int64
	Outcomes                                         bundle.StreamOutcomes
	Fates                                            [numFates]int64
	Uncertain, Killed, NotOpened, Unstarted          int64
	Swept, HungUp                                    int64
	Classes                                          []bundle.StreamOutcomes
}

// Begun returns how many streams the driver has begun, also those that it did not get as far as to open.
func (c *Counts) Begun() int64 { return c.Opening + c.NotOpened }

// numbers returns the counts that are one number each.
func (c *Counts) numbers() []*int64 {
	all := []*int64{
		&c.Opening, &c.Started, &c.Live, &c.Peak, &c.Killing, &c.Coalesced, &c.Unstamped, &c.BackedOff, &c.Events, &c.Bytes, &c.Clamped,
		&c.Uncertain, &c.Killed, &c.NotOpened, &c.Unstarted, &c.Swept, &c.HungUp,
	}
	for i := range c.Fates {
		all = append(all, &c.Fates[i])
	}
	return all
}

// since returns the counts less earlier ones.
func (c *Counts) since(last *Counts) Counts {
	d := *c
	before := last.numbers()
	for i, n := range d.numbers() {
		*n -= *before[i]
	}
	d.Outcomes = bundle.StreamOutcomes{}
	d.Outcomes.Add(c.Outcomes, last.Outcomes)
	d.Classes = make([]bundle.StreamOutcomes, len(c.Classes))
	for i := range c.Classes {
		earlier := bundle.StreamOutcomes{}
		if i < len(last.Classes) {
			earlier = last.Classes[i]
		}
		d.Classes[i].Add(c.Classes[i], earlier)
	}
	return d
}

// Add adds the counts of a window, except those by class.
func (c *Counts) Add(d *Counts) {
	more := d.numbers()
	for i, n := range c.numbers() {
		*n += *more[i]
	}
	c.Outcomes.Add(d.Outcomes, bundle.StreamOutcomes{})
}

// counts reads all counts.
func (c *collector) counts() Counts {
	t := Counts{
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
	return t
}

// add adds the counts of a window of a part. The peaks of open streams of several parts are added, as if they were at
// one time.
func (c *collector) add(d *Counts) {
	c.opening.Add(d.Opening)
	c.started.Add(d.Started)
	c.live.Add(d.Live)
	c.peak.Add(d.Peak)
	c.killing.Add(d.Killing)
	c.coalesced.Add(d.Coalesced)
	c.unstamped.Add(d.Unstamped)
	c.backedOff.Add(d.BackedOff)
	s := &c.hist.shards[0]
	s.events.Add(d.Events)
	s.bytes.Add(d.Bytes)
	s.clamped.Add(d.Clamped)
	c.mu.Lock()
	defer c.mu.Unlock()
	b := &c.books
	none := bundle.StreamOutcomes{}
	b.outcomes.Add(d.Outcomes, none)
	for f := range b.fates {
		b.fates[f] += d.Fates[f]
	}
	b.uncertain += d.Uncertain
	b.killed += d.Killed
	b.notOpened += d.NotOpened
	b.unstarted += d.Unstarted
	b.swept += d.Swept
	b.hungUp += d.HungUp
	for i := range min(len(c.classes), len(d.Classes)) {
		c.classes[i].Add(d.Classes[i], none)
	}
}
