package account

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// touch is the first event of output of a stream in a read.
type touch struct {
	stream int32
	class  uint16
	after  bool  // there was one before, in another read
	gap    int64 // since that one
}

// gaps separates known times between events from unknown ones: a read has one time, so
// events that share a read share a time. Those are counted and kept out of the
// histogram. When a run has no others (output always comes in groups), the times between
// the groups are recorded at the end.
type gaps struct {
	known  int64
	unsaid int                       // events that were kept out, and that the sink was not told of
	spare  []*hdrhistogram.Histogram // by class
}

// The range of what is kept of coalesced gaps, in µs; two digits take 27 KB.
const (
	spareHighest = int64(time.Hour / time.Microsecond)
	spareDigits  = 2
)

// touch notes an event of output.
func (a *Streams) touch(i int32, s *Stream) {
	if s.read == a.reads {
		s.set(flagCoalesced)
		a.gaps.unsaid++
		return
	}
	s.read = a.reads
	s.clear(flagCoalesced)
	a.touched = append(a.touched, touch{stream: i, class: s.class, after: s.last != 0, gap: a.at - s.last})
	s.last = a.at
}

// settleGaps records the gaps of a read, when it is known which events shared it.
func (a *Streams) settleGaps(vague bool) {
	for _, t := range a.touched {
		switch {
		case !t.after:
		case vague || a.entries.At(t.stream).has(flagCoalesced):
			a.gaps.keep(t.class, t.gap)
		default:
			a.gaps.known++
			a.classes[t.class].RecordGap(a.sink, a.index, int(t.class), max(time.Duration(t.gap), 0))
		}
	}
	a.touched = a.touched[:0]
}

// keep counts a gap whose length is not known.
func (g *gaps) keep(class uint16, ns int64) {
	for int(class) >= len(g.spare) {
		g.spare = append(g.spare, nil)
	}
	if g.spare[class] == nil {
		g.spare[class] = hdrhistogram.New(1, spareHighest, spareDigits)
	}
	g.unsaid++
	_ = g.spare[class].RecordValue(min(max(ns/int64(time.Microsecond), 0), spareHighest)) // in range
}

// tellGaps records the unknown gaps of a run that has no others.
func (a *Streams) tellGaps() {
	if a.gaps.known > 0 {
		return
	}
	for class, spare := range a.gaps.spare {
		if spare == nil {
			continue
		}
		for _, b := range spare.Distribution() {
			for range b.Count {
				a.classes[class].RecordGap(a.sink, a.index, class, time.Duration(b.From)*time.Microsecond)
			}
		}
	}
}
