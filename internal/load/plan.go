package load

import (
	"crypto/tls"
	"net/netip"
	"time"

	"assay/internal/envd/call"
)

// The HTTP versions of a plan, as the axis "http" names them.
const (
	HTTP11 = "1.1"
	H2C    = "h2c"
	H2TLS  = "h2-tls"
)

// The protocols of a plan.
const (
	ProtocolConnect = call.Connect
	ProtocolGRPC    = call.GRPC
	ProtocolWeb     = call.GRPCWeb
	ProtocolNDJSON  = call.NDJSON
)

// Plan is the work of an engine. It is immutable while an engine runs.
type Plan struct {
	// Addr is the host:port to dial.
	Addr string
	// HTTP is HTTP11, H2C or H2TLS.
	HTTP string
	// TLS is how the gateway is spoken to, with the protocol to offer; nil is without.
	TLS *tls.Config
	// Dialect builds the requests and reads what comes back.
	Dialect Dialect

	// Streams is, in the closed model, how many streams are kept open: a new one
	// begins for each that ends.
	Streams int
	// Rate is, in the open model, how many streams begin in a second, whether or
	// not earlier ones have ended. 0 means the closed model.
	Rate float64
	// Ramp is the time over which the number of streams, or the rate, rises linearly from 0.
	Ramp time.Duration
	// Duration ends the schedule; 0 means that Count does.
	Duration time.Duration
	// Count is the number of streams to begin; 0 means that Duration ends the schedule.
	Count int
	// Endless says that the command does not end by itself, so that nothing is
	// waited for at the end of the schedule.
	Endless bool
	// MaxOpen is how many streams may be open at one time: what the descriptors and
	// ports of this machine allow. Streams beyond it end as Blocked. 0 means no limit.
	MaxOpen int

	// Check says what every stream's output must be.
	Check Check
	// Limits are the deadlines.
	Limits Limits

	// Classes is a mix of streams: see Mix. Where it is set, it is used instead of
	// Dialect, Check, Endless and Limits.Silence.
	Classes []Class
	// Stages is, in the open model, a rate that changes; used instead of Rate, Ramp
	// and Duration, which is the sum of theirs.
	Stages []Stage
	// Poisson says that, in the open model, streams start at random times around the
	// rate instead of evenly.
	Poisson bool
	// Seed repeats random choices: the times of Poisson, and the parts of streams.
	Seed uint64
	// Warmup is how long the sink drops measured values. An engine records as always.
	Warmup time.Duration
	// Part and Parts share a plan out over processes: of Parts of them, this one opens
	// every Parts-th stream, beginning with number Part. All else, but for Count, is
	// that of the whole plan. 0 or 1 Parts is all of it.
	Part, Parts int
	// Sources are local addresses to dial from, the i-th connection from the i-th, in
	// turns: more of them than one have more ports. Empty leaves it to the kernel.
	Sources []netip.Addr
}

// Multiplexed reports whether streams share connections.
func (p *Plan) Multiplexed() bool { return p.HTTP != HTTP11 }

const (
	// H2Streams is how many streams an HTTP/2 connection gets before another is opened,
	// while there are fewer than h2Wanted of them. Few connections are cheapest for the
	// driver; several, because gateways often have a loop or a lock for each.
	H2Streams = 1000
	h2Wanted  = 4
	// H2Most bounds the connections to a gateway that allows few streams on each.
	H2Most = 256
	// H2Guess is how many streams a connection is thought to take before it has said so.
	H2Guess = 100
	// H2DialsAtOnce bounds the HTTP/2 dials under way.
	H2DialsAtOnce = 16
	// DialsAtOnce bounds the HTTP/1.1 dials under way: below the smallest backlog that
	// servers have by default (128), or the kernel drops handshakes and repeats them a
	// second later.
	DialsAtOnce = 96
)

// H2Connections is how many HTTP/2 connections so many streams get, unless the gateway
// allows fewer streams on each.
func H2Connections(streams int) int { return min(max((streams+H2Streams-1)/H2Streams, 1), h2Wanted) }

// Open reports whether the plan is of the open model.
func (p *Plan) Open() bool { return p.Rate > 0 || len(p.Stages) > 0 }

// Wanted is how many streams the plan begins in all, as far as that is known
// beforehand: the count, or rate × duration, whichever ends the schedule; else how
// many it keeps open.
func (p *Plan) Wanted() int {
	if p.Count > 0 && p.Duration == 0 {
		return p.Count
	}
	n := share(p.Streams, p.Part, p.Parts)
	if p.Open() {
		n = p.Pacer().Before(p.Duration)
	}
	if p.Count > 0 {
		n = min(n, p.Count)
	}
	return n
}

// share is how many of n numbered things the given part of several gets.
func share(n, part, parts int) int {
	if parts <= 1 {
		return n
	}
	return (n - part + parts - 1) / parts
}

// Pacer is the schedule of intended starts: of all streams in the open model, of
// the first Streams ones in the closed model. Each call gives a pacer of its own,
// for one goroutine.
func (p *Plan) Pacer() Pacer {
	if p.Parts > 1 {
		return everyPacer{p.wholePacer(), p.Part, p.Parts}
	}
	return p.wholePacer()
}

// wholePacer is the schedule of all parts of the plan.
func (p *Plan) wholePacer() Pacer {
	if !p.Open() {
		return RampPacer{N: p.Streams, Ramp: p.Ramp}
	}
	rate := RatePacer{Rate: p.Rate, Ramp: p.Ramp}
	switch {
	case p.Poisson && len(p.Stages) > 0:
		return &PoissonPacer{curve: stages(p.Stages), seed: p.Seed}
	case p.Poisson:
		return &PoissonPacer{curve: rate, seed: p.Seed}
	case len(p.Stages) > 0:
		return StagePacer{Stages: p.Stages}
	}
	return rate
}

// Limits are the deadlines of streams. All are stretched by the target's time
// scale before they come here.
type Limits struct {
	// Connect bounds one dial.
	Connect time.Duration
	// FirstEvent bounds the time from a sent request to its start event.
	FirstEvent time.Duration
	// Silence is how long a running stream may send nothing; 0 means for ever.
	Silence time.Duration
	// End bounds the time from a confirmed kill, or from the end event, to the end of the answer.
	End time.Duration
	// Grace is how long streams may go on by themselves after the end of the schedule.
	Grace time.Duration
	// Wind bounds the killing of everything at the end, and Interrupt that after an
	// interrupt, where it is shorter; 0 is no other bound.
	Wind      time.Duration
	Interrupt time.Duration
}

// Winding is how long everything may take to be killed.
func (l *Limits) Winding(interrupted bool) time.Duration {
	if interrupted && l.Interrupt > 0 {
		return min(l.Wind, l.Interrupt)
	}
	return l.Wind
}

// DefaultLimits are the deadlines for a command that says something at every
// interval (0: that may be silent for long), stretched by scale.
//
// A stream is stalled after five intervals: ticks of a loaded gateway come late by
// a fraction of one, and a stream that lost a tick is found by its number. Below 5 s
// it is not: a machine may stand still for some of them, however short an interval is.
// An answer has 5 s to end after its process was killed, because a child of the
// command may hold the output open for another interval.
func DefaultLimits(interval time.Duration, scale float64) Limits {
	if scale <= 0 {
		scale = 1
	}
	s := func(d time.Duration) time.Duration { return time.Duration(float64(d) * scale) }
	silence := time.Duration(0)
	if interval > 0 {
		silence = max(5*interval, leastSilence)
	}
	return Limits{
		Connect: s(5 * time.Second), FirstEvent: s(10 * time.Second),
		Silence: s(silence), End: s(5 * time.Second),
		Grace: s(time.Second), Wind: 10 * time.Second, Interrupt: 10 * time.Second,
	}
}

// leastSilence is the shortest silence that is a stall, unless a plan says another.
const leastSilence = 5 * time.Second
