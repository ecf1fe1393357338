package load

import (
	"slices"

	"assay/internal/record/bundle"
)

// Counts are all counts of a collector: since the beginning of a run, or of a window.
type Counts struct {
	Opening, Started, Live, Peak, Killing, Coalesced int64
	Unstamped, BackedOff                             int64
	Events, Bytes, Clamped                           int64
	Outcomes                                         bundle.StreamOutcomes
	Fates                                            [numFates]int64
	// Killed are the kills that were answered or dropped, NotOpened the streams that ended before they were opened,
	// Unstarted those that ended without a start event, and HungUp those that the driver hung up on.
	Uncertain, Killed, NotOpened, Unstarted int64
	Swept, HungUp                           int64
	Classes                                 []bundle.StreamOutcomes
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

// Add adds other counts, by class as far as c has classes.
func (c *Counts) Add(d *Counts) {
	more := d.numbers()
	for i, n := range c.numbers() {
		*n += *more[i]
	}
	c.Outcomes.Add(d.Outcomes, bundle.StreamOutcomes{})
	for i := range min(len(c.Classes), len(d.Classes)) {
		c.Classes[i].Add(d.Classes[i], bundle.StreamOutcomes{})
	}
}

// end counts the result of a stream.
func (c *Counts) end(r *Result, class int) {
	one := func(is bool) int64 {
		if is {
			return 1
		}
		return 0
	}
	c.Unstarted += one(r.Fate == NoProcess)
	c.NotOpened += one(!r.Opened)
	c.Killed += one(r.KillSent)
	c.Uncertain += one(r.Uncertain)
	c.HungUp += one(r.Disconnected)
	c.Outcomes[r.Outcome]++
	c.Classes[class][r.Outcome]++
	c.Fates[r.Fate]++
}

// counts reads all counts: those of endings before those of beginnings, so that a process that begins in between counts
// as in flight.
func (c *collector) counts() Counts {
	c.mu.Lock()
	c.fold()
	t := c.books
	t.Classes = slices.Clone(t.Classes)
	c.mu.Unlock()
	t.Started, t.Live, t.Peak = c.started.Load(), c.live.Load(), c.peak.Load()
	t.Killing, t.Opening = c.killing.Load(), c.opening.Load()
	t.Coalesced, t.Unstamped, t.BackedOff = c.coalesced.Load(), c.unstamped.Load(), c.backedOff.Load()
	t.Events, t.Bytes, t.Clamped = c.hist.counts()
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
	c.books.Add(d)
}

// inFlight returns how many processes a scrape between before and after may count
// inconsistently: those that are being opened or killed, or that have just ended.
func inFlight(before, after Counts) int {
	opening := before.Opening - before.Started - (before.Unstarted - before.NotOpened)
	killing := before.Killing - before.Killed
	during := after.Opening - before.Opening + after.Killing - before.Killing + after.Outcomes.Total() - before.Outcomes.Total()
	return int(max(opening, 0) + max(killing, 0) + max(during, 0))
}
