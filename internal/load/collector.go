package load

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"assay/internal/base/secret"
	"assay/internal/record/bundle"
)

// maxExamples is how many different messages are kept for each outcome.
const maxExamples = 5

// collector is the sink of a run.
type collector struct {
	hist *histograms
	// cold is set during the warm-up: measured values are dropped.
	cold    atomic.Bool
	opening counter // streams opened, in all
	started counter // start events, in all
	killing counter // kills, in all
	_       [CacheLine]byte
	live    atomic.Int64 // streams between start event and result or hang-up
	peak    atomic.Int64
	_       [CacheLine]byte
	// coalesced counts the events that shared a read with another one.
	coalesced atomic.Int64
	// unstamped counts the reads without the kernel's time of arrival.
	unstamped atomic.Int64
	backedOff atomic.Int64

	plan  *Plan
	parts []collectorPart

	mu       sync.Mutex
	books    Counts // the endings of streams, and what was swept; counts knows the rest
	steps    []time.Duration
	examples []bundle.LoadExample
	redactor *secret.Redactor // of messages, which may quote the gateway
	// refused is called once, when the first stream shows that there is no such gateway.
	refused func(message string)
	// refusals are the parts that were refused.
	refusals map[int]bool
	refusal  string // why the first was
}

var _ Sink = (*collector)(nil)

// newCollector makes a collector that counts and measures each class of a plan.
func newCollector(shards int, p *Plan) *collector {
	classes := len(p.Classes)
	c := &collector{
		plan: p, hist: newHistograms(shards, classes), books: Counts{Classes: make([]bundle.StreamOutcomes, classes)},
		parts: make([]collectorPart, min(shards, mostParts)),
	}
	for i := range c.parts {
		part := &c.parts[i]
		part.collector, part.part, part.books.Classes = c, i, make([]bundle.StreamOutcomes, classes, classes+apart)
	}
	return c
}

// warm begins the warm-up of the plan. The function that it returns forgets it.
func (c *collector) warm() (stop func()) {
	c.cold.Store(c.plan.Warmup > 0)
	timer := time.AfterFunc(c.plan.Warmup, func() { c.cold.Store(false) })
	return func() { timer.Stop() }
}

func (c *collector) Record(worker, class int, m Metric, d time.Duration) {
	if !c.cold.Load() {
		c.hist.shards[uint(worker)%uint(len(c.hist.shards))].record(class, m, d) //nolint:gosec // any number will do
	}
}

func (c *collector) Output(worker, events, bytes int) {
	c.hist.shards[uint(worker)%uint(len(c.hist.shards))].output(events, bytes) //nolint:gosec // any number will do
}

func (c *collector) Opening() { c.opening.Add(1) }
func (c *collector) Killing() { c.killing.Add(1) }
func (c *collector) HungUp()  { c.live.Add(-1) }

func (c *collector) Started() {
	c.started.Add(1)
	c.begin()
}

// begin counts an open stream.
func (c *collector) begin() {
	n := c.live.Add(1)
	for {
		peak := c.peak.Load()
		if n <= peak || c.peak.CompareAndSwap(peak, n) {
			return
		}
	}
}

func (c *collector) Ended(r Result) {
	r.Message = c.redactor.Text(r.Message)
	c.close(&r)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.books.end(&r, c.plan.Stream(r.Stream).Class)
	if r.Message != "" {
		c.keepExample(bundle.LoadExample{Stream: r.Stream, Outcome: r.Outcome.String(), Message: r.Message, Times: 1})
	}
	if r.Refused {
		c.refusedBy(r.Message)
	}
}

// close counts an open stream no longer.
func (c *collector) close(r *Result) {
	if r.Fate != NoProcess && !r.Disconnected { // otherwise HungUp has counted it
		c.live.Add(-1)
	}
}

// refusedBy reports once that there is no such gateway. The caller holds mu.
func (c *collector) refusedBy(message string) {
	if c.refused != nil && c.started.Load() == 0 {
		c.refused(message)
		c.refused = nil
	}
}

// refuse notes that a part was refused. There is no such gateway when all are: one of several may have another token.
func (c *collector) refuse(message string, part, parts int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusals == nil {
		c.refusals, c.refusal = map[int]bool{}, message
	}
	if c.refusals[part] = true; len(c.refusals) == parts {
		c.refusedBy(message)
	}
}

// refusedWhole returns why a part was refused, if no stream of any part has started.
func (c *collector) refusedWhole() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started.Load() > 0 {
		return ""
	}
	return c.refusal
}

// exemplify adds the examples of a worker process, and converts the numbers of its
// streams to those of the whole run. Those of a part that was refused name it.
func (c *collector) exemplify(all []bundle.LoadExample, part, parts int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range all {
		e.Stream = e.Stream*int64(parts) + int64(part)
		if c.refusals[part] && len(c.refusals) < parts {
			e.Message = fmt.Sprintf("worker %d of %d: %s", part+1, parts, e.Message)
		}
		c.keepExample(e)
	}
}

// keepExample keeps each message once. The caller holds mu.
func (c *collector) keepExample(one bundle.LoadExample) {
	kept := 0
	for i := range c.examples {
		switch e := &c.examples[i]; {
		case e.Outcome != one.Outcome:
		case e.Message == one.Message:
			e.Times += one.Times
			return
		default:
			kept++
		}
	}
	if kept < maxExamples {
		c.examples = append(c.examples, one)
	}
}

func (c *collector) Swept(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.books.Swept += int64(n)
}

func (c *collector) Coalesced(n int) { c.coalesced.Add(int64(n)) }
func (c *collector) Unstamped(n int) { c.unstamped.Add(int64(n)) }
func (c *collector) BackedOff()      { c.backedOff.Add(1) }

// maxSteps bounds how many jumps of the clock are kept.
const maxSteps = 20

func (c *collector) ClockStepped(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.steps) < maxSteps {
		c.steps = append(c.steps, d)
	}
}
