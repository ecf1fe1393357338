//go:build linux && (amd64 || arm64)

package fast

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

// gaps tells the times between events apart that are known from those that are not:
// the kernel's stamp is that of the last segment that a read returns, so events that
// share a read share a time. They are counted and kept out of the histogram. When a
// run has no others (output always comes in groups), the times between the groups are
// what there is to tell.
type gaps struct {
	known  int64
	unsaid int                       // events that were kept out, and of which the sink was not told yet
	spare  []*hdrhistogram.Histogram // by class
}

// The range of what is kept of coalesced gaps, in µs; two digits take 27 KB.
const (
	spareHighest = int64(time.Hour / time.Microsecond)
	spareDigits  = 2
)

// touch notes an event of output.
func (l *loop) touch(i int32, s *stream) {
	if s.read == l.reads {
		s.set(flagCoalesced)
		l.gaps.unsaid++
		return
	}
	s.read = l.reads
	s.clear(flagCoalesced)
	l.touched = append(l.touched, touch{stream: i, class: s.class, after: s.last != 0, gap: l.at - s.last})
	s.last = l.at
}

// settleGaps is called after every read, when it is known which events shared it.
// vague says that even those of different streams may be far apart.
func (l *loop) settleGaps(vague bool) {
	for _, t := range l.touched {
		switch {
		case !t.after:
		case vague || l.streams.at(t.stream).has(flagCoalesced):
			l.gaps.keep(t.class, t.gap)
		default:
			l.gaps.known++
			l.classes[t.class].RecordGap(l.sink, l.index, int(t.class), max(time.Duration(t.gap), 0))
		}
	}
	l.touched = l.touched[:0]
}

// keep keeps a gap out that is not known.
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

// tellGaps tells the sink, at the end, what the gaps came to.
func (l *loop) tellGaps() {
	if l.gaps.known > 0 {
		return
	}
	for class, spare := range l.gaps.spare {
		if spare == nil {
			continue
		}
		for _, b := range spare.Distribution() {
			for range b.Count {
				l.classes[class].RecordGap(l.sink, l.index, class, time.Duration(b.From)*time.Microsecond)
			}
		}
	}
}
