package load

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"assay/internal/record/bundle"
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
				if a := c.counts(); a.Outcomes.Total() > a.Opening+parts {
					t.Errorf("%d ended of %d", a.Outcomes.Total(), a.Opening)
				}
			}
		})
	}
	all.Wait()
	b := c.counts()
	if b.Outcomes[bundle.StreamOK] != parts*each || b.Outcomes[bundle.StreamKilled] != parts*each || b.Outcomes[bundle.StreamReset] != parts || b.Killed != parts*each || b.NotOpened != parts || b.Unstarted != parts {
		t.Errorf("%+v", b)
	}
	if b.Classes[0] != b.Outcomes || b.Opening != 2*parts*each || b.Started != 2*parts*each || b.Killing != parts*each || b.Live != 0 {
		t.Errorf("%+v", b)
	}
	if b.Peak < 1 || b.Peak > parts || len(c.examples) != maxExamples {
		t.Errorf("a peak of %d with %d at a time, %d examples", b.Peak, parts, len(c.examples))
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
