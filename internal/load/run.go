package load

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"time"

	"assay/internal/ledger"
	"assay/internal/target"
	"assay/scenarios"
)

// EngineError is a defect of the engine or of this machine: the run could not take place.
type EngineError struct{ Err error }

// Error says what went wrong.
func (e *EngineError) Error() string { return "the engine: " + e.Err.Error() }

func (e *EngineError) Unwrap() error { return e.Err }

// Run puts load on a target, and reports. Cancelling ctx interrupts it: every
// process is killed, within 10 s, and the report is of what was seen by then.
//
// Errors are preconditions, found before the first stream: mistakes in the options,
// *LimitError when the plan does not fit this machine, *target.UnreachableError when
// there is no such gateway (found by the first stream at the latest). An
// *EngineError is a defect. A failing gateway is never an error. A report beside an
// error means that the run took place, and that its files could not be written.
func Run(ctx context.Context, o Options) (*Report, error) {
	s, err := prepare(o)
	if err != nil {
		return nil, err
	}
	return s.conduct(ctx)
}

// session is a run under way.
type session struct {
	opts       Options
	target     *target.Target
	plan       *Plan
	thresholds *Thresholds
	sink       *collector
	watch      *counterWatch
	folder     *folder
	base       time.Time
	refused    chan string
}

// prepare does everything that needs no network.
func prepare(o Options) (*session, error) {
	o, err := o.resolved()
	if err != nil {
		return nil, err
	}
	s := &session{opts: o, refused: make(chan string, 1)}
	if s.thresholds, err = CompileThresholds(o.Thresholds); err != nil {
		return nil, err
	}
	profile, err := scenarios.LoadProfile(o.Profile)
	if err != nil {
		return nil, err
	}
	if err := s.aim(profile); err != nil {
		return nil, err
	}
	if err := thisMachine().fit(s.plan, o.Target.Embedded); err != nil {
		return nil, err
	}
	s.sink = newCollector(min(max(runtime.GOMAXPROCS(0), 2), 8))
	s.sink.refused = func(message string) { s.refused <- message }
	s.base = time.Now()
	if s.folder, err = createFolder(o.Out, s.base); err != nil {
		return nil, err
	}
	return s, nil
}

// aim makes target and plan.
func (s *session) aim(profile *scenarios.Profile) (err error) {
	o := s.opts.Target
	o.UserAgent = "assay/" + s.opts.Version
	paths := map[string]string{}
	for _, from := range []map[string]string{profile.Paths, o.Paths} {
		for surface, path := range from {
			paths[surface] = path
		}
	}
	o.Paths = paths
	if len(o.Shell) == 0 {
		o.Shell = profile.Shell
	}
	if s.target, err = target.New(o); err != nil {
		return err
	}
	id := make([]byte, 4)
	_, _ = rand.Read(id) // never fails
	d := Dialect{
		Protocol: s.opts.Protocol, Codec: s.opts.Codec, Target: s.target, Command: s.opts.command(),
		Run: fmt.Sprintf("%s-%x", time.Now().UTC().Format("20060102T150405"), id),
	}
	if s.plan, err = s.opts.plan(d); err != nil {
		return err
	}
	scale := o.TimeScale
	if scale <= 0 {
		scale = 1
	}
	s.watch = &counterWatch{scale: scale, scraper: newScraper(
		s.plan, s.target.Path("metrics", ""), s.target.Headers("load", d.Run), time.Duration(float64(5*time.Second)*scale))}
	s.watch.scraper.names = ledger.Names{
		Started: profile.Metrics[ledger.KeyStarted], Finished: profile.Metrics[ledger.KeyFinished], Active: profile.Metrics[ledger.KeyActive],
	}
	return nil
}

// conduct runs the plan.
func (s *session) conduct(ctx context.Context) (*Report, error) {
	defer s.watch.scraper.close()
	s.watch.scraper.save = s.folder.scrape
	r := s.blank()
	if err := s.target.Wait(ctx, 0); err != nil {
		if ctx.Err() == nil {
			return nil, errors.Join(err, s.folder.finish(r))
		}
		return s.finish(ctx, r)
	}
	s.watch.begin(ctx)
	s.opts.Progress.Begin(s.headline(), s.plan.Duration, s.plan.Count)
	cpu := cpuSeconds()
	err := s.drive(ctx)
	s.opts.Progress.End()
	if err != nil {
		return nil, errors.Join(err, s.folder.finish(r))
	}
	r.DurationMS = time.Since(s.base).Milliseconds()
	r.Driver.CPUSeconds, r.Driver.RSSPeakBytes = cpuSeconds()-cpu, peakMemory()
	return s.finish(ctx, r)
}

// drive runs the engine, and once a second merges, scrapes and shows.
func (s *session) drive(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s.base = time.Now()
	done := make(chan error, 1)
	go func() { done <- s.opts.Engine.Run(ctx, s.plan, s.sink) }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var last second
	for n := 1; ; n++ {
		select {
		case err := <-done:
			s.tick(&last, s.sink.hist.last)
			return s.over(err)
		case message := <-s.refused:
			s.refused <- message // for over
			stop()
			err := <-done
			return s.over(err)
		case <-tick.C:
		}
		s.tick(&last, s.sink.hist.merge)
		s.watch.during(ctx, fmt.Sprintf("%05d", n), s.sink.activity)
	}
}

// over sorts how the engine ended.
func (s *session) over(err error) error {
	select {
	case message := <-s.refused:
		if s.sink.started.Load() == 0 {
			return &target.UnreachableError{
				URL:    s.target.Identity().URL,
				Reason: fmt.Sprintf("it runs no command over %s with %s on HTTP %s: %s", s.plan.Dialect.Protocol, s.plan.Dialect.Codec, s.plan.HTTP, message),
				Mend:   "check the URL and the token, --protocol, --http, and --endpoint for where the surfaces are",
			}
		}
	default:
	}
	if err != nil {
		return &EngineError{err}
	}
	return nil
}

// second is where the last tick ended.
type second struct {
	at      time.Duration
	started int64
}

// tick ends an interval: merge takes in what was measured.
func (s *session) tick(last *second, merge func()) {
	now := time.Since(s.base)
	merge()
	s.folder.interval(s.sink.hist.interval, s.base.Add(last.at), now-last.at)
	b := s.sink.snapshot()
	started := s.sink.started.Load()
	s.opts.Progress.Tick(Tick{
		Elapsed: now, Open: s.sink.live.Load(), Rate: started - last.started,
		FirstEvent: latencyOf(s.sink.hist.interval[FirstEvent]), Gap: latencyOf(s.sink.hist.interval[Gap]),
		Completed: b.outcomes.Total(), Failed: b.outcomes.Failed(),
		Winding: s.plan.Duration > 0 && now > s.plan.Duration,
	})
	last.at, last.started = now, started
}

// finish reads the counters a last time and concludes.
func (s *session) finish(ctx context.Context, r *Report) (*Report, error) {
	r.Interrupted = ctx.Err() != nil
	s.fill(r)
	s.watch.after(context.WithoutCancel(ctx), r.Ledger)
	r.Metrics = s.watch.result()
	r.Thresholds = s.thresholds.Judge(r)
	r.conclude(s.plan.Open())
	err := s.folder.finish(r)
	if n := s.sink.hist.dropped; n > 0 {
		err = errors.Join(&EngineError{fmt.Errorf("%d measured values were lost in merging", n)}, err)
	}
	return r, err
}

// blank is a report with what is known before the run.
func (s *session) blank() *Report {
	o := &s.opts
	model := "closed"
	if s.plan.Open() {
		model = "open"
	}
	return &Report{
		Schema: Schema, Verdict: Inconclusive,
		Target: TargetInfo{URL: s.target.Identity().URL, Embedded: o.Target.Embedded, Profile: o.Profile, Protocol: o.Protocol, Codec: o.Codec, HTTP: o.HTTP},
		Plan: PlanInfo{
			Model: model, Streams: o.Streams, Rate: o.Rate, RampMS: o.Ramp.Milliseconds(), DurationMS: o.Duration.Milliseconds(),
			Count: o.Count, Command: o.command(), Check: o.checkName(),
		},
		Streams:    Streams{Wanted: int64(s.plan.Wanted())},
		Metrics:    MetricsInfo{Violations: []string{}},
		Driver:     Driver{Engine: o.Engine.Name()},
		Thresholds: []ThresholdResult{}, Examples: []Example{},
	}
}

// fill puts in what was counted and measured.
func (s *session) fill(r *Report) {
	b := s.sink.snapshot()
	r.Streams.Opened, r.Streams.OpenPeak = s.sink.started.Load(), s.sink.peak.Load()
	r.Streams.Completed, r.Streams.Outcomes = b.outcomes.Total(), b.outcomes
	for m := range Metric(numMetrics) {
		*r.Latency.at(m) = latencyOf(s.sink.hist.total[m])
	}
	r.Output.Events, r.Output.Bytes, r.Output.Clamped = s.sink.hist.counts()
	r.Ledger = ledgerOf(b)
	s.sink.mu.Lock()
	r.Examples = sortExamples(s.sink.examples)
	s.sink.mu.Unlock()
}

// headline says what is about to happen.
func (s *session) headline() string {
	url := s.target.Identity().URL
	if s.opts.Target.Embedded {
		url = "the embedded gateway (" + url + ")"
	}
	m := thisMachine()
	return fmt.Sprintf("%s · %s · %s · %d of %d descriptors in use, %d local ports",
		url, s.opts.wireName(), s.opts.modelName(), m.used, m.files, m.ports)
}

// wireName is protocol, codec and HTTP version in words.
func (o *Options) wireName() string {
	name := o.Protocol
	if o.Protocol != ProtocolNDJSON {
		name += " " + o.Codec
	}
	return name + " on HTTP " + o.HTTP
}

// modelName is the model in words.
func (o *Options) modelName() string {
	text := fmt.Sprintf("%d streams at a time", o.Streams)
	if o.Rate > 0 {
		text = fmt.Sprintf("%g streams a second", o.Rate)
	}
	if o.Ramp > 0 {
		text += fmt.Sprintf(", rising over %v", o.Ramp)
	}
	if o.Duration > 0 {
		text += fmt.Sprintf(", for %v", o.Duration)
	}
	if o.Count > 0 {
		text += fmt.Sprintf(", %d in all", o.Count)
	}
	return text
}
