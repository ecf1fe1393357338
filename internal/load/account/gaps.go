package account

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// touch is the first output event of a stream in a read.
type touch struct {
	stream int32
	class  uint16
	after  bool  // an earlier read had one too
	gap    int64 // the time since that one
}

// gaps separates known gaps from unknown ones. A read has one time, so the gaps of events
// that share a read are unknown: they are counted and kept out of the histogram. In a run
// without known gaps (output always comes in groups), the times between the groups are
// recorded at the end.
type gaps struct {
	known  int64
	unsaid int                       // events with unknown gaps that the sink does not know yet
	spare  []*hdrhistogram.Histogram // unknown gaps, by class
}

// The range of the histograms of unknown gaps, in µs. With two digits, one takes 27 KB.
const (
	spareHighest = int64(time.Hour / time.Microsecond)
	spareDigits  = 2
)

// touch notes an output event.
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

// recordGaps records the gaps of a read, once all its events are known.
func (a *Streams) recordGaps(vague bool) {
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

// keep counts a gap of unknown length.
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

// tellGaps records the unknown gaps of a run without known ones.
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
