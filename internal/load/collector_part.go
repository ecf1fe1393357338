package load

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"assay/internal/record/bundle"
)

// CacheLine is what processors move between each other, in bytes; some fetch two lines at a
// time. What one thread writes often lies this far from what other threads use.
const CacheLine = 128

// apart is how many outcomes keep those of two parts on different cache lines.
const apart = (2*CacheLine + int(unsafe.Sizeof(bundle.StreamOutcomes{})) - 1) / int(unsafe.Sizeof(bundle.StreamOutcomes{}))

// mostParts bounds the parts that count for themselves. More parts share them.
const mostParts = 8

// counter is a number that several threads add to without waiting for each other. The zero
// value is 0.
type counter struct {
	parts [mostParts]struct {
		_ [CacheLine - 8]byte // also from what lies before the counter
		n atomic.Int64
	}
}

// Add adds n.
func (c *counter) Add(n int64) { c.add(0, n) }

// add adds n in a part, from 0.
func (c *counter) add(part int, n int64) { c.parts[part].n.Add(n) }

// Load returns the sum.
func (c *counter) Load() (sum int64) {
	for i := range c.parts {
		sum += c.parts[i].n.Load()
	}
	return sum
}

// collectorPart is the sink of one part of an engine, such as an event loop. It keeps the
// results of good streams until somebody reads the books.
type collectorPart struct {
	*collector

	part  int
	mu    sync.Mutex
	books Counts
	_     [CacheLine]byte
}

var _ Sharder = (*collector)(nil)

// Shard returns the sink of a part.
func (c *collector) Shard(part int) Sink { return &c.parts[uint(part)%uint(len(c.parts))] } //nolint:gosec // any number will do

func (p *collectorPart) Opening() { p.opening.add(p.part, 1) }
func (p *collectorPart) Killing() { p.killing.add(p.part, 1) }

func (p *collectorPart) Started() {
	p.started.add(p.part, 1)
	p.begin()
}

func (p *collectorPart) Ended(r Result) {
	if r.Message != "" || r.Refused {
		p.collector.Ended(r)
		return
	}
	p.close(&r)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.books.end(&r, p.plan.Stream(r.Stream).Class)
}

// fold adds what the parts have kept to the books. The caller holds mu.
func (c *collector) fold() {
	for i := range c.parts {
		p := &c.parts[i]
		p.mu.Lock()
		c.books.Add(&p.books)
		clear(p.books.Classes)
		p.books = Counts{Classes: p.books.Classes}
		p.mu.Unlock()
	}
}
