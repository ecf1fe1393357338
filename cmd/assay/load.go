package main

import (
	"errors"

	"github.com/spf13/cobra"

	"assay/internal/load"
	"assay/internal/load/fleet"
	"assay/reports"
	"assay/reports/page"
)

// loadFlags are the flags of load.
type loadFlags struct {
	load.Options
	driverFlags
	live                  liveFlag
	sandboxes             int
	metricsListen, resume string
}

func newLoad(io stdio) *cobra.Command {
	var f loadFlags
	c := &cobra.Command{
		Use:   "load [URL]",
		Short: "Open many concurrent streams, check every byte, measure latencies",
		Long: `Keeps --streams Start streams open on the gateway at URL, replacing each that ends,
or starts --rate streams per second, until --duration or --count. Without a URL it
uses the embedded reference gateway.

Each stream runs --command. The default prints one numbered line per second until it
is killed at the end; with --count, twenty numbered lines at once. Every line of
every stream is checked; the output of your own --command is compared with --expect.

The streams of --streams open one after the other, a thousand per second (within half
a minute and half of the duration), unless --ramp says otherwise: a burst of thousands
measures itself, and not the gateway. Their latencies count like all others. A stream
that fails before it has opened is replaced after a pause that doubles with each failure
in a row, from 0.2 to 5 seconds; a run in which nothing opens in 10 seconds gives up.

Latencies count from the intended start (from_sent: from the sent request). Thresholds
are CEL expressions over first_event, from_sent, gap, gap_corrected, end_of_stream,
start_lag, driver_lag and, of connections, connect, tls and tls_resumed (.p50 .p90 .p99
.p999 .max .count), streams.* and outcomes.*; a plan with several classes adds
classes.NAME.first_event.p99 and so on. A missed threshold is undecided when the
driver's own delay exceeds a tenth of it: that is driver_lag.p99, and start_lag.p99 for
latencies from the intended start.

--protocol ws runs each stream on GET /attach, stdio over WebSocket: the 101 response
stands for the start event, and first_event is the first message. A kill is a signal
message on the stream's own socket; a disconnect closes the socket, and the gateway
ends the process.

--engine fast, the choice of auto on Linux, uses event loops and kernel receive
timestamps; portable runs on every system. By default there is one loop for each 10,000
streams that are kept open, or start in a second, and at most one for each core. One
loop receives more than 100,000 events a second: use --loops for short streams on a
gateway that is faster. Over https, both resume TLS sessions
(unless --full-handshakes) and check the certificate against the system's CAs or
--cacert (unless --insecure).

--plan is a file with a mix of streams, stages of a rate, kills and disconnects (see
assay schema plan). The counters on /metrics are compared with the driver's ledger
before, during and after the run.

--workers N shares the streams among N processes of this machine, and --bus among workers
of any machine (assay worker); the streams are the same for any N. A worker that is lost
is named in the report.

With --control-plane, --sandboxes N creates N sandboxes there, 16 at a time, spreads the
streams over them in turns, and deletes them in every case. Creation is measured: to
the response (sandboxes.create) and to the end of the first command (sandboxes.ready).
A refusal (a wrong key, too many sandboxes) ends the run before its first stream; a
sandbox that fails otherwise fails the run, which uses the others. Their counters are
added up.`,
		Example: `  # 5,000 open streams for 20 seconds, over HTTP/1.1
  assay load http://127.0.0.1:8081 --streams 5000 --duration 20s --out load-run

  # 10,000 streams over a few connections
  assay load http://127.0.0.1:8081 --http h2c --streams 10000 --duration 60s

  # 200 short commands per second, as a CI gate
  assay load http://127.0.0.1:8081 --rate 200 --duration 10s --command 'seq 1 100' --threshold 'first_event.p99 < duration("250ms")' --report junit=load.xml

  # 5,000 WebSockets, each with a process
  assay load http://127.0.0.1:8081 --protocol ws --streams 5000 --duration 20s

  # 500 streams in 50 sandboxes of a control plane
  assay load --control-plane http://127.0.0.1:3000 --api-key-file key --sandboxes 50 --streams 500 --threshold 'sandboxes.ready.p99 < duration("5s")'

  # 100,000 streams in all, by four processes
  assay load http://127.0.0.1:8081 --http h2c --workers 4 --streams 4000 --count 100000

  # kill a tenth, disconnect a tenth, and check the counters
  assay load http://127.0.0.1:8081 --streams 200 --duration 30s --kill-share 0.1 --disconnect-share 0.1`,
		Args:              between(0, 1, "want at most one URL"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			return runLoad(c, io, f, args)
		},
	}
	fs := flagsOf(c)
	f.register(fs, &f.Options, fleet.Abort)
	f.live.register(fs)
	fs.IntVar(&f.sandboxes, "sandboxes", 1, "with --control-plane: create N sandboxes and spread the streams over them")
	fs.StringVar(&f.Plan, "plan", "", "file with a mix of streams (see assay schema plan); flags override it")
	fs.IntVar(&f.Streams, "streams", 0, "closed model: keep N streams open (default 100)")
	fs.Float64Var(&f.Rate, "rate", 0, "open model: start N streams per second, even if earlier ones are still open")
	fs.BoolVar(&f.Poisson, "poisson", false, "with --rate: start at random times, like independent clients")
	fs.DurationVar(&f.Ramp, "ramp", 0, "rise linearly to --streams or --rate over this time; 0 is at once (default with --streams: 1ms per stream, at most 30s and half of the duration)")
	fs.DurationVar(&f.Duration, "duration", 0, "duration of the run (default 10s, unless --count is given)")
	fs.IntVar(&f.Count, "count", 0, "total number of streams; without --duration, the run waits for a --command however long it is silent")
	fs.DurationVar(&f.Warmup, "warmup", 0, "record no latencies for this time; the ledger still counts")
	fs.Float64Var(&f.KillShare, "kill-share", 0, "share of the streams, 0 to 1, whose process is killed at a random time")
	fs.Float64Var(&f.DisconnectShare, "disconnect-share", 0, "share of the streams, 0 to 1, that the driver disconnects; their processes are killed at the end (over ws by the gateway, at once)")
	fs.StringVar(&f.Command, "command", "", "command of every stream (default: numbered lines)")
	fs.StringVar(&f.Expect, "expect", "", "expected output of --command: same (as in the first stream; default), sha256:HEX or none")
	fs.StringVar(&f.Protocol, "protocol", "", "connect, grpc, grpc-web, ndjson or ws (default connect)")
	fs.StringVar(&f.Codec, "codec", "", "json or proto (default json; proto for grpc and grpc-web)")
	fs.StringVar(&f.HTTP, "http", "", "1.1, h2c, or h2-tls for https (default 1.1; HTTP/2 for grpc)")
	fs.BoolVar(&f.FullHandshakes, "full-handshakes", false, "over https: resume no TLS session, so that every connection costs a complete handshake")
	fs.StringArrayVar(&f.Thresholds, "threshold", nil, "condition on the results, in CEL (repeatable)")
	fs.BoolVar(&f.AbortOnFail, "abort-on-fail", false, "end the run as soon as a threshold is missed")
	fs.DurationVar(&f.AbortDelay, "abort-delay", 0, "with --abort-on-fail: do not end before this time")
	fs.StringVar(&f.metricsListen, "metrics-listen", "", "address to serve the driver's own Prometheus metrics on during the run")
	fs.StringVar(&f.Out, "out", "", "directory for the report, histograms (.hlog) and scrapes")
	fs.StringVar(&f.resume, "resume", "", "with --bus: read what the workers of this `RUN` recorded, and wait for the rest, after its coordinator was lost")
	fs.positive("streams", "rate", "count")
	return c
}

// complete validates the rest of the flags before any work, and completes the options of the run.
func (f *loadFlags) complete(c *cobra.Command, args []string) (err error) {
	if err := f.driverFlags.complete(&f.Options, argument(args, 0)); err != nil {
		return err
	}
	if err := f.output.validate(); err != nil {
		return err
	}
	if f.Ramp == 0 && c.Flags().Lookup("ramp").Changed {
		f.Ramp = load.AtOnce
	}
	f.Seed = f.target.seed
	if err := f.sandboxOptions(c.Flags().Lookup("sandboxes").Changed); err != nil {
		return err
	}
	if f.Engine, err = f.engine.choose(); err != nil {
		return err
	}
	if f.resume != "" {
		return f.onlyResumes(c)
	}
	f.Workers = f.fleet.workers
	return f.Validate()
}

func runLoad(c *cobra.Command, io stdio, f loadFlags, args []string) (failed error) {
	if err := f.complete(c, args); err != nil {
		return usage(err)
	}
	crew, err := f.crew(c)
	if err != nil {
		return usage(err)
	}
	o := f.Options
	io, workers := f.begin(io, o.Target, crew)
	defer workers.Close()
	if f.resume != "" {
		if o, err = f.recall(c.Context(), workers, o); err != nil {
			return err
		}
	}
	o.Fleet = workers
	ctx := c.Context()
	ui, err := f.live.serve(ctx, io, loadFace())
	if err != nil {
		return err
	}
	defer ui.Close()
	progress := newLoadProgress(io.progress(), ui)
	o.Progress = progress
	if f.metricsListen != "" {
		m, err := serveLoadMetrics(ctx, io, f.metricsListen, progress)
		if err != nil {
			return err
		}
		defer m.end()
	}
	if o.Sandboxes != nil {
		release, err := f.createSandboxes(ctx, io, &o)
		if err != nil {
			return err
		}
		defer release()
	}
	stop, err := embedIfWanted(ctx, io, &o.Target)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, stop()) }()
	r, err := load.Run(ctx, o)
	var end page.Verdict
	if r != nil {
		end = reports.LoadEnding(r)
	}
	showEnd(ui, end, err)
	return driven(io, f.output, reports.Load().Render, r, err)
}

// crew returns the fleet of a run.
func (f *loadFlags) crew(c *cobra.Command) (fleet.Options, error) {
	crew, err := f.driverFlags.crew(c, f.Target)
	switch {
	case err == nil && f.resume != "" && crew.Bus == nil:
		return crew, errors.New("--resume: the run is on a bus; name it with --bus")
	case err != nil || crew.Bus == nil:
		return crew, err
	case f.resume != "":
		crew.Run = f.resume
		return crew, nil
	case f.Sandboxes != nil:
		return crew, errors.New("--sandboxes: their tokens do not go over a bus; leave --bus out, and the workers are processes of this machine")
	}
	return crew, nil
}
