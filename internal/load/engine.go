package load

import (
	"context"
	"fmt"
	"strings"
	"time"

	"assay/internal/bundle"
)

// Engine opens streams. It is the seam between a plan and the sockets: a plan goes in,
// measured values and one result per stream come out.
//
// An engine keeps its own clock: latencies are measured from the intended start
// of a stream, which the plan's [Pacer] gives relative to the begin of Run.
type Engine interface {
	// Name is the engine's name in reports.
	Name() string
	// Run opens the streams of p until its duration or count is reached or ctx is
	// done, then kills what it started, and returns when every stream has been
	// given to the sink and no goroutine, connection or descriptor is left. From
	// the end of the schedule (or of ctx) that takes at most p.Limits.Wind plus
	// p.Limits.Grace. A failing stream is a result, never an error: an error means
	// that the engine itself could not work.
	//
	// Stream number n, in the order of intended starts, is of the class and has the
	// part that Plan.Stream says: it gets its class's input after the start event, and
	// is killed or hung up on when its part says so.
	Run(ctx context.Context, p *Plan, s Sink) error
}

// Metric is one of the measured distributions.
type Metric uint8

// The metrics. All are durations, kept in microseconds.
const (
	// FirstEvent is the time from the intended start of a stream to its start event.
	FirstEvent Metric = iota
	// Gap is the time between two output events of a stream.
	Gap
	// EndOfStream is the time to the end of the answer: from the intended start for a
	// stream that ended by itself, from the sending of the kill for one that was killed.
	EndOfStream
	// StartLag is how much later than intended the driver turned to a stream: its own
	// delay. A wait for a connection comes after it.
	StartLag
	// DriverLag is how much later than it could have the driver took notice of what
	// had come, or of the time: its own delay, and none of the gateway's.
	DriverLag
	// GapCorrected is Gap, with the gaps added that a late event hid: see Class.RecordGap.
	GapCorrected
	// FromSent is the time from the sending of a request to the start event of its
	// stream: FirstEvent without what the driver's own start lag and dialling took.
	FromSent

	numMetrics = iota
)

// String is the metric's key in reports, and its tag in .hlog files.
func (m Metric) String() string {
	return [numMetrics]string{
		"first_event", "gap", "end_of_stream", "start_lag", "driver_lag", "gap_corrected", "from_sent",
	}[m]
}

// ofStreams reports whether the metric tells of the gateway's answers, and not of the driver.
func (m Metric) ofStreams() bool { return m != StartLag && m != DriverLag }

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

// Sink takes what an engine sees. Its methods may be called from any goroutine,
// allocate nothing (but for Ended of a stream that failed), and never block for long.
type Sink interface {
	// Record adds a measured value. worker spreads callers that run at the same
	// time over shards; any number will do. class is that of the stream, an index into
	// Plan.Mix; DriverLag, which is no stream's, is of class 0.
	Record(worker, class int, m Metric, d time.Duration)
	// Opening says that a stream is being opened: from here on a process may exist.
	Opening()
	// Started says that the start event of a stream came.
	Started()
	// Output counts the bytes of output and the events that they came in.
	Output(worker, events, bytes int)
	// HungUp says that a stream was hung up on because its part asked for it. It is
	// not open any more; its Ended comes when its process was dealt with.
	HungUp()
	// Killing says that a kill is sent, and Ended of its stream that it was answered.
	Killing()
	// Ended is called exactly once for every stream that the plan made begin.
	Ended(r Result)
	// Coalesced counts n events that shared a read with another one, so that their gaps
	// are unknown.
	Coalesced(n int)
	// Unstamped says that n reads of an engine that takes the kernel's time of arrival
	// had none, so that what they measured is of the driver's own clock.
	Unstamped(n int)
	// ClockStepped says that the clock of the kernel's stamps jumped by d against the monotonic one.
	ClockStepped(d time.Duration)
	// Swept says that n processes, which streams without a start event left behind,
	// were found and killed.
	Swept(n int)
}

// Fate is what became of the process of a stream.
type Fate uint8

// The fates. The ledger counts them.
const (
	// NoProcess: no start event came.
	NoProcess Fate = iota
	// EndedOK: it ended by itself with exit code 0.
	EndedOK
	// EndedError: it ended by itself otherwise, or by a signal of somebody else.
	EndedError
	// FateKilled: a kill was answered with success.
	FateKilled
	// LeftOpen: neither its end nor a kill was confirmed.
	LeftOpen
	// EndedUnseen: the driver had disconnected, and the process had ended by itself before
	// the driver killed it; its exit code is unknown.
	EndedUnseen
)

// Result is one stream that is over.
type Result struct {
	// Stream is its number, from 0 in the order of intended starts.
	Stream int64
	// Outcome is how it ended.
	Outcome bundle.StreamOutcome
	// Fate is what became of its process.
	Fate Fate
	// Opened is set when Sink.Opening was called for it.
	Opened bool
	// Uncertain is set when the gateway may have started a process, or ended it, without our knowing.
	Uncertain bool
	// KillSent is set when Sink.Killing was called for it.
	KillSent bool
	// Disconnected is set when the driver hung up because its part asked for it: its
	// outcome is then Cancelled, without a message. Its process is killed after the
	// schedule has ended, by the pid of the start event; the result waits for that.
	Disconnected bool
	// Refused is set when the answer shows that there is no such gateway at all: a
	// status like 404 or 401, another content type, no HTTP. A run whose streams
	// all end so has no target.
	Refused bool
	// Message says what was wrong; "" when nothing was.
	Message string
}
