package load

import (
	"context"
	"fmt"
	"strings"
	"time"

	"assay/internal/record/bundle"
)

// Engine opens the streams of a plan, and gives measured values and one result per stream
// to a sink.
//
// An engine keeps its own clock: latencies are measured from the intended start
// of a stream, which the plan's [Pacer] gives relative to the beginning of Run.
type Engine interface {
	// Name is the engine's name in reports.
	Name() string
	// Run opens the streams of p until its duration or count is reached or ctx is
	// done, then kills the processes that it started. It returns when the sink has the
	// result of every stream and no goroutine, connection or descriptor is left. From
	// the end of the schedule (or of ctx) that takes at most p.Limits.KillAll plus
	// p.Limits.Grace. A failing stream is a result, never an error: an error means
	// that the engine itself could not work.
	//
	// Plan.Stream(n) gives the class of stream number n, in the order of intended starts,
	// and says whether and when it is killed or hung up on. Its process gets the input of
	// the class after the start event.
	Run(ctx context.Context, p *Plan, s Sink) error
}

// Metric is one of the measured distributions.
type Metric uint8

// The metrics. All are durations, kept in microseconds.
const (
	// FirstEvent is the time from the intended start of a stream to its start event, over
	// ProtocolWS to its first message.
	FirstEvent Metric = iota
	// Gap is the time between two output events of a stream.
	Gap
	// EndOfStream is the time to the end of the response: from the intended start of a
	// stream that ended by itself, from the sending of the kill of one that was killed.
	EndOfStream
	// StartLag is how much later than intended the driver began with a stream. It is the
	// driver's own delay and does not include a wait for a connection.
	StartLag
	// DriverLag is how late the driver noticed bytes that had arrived, or a time that had
	// come. It is the driver's own delay.
	DriverLag
	// GapCorrected is Gap plus the gaps that late events hide: see Class.RecordGap.
	GapCorrected
	// FromSent is the time from the sending of a request to the start event of its
	// stream (over ProtocolWS to its first message): FirstEvent without start lag and
	// dialling.
	FromSent
	// Connect is the time in which a TCP connection was made. Failed dials do not count.
	Connect
	// TLSFull is the time of a complete TLS handshake, from the connection to the last
	// message of the handshake. Failed handshakes do not count.
	TLSFull
	// TLSResumed is the same for a handshake that resumed the session of an earlier one.
	TLSResumed

	numMetrics = iota
)

// String returns the metric's key in reports, which is also its tag in .hlog files.
func (m Metric) String() string {
	return [numMetrics]string{
		"first_event", "gap", "end_of_stream", "start_lag", "driver_lag", "gap_corrected", "from_sent",
		"connect", "tls", "tls_resumed",
	}[m]
}

// ofStreams reports whether the metric measures streams, each of which has a class: not the
// driver, and not connections.
func (m Metric) ofStreams() bool {
	return m != StartLag && m != DriverLag && m != Connect && m != TLSFull && m != TLSResumed
}

// seriesOf reads the tag of a series.
func seriesOf(tag string) (bundle.LoadSeries, error) {
	name, class, several := strings.Cut(tag, "/")
	for m := range Metric(numMetrics) {
		if m.String() == name && (class != "") == several {
			return bundle.LoadSeries{Metric: m.String(), Class: class}, nil
		}
	}
	return bundle.LoadSeries{}, fmt.Errorf("there is no metric %.40q", tag)
}

// Sink takes the events and measured values of an engine. Any goroutine may call its
// methods. They allocate nothing (except Ended of a failed stream) and never block for long.
type Sink interface {
	// Record adds a measured value. worker is any number; it spreads concurrent callers
	// over shards. class is the class of the stream, an index into Plan.Classes; it is 0 for
	// DriverLag and for connections, which belong to no stream.
	Record(worker, class int, m Metric, d time.Duration)
	// Opening reports that a stream is being opened: from here on a process may exist.
	Opening()
	// Started reports the start event of a stream, over ProtocolWS the 101 response.
	Started()
	// Output counts output events and their bytes.
	Output(worker, events, bytes int)
	// HungUp reports that the driver hung up on a stream, as the plan asks. The stream is
	// no longer open; Ended follows when its process is killed or has ended.
	HungUp()
	// Killing reports that a kill is sent. Ended of the stream follows its answer.
	Killing()
	// Ended is called exactly once for every stream that began.
	Ended(r Result)
	// Coalesced counts n events that shared a read with another event, so that their gaps
	// are unknown.
	Coalesced(n int)
	// Unstamped counts n reads without the kernel's time of arrival, in an engine that uses
	// it. Their times are from the driver's own clock.
	Unstamped(n int)
	// ClockStepped reports that the wall clock, which the kernel's stamps use, jumped by d.
	ClockStepped(d time.Duration)
	// BackedOff reports that the place of a stream that failed before its start event stays
	// empty for Plan.Backoff, in the closed model.
	BackedOff()
	// Swept counts n processes that streams without a start event left behind, and that
	// were found and killed.
	Swept(n int)
}

// Sharder is a sink for several threads.
type Sharder interface {
	// Shard returns a sink for one part of an engine. What the parts report counts together;
	// a part that uses its own sink does not wait for the others.
	Shard(part int) Sink
}

// Fate is how the process of a stream ended.
type Fate uint8

// The fates. The ledger counts them.
const (
	// NoProcess means that no start event came.
	NoProcess Fate = iota
	// EndedOK means that it ended by itself with exit code 0.
	EndedOK
	// EndedError means that it ended by itself otherwise, or by a foreign signal.
	EndedError
	// FateKilled means that a kill was answered with success.
	FateKilled
	// LeftOpen means that neither its end nor a kill was confirmed.
	LeftOpen
	// EndedUnseen means that the driver had disconnected, and the process ended by itself
	// before the driver killed it; its exit code is unknown.
	EndedUnseen
	// EndedHungUp means that the driver had disconnected over ProtocolWS, and the process was
	// gone at the end of the run: killed by the gateway, or ended by itself before.
	EndedHungUp

	numFates = iota
)

// Result is the result of one stream.
type Result struct {
	// Stream is its number, from 0 in the order of intended starts.
	Stream int64
	// Outcome is how it ended.
	Outcome bundle.StreamOutcome
	// Fate is how its process ended.
	Fate Fate
	// Opened is set when Sink.Opening was called for it.
	Opened bool
	// Uncertain is set when the gateway may have started a process, or ended it, without our knowing.
	Uncertain bool
	// KillSent is set when Sink.Killing was called for it.
	KillSent bool
	// Disconnected is set when the driver hung up, as the plan asks: the outcome is then
	// Cancelled, without a message. The process is killed after the schedule has ended, by
	// the pid of the start event; the result waits for that.
	Disconnected bool
	// Refused is set when the response shows that there is no such gateway at all: a
	// status like 404 or 401, another content type, no HTTP. A run whose streams
	// all end this way has no target.
	Refused bool
	// Message describes the failure; "" when there is none.
	Message string
}
