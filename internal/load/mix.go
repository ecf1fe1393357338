package load

import (
	"time"
)

// Class is one kind of stream in a plan's mix. Optional fields are off at their zero
// values.
type Class struct {
	// Name is its name in reports.
	Name string
	// Share is its weight among the classes of the plan, above 0.
	Share float64
	// Dialect builds its requests and reads the responses. All classes of a plan share
	// the address, HTTP version and TLS of the plan.
	Dialect Dialect
	// Check says what the output of its streams must be.
	Check Check
	// Endless says that its command never ends by itself.
	Endless bool
	// Interval is how often the command prints; 0 is unknown. With an interval, gaps are
	// also recorded corrected: see RecordGap.
	Interval time.Duration
	// Silence is how long a running stream may send nothing; 0 means for ever.
	Silence time.Duration
	// Think is, in the closed model, the pause after a stream before its place is filled.
	Think time.Duration
	// Hold is the time from the start event of a stream to its kill; 0 is no kill.
	Hold time.Duration
	// KillShare and DisconnectShare are the shares of its streams, from 0 to 1 and
	// together at most 1, that the driver kills, or hangs up on. The times are spread
	// evenly over Within after the start event.
	KillShare, DisconnectShare float64
	Within                     time.Duration
	// Stdin is written to the process after its start event, and its input is then
	// closed. With nil, the process has no input.
	Stdin []byte
}

// Part is the class of one stream of a plan, and how the driver ends it, if at all.
type Part struct {
	// Class is the stream's class: an index into Plan.Classes.
	Class int
	// Kill says that the driver kills the process. Disconnect says that it hangs up
	// without a kill: it closes the connection of an HTTP/1.1 stream, or resets an HTTP/2
	// stream with CANCEL. At most one is set. A stream that ends earlier by itself is OK.
	// Over ProtocolWS the kill is a message on the stream's own socket, and the gateway
	// ends the process of a closed one by SIGTERM.
	Kill, Disconnect bool
	// After is the time from the start event to the kill or hang-up.
	After time.Duration
}

// endless reports whether the streams of some class stay open until the end of the run.
func (p *Plan) endless() bool {
	for _, c := range p.Classes {
		if c.Endless && c.Hold == 0 {
			return true
		}
	}
	return false
}

// Stream returns the part of stream number n, counted from 0 in the order of intended
// starts. It depends only on the plan and its seed, takes the same time for every n, and
// allocates nothing.
//
// Classes are assigned by a sequence that is close to the shares after few streams, and
// not at random: of ten streams with shares 9 and 1, one is of the second class.
func (p *Plan) Stream(n int64) Part {
	if p.Parts > 1 {
		n = n*int64(p.Parts) + int64(p.Part)
	}
	c := 0
	if len(p.Classes) > 1 {
		c = p.classOf(n)
	}
	return p.Classes[c].part(c, mixed(p.Seed, n))
}

// The pauses after failures.
const (
	leastBackoff = 200 * time.Millisecond
	mostBackoff  = 5 * time.Second
)

// Backoff returns how long, in the closed model, the place of stream number n stays empty, if
// the stream was the fails-th in a row (from 1) there that failed before its start event. The
// time doubles from 200 ms to 5 s, or to a millisecond for each stream of the plan: a gateway
// that refuses all of them is asked a few thousand times per second at most. The pause is
// between the half and the whole of the time, by a draw of the seed, so that streams that were
// refused together do not come back together.
func (p *Plan) Backoff(n int64, fails int) time.Duration {
	if p.Parts > 1 {
		n = n*int64(p.Parts) + int64(p.Part)
	}
	const doublings = 16 // 200 ms becomes more than 1 ms for each of a million streams
	most := max(mostBackoff, time.Duration(p.Streams)*time.Millisecond)
	whole := min(leastBackoff<<min(max(fails-1, 0), doublings), most)
	return time.Duration((1 + unit(mixed(mixed(p.Seed, n), 2))) / 2 * float64(whole))
}

// Boxes returns the number of targets that the streams are spread over, at least 1.
func (p *Plan) Boxes() int { return max(len(p.Sandboxes), 1) }

// Box returns the index in Sandboxes of the target of stream number n, counted as in
// Stream: the streams take turns. Without Sandboxes it is 0.
func (p *Plan) Box(n int64) int {
	if len(p.Sandboxes) < 2 {
		return 0
	}
	if p.Parts > 1 {
		n = n*int64(p.Parts) + int64(p.Part)
	}
	return int(n % int64(len(p.Sandboxes)))
}

// In returns the dialect for the target with an index in Sandboxes.
func (d Dialect) In(p *Plan, box int) Dialect {
	if len(p.Sandboxes) > 0 {
		d.Target = p.Sandboxes[box]
	}
	return d
}

// classOf assigns the classes: of all sequences, n·φ modulo 1 is spread most evenly,
// wherever it ends.
func (p *Plan) classOf(n int64) int {
	const golden = 0x9E3779B97F4A7C15 // 2^64/φ
	var all float64
	for i := range p.Classes {
		all += p.Classes[i].Share
	}
	at := unit(mixed(p.Seed, -1)+uint64(n)*golden) * all //nolint:gosec // n is not negative
	for i := range p.Classes {
		if at -= p.Classes[i].Share; at < 0 {
			return i
		}
	}
	return len(p.Classes) - 1
}

// part returns the part of one stream of the class, by a random draw.
func (c *Class) part(class int, draw uint64) Part {
	t := Part{Class: class}
	lot := unit(draw)
	switch {
	case lot < c.KillShare:
		t.Kill = true
	case lot < c.KillShare+c.DisconnectShare:
		t.Disconnect = true
	default:
		t.Kill, t.After = c.Hold > 0, c.Hold
		return t
	}
	t.After = time.Duration(unit(mixed(draw, 1)) * float64(c.Within))
	return t
}

// mixed returns the n-th draw of a seed, by SplitMix64, whose state after n steps is
// computed directly.
func mixed(seed uint64, n int64) uint64 {
	z := seed + uint64(n+1)*0x9E3779B97F4A7C15 //nolint:gosec // modulo 2^64, on purpose
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// unit converts a draw to a number from 0 to below 1.
func unit(draw uint64) float64 { return float64(draw>>11) / (1 << 53) }

// maxCorrections bounds how many values one gap adds to the corrected histogram.
const maxCorrections = 10_000

// RecordGap records the time between two output events of a stream of the class. If the
// class has an interval, it also records the gap corrected for hidden events: a gap of
// five intervals hides four late events, so the corrected histogram also gets the gap
// less one interval, less two, and so on. class is the index of the class. An engine
// calls RecordGap instead of Record with Gap.
func (c *Class) RecordGap(s Sink, worker, class int, d time.Duration) {
	s.Record(worker, class, Gap, d)
	if c.Interval <= 0 {
		return
	}
	s.Record(worker, class, GapCorrected, d)
	n := 0
	for rest := d - c.Interval; rest >= c.Interval && n < maxCorrections; rest -= c.Interval {
		s.Record(worker, class, GapCorrected, rest)
		n++
	}
}
