package load

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"assay/internal/bundle"
)

// report is what a good stream reports.
func report(s Sink, worker int) {
	s.Opening()
	s.Record(worker, 0, StartLag, time.Microsecond)
	s.Started()
	s.Record(worker, 0, FirstEvent, time.Microsecond)
	s.Record(worker, 0, FromSent, time.Microsecond)
	for range 3 {
		s.Record(worker, 0, Gap, 5*time.Microsecond)
	}
	s.Output(worker, 5, 50)
	s.Record(worker, 0, EndOfStream, 5*time.Microsecond)
	s.Ended(Result{Fate: EndedOK, Opened: true})
}

// What the parts count, also more of them than there are, is that of one sink.
func TestThePartsOfACollectorCountTogether(t *testing.T) {
	const parts, each = 11, 500
	c := newCollector(3, oneClass())
	var all sync.WaitGroup
	for part := range parts {
		s := c.Shard(part)
		all.Go(func() {
			for n := range each {
				report(s, part)
				s.Opening()
				s.Started()
				s.Killing()
				s.Ended(Result{Stream: int64(n), Outcome: bundle.StreamKilled, Fate: FateKilled, Opened: true, KillSent: true})
				if n == 0 {
					s.Ended(Result{Outcome: bundle.StreamReset, Fate: NoProcess, Message: fmt.Sprintf("broken %d", part)})
				}
				if a := c.activity(); a.ended > a.opening+parts {
					t.Errorf("%d ended of %d", a.ended, a.opening)
				}
			}
		})
	}
	all.Wait()
	b := c.snapshot()
	if b.outcomes[bundle.StreamOK] != parts*each || b.outcomes[bundle.StreamKilled] != parts*each || b.outcomes[bundle.StreamReset] != parts || b.killed != parts*each || b.notOpened != parts || b.unstarted != parts {
		t.Errorf("%+v", b)
	}
	if c.classes[0] != b.outcomes || c.opening.Load() != 2*parts*each || c.started.Load() != 2*parts*each || c.killing.Load() != parts*each || c.live.Load() != 0 {
		t.Errorf("classes %v, %d opened, %d started, %d killed, %d live", c.classes[0], c.opening.Load(), c.started.Load(), c.killing.Load(), c.live.Load())
	}
	if peak := c.peak.Load(); peak < 1 || peak > parts {
		t.Errorf("a peak of %d with %d at a time", peak, parts)
	}
	if len(c.examples) != maxExamples || c.counts().Outcomes != b.outcomes {
		t.Errorf("%d examples, tally %v", len(c.examples), c.counts().Outcomes)
	}
}

// BenchmarkParts is the cost of a stream's reports in each of several threads (-cpu 1,2):
// they do not wait for each other.
func BenchmarkParts(b *testing.B) {
	c := newCollector(mostParts, oneClass())
	next := make(chan int, 1)
	next <- 0
	b.RunParallel(func(pb *testing.PB) {
		part := <-next
		next <- part + 1
		for s := c.Shard(part); pb.Next(); {
			report(s, part)
		}
	})
}
