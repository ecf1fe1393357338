package load

import (
	"crypto/tls"
	"net/netip"
	"time"

	"assay/internal/envd/call"
	"assay/internal/target"
)

// The HTTP versions of a plan, with the names of the axis "http".
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

// Schedule says when the streams of a run begin, and what ends it.
type Schedule struct {
	// Streams is, in the closed model, how many streams are kept open: a new one
	// begins for each that ends.
	Streams int `json:",omitempty"`
	// Rate is, in the open model, how many streams begin per second, whether or
	// not earlier ones have ended. 0 means the closed model, unless there are Stages.
	Rate float64 `json:",omitempty"`
	// Stages is, in the open model, a rate that changes. It replaces Rate and Ramp; Duration
	// is then the sum of its durations.
	Stages []Stage `json:",omitempty"`
	// Poisson says that, in the open model, streams start at random times around the
	// rate instead of evenly.
	Poisson bool `json:",omitempty"`
	// Ramp is the time over which the number of streams, or the rate, rises linearly from 0.
	Ramp time.Duration `json:",omitempty"`
	// Duration ends the schedule; 0 means that Count does.
	Duration time.Duration `json:",omitempty"`
	// Count is the number of streams to begin; 0 means that Duration ends the schedule.
	Count int `json:",omitempty"`
	// Warmup is how long measured values are dropped at the beginning. An engine ignores it.
	Warmup time.Duration `json:",omitempty"`
	// Seed makes random choices repeatable: the times of Poisson, and Plan.Stream.
	Seed uint64
}

// Open reports whether the schedule is that of the open model.
func (s *Schedule) Open() bool { return s.Rate > 0 || len(s.Stages) > 0 }

// Plan is the work of an engine. It is immutable while an engine runs.
type Plan struct {
	// Addr is the host:port to dial.
	Addr string
	// HTTP is HTTP11, H2C or H2TLS.
	HTTP string
	// TLS is the TLS configuration with the protocol to offer by ALPN; nil is no TLS.
	TLS *tls.Config
	// Classes is the mix of streams, at least one. All of them share Addr, HTTP and TLS.
	Classes []Class
	Schedule

	// MaxOpen is how many streams may be open at one time, limited by the descriptors and
	// ports of this machine. Streams beyond it end as Blocked. 0 means no limit.
	MaxOpen int
	// Limits are the deadlines.
	Limits Limits
	// Part and Parts share a plan among Parts processes: this one opens every Parts-th
	// stream, beginning with number Part. Count is the share of this process; all other
	// fields are those of the whole plan. With 0 or 1 Parts, this process has all of it.
	Part, Parts int
	// Sandboxes are targets that the streams are spread over in turns, by their numbers. They
	// replace the targets of the dialects; all of them share Addr, HTTP and TLS. When it is
	// empty, every stream is for the target of its dialect.
	Sandboxes []*target.Target
	// Sources are local addresses to dial from, in turns: several addresses have more
	// ports. When it is empty, the kernel chooses.
	Sources []netip.Addr
}

// Multiplexed reports whether streams share connections.
func (p *Plan) Multiplexed() bool { return p.HTTP != HTTP11 }

const (
	// H2Streams is how many streams an HTTP/2 connection gets before another is opened, up
	// to h2Wanted connections. Few connections are cheapest for the driver; several are
	// better for gateways that have a loop or a lock for each.
	H2Streams = 1000
	h2Wanted  = 4
	// H2Most bounds the connections to a gateway that allows few streams on each.
	H2Most = 256
	// H2Guess is how many streams a connection is assumed to allow before its SETTINGS come.
	H2Guess = 100
	// H2DialsAtOnce bounds the HTTP/2 dials in flight.
	H2DialsAtOnce = 16
	// DialsAtOnce bounds the HTTP/1.1 dials in flight. It is below the smallest default
	// backlog of servers (128); above it, the kernel drops handshakes and repeats them a
	// second later.
	DialsAtOnce = 96
)

// H2Connections returns how many HTTP/2 connections a number of streams gets, unless the
// gateway allows fewer streams on each.
func H2Connections(streams int) int { return min(max((streams+H2Streams-1)/H2Streams, 1), h2Wanted) }

// Wanted returns how many streams the plan begins in all, as far as that is known
// beforehand: the count or rate × duration, whichever ends the schedule; else the
// number that it keeps open.
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

// share returns how many of n numbered things one part of several gets.
func share(n, part, parts int) int {
	if parts <= 1 {
		return n
	}
	return (n - part + parts - 1) / parts
}

// Pacer returns the schedule of intended starts: of all streams in the open model, of
// the first Streams ones in the closed model. Each call returns a new pacer, for one
// goroutine.
func (p *Plan) Pacer() Pacer {
	if p.Parts > 1 {
		return everyPacer{p.wholePacer(), p.Part, p.Parts}
	}
	return p.wholePacer()
}

// wholePacer returns the schedule of all parts of the plan.
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

// Limits are the deadlines of streams, already multiplied by the target's time scale.
type Limits struct {
	// Connect bounds one dial.
	Connect time.Duration
	// FirstEvent bounds the time from a sent request to its start event.
	FirstEvent time.Duration
	// End bounds the time from a confirmed kill, or from the end event, to the end of the response.
	End time.Duration
	// Grace is how long commands that end by themselves may run after the end of the schedule.
	Grace time.Duration
	// KillAll bounds the end of the run, in which all processes are killed. Interrupt
	// bounds it after an interrupt, if it is shorter; 0 is no other bound.
	KillAll   time.Duration
	Interrupt time.Duration
}

// Ending returns how long the end of the run may take.
func (l *Limits) Ending(interrupted bool) time.Duration {
	if interrupted && l.Interrupt > 0 {
		return min(l.KillAll, l.Interrupt)
	}
	return l.KillAll
}

// firstEvent is the default of Limits.FirstEvent, before the time scale.
const firstEvent = 10 * time.Second

// DefaultLimits returns the deadlines, multiplied by scale. A response has 5 s to end after its
// process was killed, because a child of the command may hold the output open for another interval.
func DefaultLimits(scale float64) Limits {
	s := func(d time.Duration) time.Duration { return scaled(d, scaleOf(scale)) }
	return Limits{
		Connect: s(5 * time.Second), FirstEvent: s(firstEvent), End: s(5 * time.Second),
		Grace: s(time.Second), KillAll: 10 * time.Second, Interrupt: 10 * time.Second,
	}
}

// scaleOf returns the time scale of a target; 0 is 1.
func scaleOf(scale float64) float64 {
	if scale <= 0 {
		return 1
	}
	return scale
}

// defaultSilence returns how long a command that prints once per interval may be silent, 0 for ever.
//
// A stream is stalled after five intervals: a loaded gateway delays ticks by a fraction
// of an interval, and a lost tick is found by its number. The limit is at least 5 s,
// however short the interval, because a machine may stand still for seconds.
func defaultSilence(interval time.Duration) time.Duration {
	if interval == 0 {
		return 0
	}
	return max(scaled(interval, 5), 5*time.Second)
}
