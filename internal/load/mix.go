package load

import (
	"time"
)

// Class is one kind of stream in a plan's mix. The zero values of what is
// optional ask for nothing.
type Class struct {
	// Name is what reports call it.
	Name string
	// Share is its weight among the classes of the plan, above 0.
	Share float64
	// Dialect builds its requests and reads what comes back. All classes of a plan
	// have the plan's address, HTTP version and TLS.
	Dialect Dialect
	// Check says what the output of its streams must be.
	Check Check
	// Endless says that its command does not end by itself.
	Endless bool
	// Interval is how often the command prints; 0 means that nobody knows. The gaps
	// of a class with an interval are also recorded corrected: see RecordGap.
	Interval time.Duration
	// Silence is how long a running stream may send nothing; 0 means for ever.
	Silence time.Duration
	// Think is, in the closed model, how long the place of a stream stays empty after it.
	Think time.Duration
	// Hold ends every stream by a kill that long after its start event; 0 is never.
	Hold time.Duration
	// KillShare and DisconnectShare are the parts of its streams, from 0 to 1 and
	// together at most 1, that the driver kills, or hangs up on, at a time spread
	// evenly over Within after the start event.
	KillShare, DisconnectShare float64
	Within                     time.Duration
	// Stdin is sent to the process after its start event, and its input is then
	// closed. nil leaves the process without input.
	Stdin []byte
}

// Part is what one stream of a plan is to do besides running its command.
type Part struct {
	// Class is the stream's class: an index into Plan.Mix.
	Class int
	// Kill and Disconnect, of which at most one is set, say that the driver kills the
	// process, or hangs up without killing it: closes the connection of an HTTP/1.1
	// stream, resets an HTTP/2 stream with CANCEL. A stream that ended earlier by
	// itself is left alone, and is OK.
	Kill, Disconnect bool
	// After is when, counted from the start event.
	After time.Duration
}

// Mix is the classes of the plan; it is never empty. A plan without Classes has
// one, made of the plan's own Dialect, Check, Endless and Limits.Silence. An engine
// takes it once, at the begin of Run.
func (p *Plan) Mix() []Class {
	if len(p.Classes) > 0 {
		return p.Classes
	}
	return []Class{{Share: 1, Dialect: p.Dialect, Check: p.Check, Endless: p.Endless, Silence: p.Limits.Silence}}
}

// endless reports whether streams of some class live until the end of the run.
func (p *Plan) endless() bool {
	for _, c := range p.Mix() {
		if c.Endless && c.Hold == 0 {
			return true
		}
	}
	return false
}

// Stream is the part of stream number n, counted from 0 in the order of intended
// starts. It depends on nothing but the plan and its seed, takes the same time for
// every n, and allocates nothing.
//
// Classes are dealt by a sequence that comes close to the shares after few streams,
// and not by lot: of ten streams with shares 9 and 1, one is of the second class.
func (p *Plan) Stream(n int64) Part {
	if p.Parts > 1 {
		n = n*int64(p.Parts) + int64(p.Part)
	}
	c := 0
	if len(p.Classes) > 1 {
		c = p.classOf(n)
	}
	if len(p.Classes) == 0 {
		return Part{}
	}
	return p.Classes[c].part(c, mixed(p.Seed, n))
}

// classOf deals the classes: n·φ modulo 1 is as even as a sequence can be for all
// its beginnings at once.
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

// part draws what happens to one stream of the class.
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

// mixed is the n-th draw of a seed: SplitMix64, whose state after n steps is known at once.
func mixed(seed uint64, n int64) uint64 {
	z := seed + uint64(n+1)*0x9E3779B97F4A7C15 //nolint:gosec // modulo 2^64, on purpose
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// unit is a draw as a number from 0 to below 1.
func unit(draw uint64) float64 { return float64(draw>>11) / (1 << 53) }

// maxCorrections bounds what one gap adds to the corrected histogram.
const maxCorrections = 10_000

// RecordGap records the time between two output events of a stream of the class,
// as it is and, where the class has an interval, corrected for what was not seen:
// a gap of five intervals hides four events that were as late as that, so the
// corrected histogram also gets the gap less one interval, less two, and so on.
// class is its index. An engine calls it instead of Record with Gap.
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
