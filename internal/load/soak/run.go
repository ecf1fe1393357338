package soak

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/internal/load"
	"assay/internal/load/soak/client"
	"assay/internal/load/soak/inject"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/target/transport"
	"assay/scenarios"
)

// patience is how long a soak waits for a target that has gone, at least; it is also three windows.
const patience = 10 * time.Minute

// tool names the program.
const tool = "assay"

// Run soaks a target and returns the report. Cancelling ctx ends it: the report covers the windows up to then,
// and the soak can be resumed.
//
// Errors are missing preconditions, found before the first stream: mistakes in the options,
// *target.UnreachableError, the errors of load.Run. A failing gateway is never an error. A report together with
// an error means that the soak took place, but its files could not be written.
func Run(ctx context.Context, o Options) (*bundle.SoakReport, error) {
	o, err := o.resolved()
	if err != nil {
		return nil, err
	}
	s := &soak{opts: o, runs: map[string]bool{}}
	if o.Resume {
		if err := s.restore(); err != nil {
			return nil, err
		}
	}
	if err := s.aim(ctx); err != nil {
		return nil, err
	}
	defer s.close()
	if s.folder, err = createFolder(o.Out, o.Resume); err != nil {
		return nil, err
	}
	if err := s.folder.begin(s.report); err != nil {
		return nil, err
	}
	s.opts.Progress.Begin(s.headline(), s.opts.Duration)
	err = s.conduct(ctx)
	s.opts.Progress.End()
	s.report.Interrupted = ctx.Err() != nil || err != nil
	s.report.DurationMS = s.elapsed().Milliseconds()
	Conclude(s.report)
	var precondition *target.UnreachableError
	if len(s.report.Windows) == 0 && (errors.As(err, &precondition) || isEngine(err)) {
		return nil, errors.Join(err, s.folder.finish(s.report, nil))
	}
	return s.report, s.folder.finish(s.report, err)
}

func isEngine(err error) bool {
	var engine *load.EngineError
	return errors.As(err, &engine)
}

// soak is a soak in progress.
type soak struct {
	opts     Options
	target   *target.Target
	mix      mix
	worker   *worker
	sampler  *sampler
	injector *inject.Injector // nil: no faults are injected
	folder   *folder
	report   *bundle.SoakReport
	runs     map[string]bool        // the ids of the load runs
	faults   []bundle.SoakInjection // of the last window

	begun  time.Time     // on the monotonic clock
	before time.Duration // recorded before this process
}

// restore reads the folder of a soak to resume. The plan of the folder replaces that of the options.
func (s *soak) restore() error {
	r, err := Open(s.opts.Out)
	if err != nil {
		return err
	}
	if !r.Interrupted {
		return fmt.Errorf("the soak in %s has ended: assay report %s shows it; begin another one in another directory", s.opts.Out, s.opts.Out)
	}
	if ended(r) >= ms(r.Plan.DurationMS) {
		return fmt.Errorf("the soak in %s has all of its windows: assay report %s shows it", s.opts.Out, s.opts.Out)
	}
	o := &s.opts
	o.Duration, o.Window, o.Warmup = ms(r.Plan.DurationMS), ms(r.Plan.WindowMS), ms(r.Plan.WarmupMS)
	o.Rate, o.Held, o.Seed, o.Confidence = r.Plan.Rate, r.Plan.Held, r.Plan.Seed, r.Plan.Confidence
	o.Load.HTTP, o.Inject = r.Target.HTTP, r.Plan.Inject
	if err := o.checkFolder(r); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(o.Out, bundle.SoakFile), err)
	}
	if !o.Load.Target.Embedded && r.Target.URL != "" && !r.Target.Embedded && o.Load.Target.URL != r.Target.URL {
		return fmt.Errorf("the soak in %s is of %s, not of %s: resume it with its own URL", o.Out, r.Target.URL, o.Load.Target.URL)
	}
	if o.Load.Target.Embedded != r.Target.Embedded {
		return fmt.Errorf("the soak in %s is of %s: resume it with the same target", o.Out, r.Target.URL)
	}
	s.report = r
	return nil
}

// ms returns a number of milliseconds; one that is too large or too small for a duration is the largest or the smallest.
func ms(n int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(min(max(n, -most), most)) * time.Millisecond
}

// aim connects to the target, probes its features and makes the plan.
func (s *soak) aim(ctx context.Context) error {
	o := &s.opts
	o.Load.Profile = cmp.Or(o.Load.Profile, "connect")
	if o.Load.Target.Embedded {
		o.Load.Profile = "full"
	}
	o.Load.HTTP = cmp.Or(o.Load.HTTP, load.HTTP11)
	profile, err := scenarios.LoadProfile(o.Load.Profile)
	if err != nil {
		return err
	}
	t := load.WithProfile(o.Load.Target, profile, o.Load.Version)
	if s.target, err = target.New(t); err != nil {
		return err
	}
	if err := s.target.Wait(ctx, 0); err != nil {
		return err
	}
	clock := transport.NewClock()
	calibration, err := s.target.Calibrate(ctx, clock)
	if err != nil {
		return err
	}
	features, err := s.target.Probe(ctx, clock, calibration)
	if err != nil {
		return err
	}
	o.Load.Target.Shell = s.target.Shell()
	s.mix = mixOf(o, features)
	s.worker = newWorker(s.target, s.mix.work, o)
	s.sampler = &sampler{client: client.New(s.target, "soak"), active: profile.Metrics["active"], pid: o.PID}
	if features["process.list"].State == bundle.FeaturePresent {
		s.sampler.entries = func(ctx context.Context) (int, error) { return s.worker.listed(ctx, s.runs) }
	}
	if s.injector, err = injector(o, t); err != nil {
		return err
	}
	s.begun = time.Now()
	if s.report == nil {
		s.blank()
		return nil
	}
	s.resume()
	return nil
}

// injector returns the injector of the faults, nil for none. t is the target with the paths of the profile.
func injector(o *Options, t target.Options) (*inject.Injector, error) {
	kinds, err := inject.Parse(o.Inject)
	if err != nil || len(kinds) == 0 {
		return nil, err
	}
	t.Shell = o.Load.Target.Shell
	return inject.New(inject.Options{
		Target: t, Kinds: kinds, Seed: o.Seed, Engine: o.Load.Engine, Fleet: o.Local, Profile: o.Load.Profile, Version: o.Load.Version,
	})
}

// close closes the connections of the soak.
func (s *soak) close() {
	s.worker.Close()
	s.sampler.client.Close()
	if s.injector != nil {
		_ = s.injector.Close() // nothing of it is left, whatever it says
	}
}

// blank makes the report of a new soak.
func (s *soak) blank() {
	o := &s.opts
	started := o.now()
	s.report = &bundle.SoakReport{
		Schema: bundle.SoakSchema, Tool: bundle.Tool{Name: tool, Version: o.Load.Version}, Run: fmt.Sprintf("%s-%08x", started.UTC().Format("20060102T150405"), uint32(o.Seed)), //nolint:gosec // a part of the seed
		Verdict: bundle.LoadInconclusive, Interrupted: true, Started: started,
		Target: bundle.LoadTarget{
			URL: s.target.Identity().URL, Embedded: o.Load.Target.Embedded, Profile: o.Load.Profile, Protocol: load.ProtocolConnect, Codec: load.CodecJSON, HTTP: o.Load.HTTP,
		},
		Plan: bundle.SoakPlan{
			DurationMS: o.Duration.Milliseconds(), WindowMS: o.Window.Milliseconds(), WarmupMS: o.Warmup.Milliseconds(), Seed: o.Seed,
			Classes: s.mix.classes, Rate: o.Rate, Held: o.Held, Confidence: o.Confidence,
		},
		Findings: []bundle.SoakFinding{}, Series: []bundle.SoakSeries{}, Windows: []bundle.SoakWindow{},
	}
	if s.injector != nil {
		s.report.Plan.Inject = s.injector.Kinds()
	}
}

// resume continues the report of a soak that ended early. The time in between is a gap. If the clock of this
// machine was set back meanwhile, the soak goes on where it ended.
func (s *soak) resume() {
	r := s.report
	until := ended(r)
	s.before = max(s.opts.now().Sub(r.Started), until)
	s.gap(until, s.before, resumedGap)
	r.Plan.DurationMS += (s.before - until).Milliseconds()
	s.opts.Duration = ms(r.Plan.DurationMS)
}

// ended returns when the last recorded window ended.
func ended(r *bundle.SoakReport) time.Duration {
	if n := len(r.Windows); n > 0 {
		return ms(r.Windows[n-1].ToMS)
	}
	return 0
}

// gap records a time in which the soak did not run.
func (s *soak) gap(from, to time.Duration, why string) {
	s.report.Gaps = append(s.report.Gaps, bundle.SoakGap{FromMS: from.Milliseconds(), ToMS: to.Milliseconds(), Why: why})
}

// tell tells the progress that something changed.
func (s *soak) tell(at time.Duration, kind, message string) {
	s.opts.Progress.Event(bundle.SoakEvent{AtMS: at.Milliseconds(), Kind: kind, Message: message})
}

// elapsed returns the time since the start of the soak.
func (s *soak) elapsed() time.Duration { return s.before + time.Since(s.begun) }

// headline describes the soak.
func (s *soak) headline() []string {
	o := &s.opts
	var present, absent []string
	for _, c := range s.mix.classes {
		if c.Absent {
			absent = append(absent, c.Name)
		} else {
			present = append(present, c.Name)
		}
	}
	lines := []string{
		fmt.Sprintf("soak of %s for %v, in %d windows of %v", s.report.Target.URL, o.Duration.Round(time.Second), o.windows(), o.Window),
		fmt.Sprintf("%.4g streams a second, %d held open, seed %d: %s", s.mix.rate, o.Held, o.Seed, strings.Join(present, ", ")),
	}
	if len(absent) > 0 {
		lines = append(lines, "the target has no "+strings.Join(absent, ", ")+": left out")
	}
	return append(lines, s.needs())
}

// The memory and disk of a soak: a window has 6 KB in its line and 15 KB in the report, and half a dozen histograms of 188 KB are in memory for
// each of the classes, whatever the length.
const (
	windowBytes = 12 << 10
	seriesBytes = 2 << 20
)

// needs says what the soak will need.
func (s *soak) needs() string {
	disk := int64(s.opts.windows()+1) * windowBytes * 2 // the lines, and the report
	text := fmt.Sprintf("it needs about %d MB of memory, whatever its length", (40<<20+int64(len(s.mix.streams))*seriesBytes)>>20)
	if s.opts.Out != "" {
		text += fmt.Sprintf(", and %.1f MB on the disk, in %s", float64(disk)/(1<<20), s.opts.Out)
	}
	return text
}

// conduct runs the windows.
func (s *soak) conduct(ctx context.Context) error {
	index := 0
	if n := len(s.report.Windows); n > 0 {
		index = s.report.Windows[n-1].Index
	}
	for ctx.Err() == nil && s.elapsed()+s.opts.Window/2 <= s.opts.Duration {
		index++
		w, err := s.window(ctx, index)
		if w != nil {
			if err := s.record(w); err != nil {
				return err
			}
			if abandoned(w) {
				return nil
			}
		}
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil //nolint:nilerr // an interrupt is no error
		case index == 1:
			return err
		case isGone(err):
			if !s.await(ctx, err) {
				return nil
			}
		default:
			return err
		}
	}
	return nil
}

// abandoned reports whether a lost worker ended a window, and with it the soak.
func abandoned(w *bundle.SoakWindow) bool { return len(w.Lost) > 0 && w.Partial }

func isGone(err error) bool {
	var gone *target.UnreachableError
	return errors.As(err, &gone)
}

// record keeps a window.
func (s *soak) record(w *bundle.SoakWindow) error {
	s.report.Windows = append(s.report.Windows, *w)
	s.opts.Progress.Window(w)
	return s.folder.window(w)
}

// await waits for a target that has gone. It returns false if the soak is over.
func (s *soak) await(ctx context.Context, gone error) bool {
	from := s.elapsed()
	s.tell(from, bundle.SoakDown, gone.Error())
	limit := min(max(patience, 3*s.opts.Window), s.opts.Duration-from)
	err := s.target.Wait(ctx, limit)
	s.gap(from, s.elapsed(), "the target was unreachable: "+gone.Error())
	if err != nil {
		return false
	}
	s.tell(s.elapsed(), "recovered", fmt.Sprintf("the target answers again, after %v", (s.elapsed()-from).Round(time.Second)))
	return true
}

// window runs one window.
func (s *soak) window(ctx context.Context, index int) (*bundle.SoakWindow, error) {
	from := s.elapsed()
	length := min(s.opts.Window, s.opts.Duration-from)
	sampling, stop := context.WithCancel(ctx)
	wait := s.sampler.watch(sampling, max(s.opts.Window/60, time.Second/2))
	r, err := load.Run(ctx, s.loadOptions(index, length))
	stop()
	wait()
	if r == nil {
		return nil, err
	}
	w := s.describe(index, from, r)
	w.Resources, w.Minima = s.sampler.rest(context.WithoutCancel(ctx))
	w.Partial = ctx.Err() != nil || r.Aborted != ""
	if rest := length - (s.elapsed() - from); rest > 0 && ctx.Err() == nil && r.Aborted == "" {
		load.Sleep(ctx, rest)
	}
	w.ToMS = s.elapsed().Milliseconds()
	s.blameFaults(w, s.faults)
	if err == nil && r.Streams.Opened == 0 && r.Streams.Outcomes.Failed() > 0 {
		err = s.target.Wait(ctx, 0) // it may have gone
	}
	return w, err
}

// loadOptions returns the options of the load run of a window.
func (s *soak) loadOptions(index int, length time.Duration) load.Options {
	o := s.opts.Load
	if s.injector != nil {
		o.Target.Via = s.injector.Via()
	}
	o.Classes, o.Rate, o.Poisson = s.mix.streams, s.mix.rate, true
	o.Duration = max(length-s.opts.rest(), time.Second)
	o.Seed = s.opts.Seed + uint64(index) //nolint:gosec // positive
	o.Progress = &windowProgress{soak: s, index: index}
	o.Beside = func(ctx context.Context, run string) bundle.LoadLedger {
		return s.beside(ctx, index, o.Duration, run)
	}
	return o
}

// describe turns the report of a load run into a window.
func (s *soak) describe(index int, from time.Duration, r *bundle.LoadReport) *bundle.SoakWindow {
	w := &bundle.SoakWindow{
		Index: index, FromMS: from.Milliseconds(), Warmup: from < s.opts.Warmup,
		Verdict: r.Verdict, Message: strings.Join(r.Reasons, "; "),
		Streams: r.Streams, Latency: r.Latency, Ledger: r.Ledger, Metrics: r.Metrics, Classes: r.Classes, Examples: r.Examples,
		Work: s.worker.results(), Driver: r.Driver, Events: r.Output.Events, Bytes: r.Output.Bytes,
	}
	for _, one := range r.Workers {
		if one.Lost != "" && one.LostMS > 0 {
			w.Lost = append(w.Lost, one)
		}
	}
	for class, n := range w.Work {
		if n.Failed > 0 && w.Verdict != bundle.LoadFail {
			w.Verdict = bundle.LoadFail
			w.Message = fmt.Sprintf("%d of %d pieces of work failed (%s): %s", n.Failed, n.Done, class, n.Example)
		}
	}
	w.Metrics.Violations = slices.Clone(w.Metrics.Violations)
	doubtStarved(w)
	return w
}

// windowProgress passes on the progress of the load run of a window.
type windowProgress struct {
	soak  *soak
	index int
}

func (p *windowProgress) Begin(string, time.Duration, int) {}
func (p *windowProgress) End()                             {}

// Tick passes on a second.
func (p *windowProgress) Tick(t load.Tick) {
	p.soak.opts.Progress.Tick(Tick{
		Elapsed: p.soak.elapsed(), Duration: p.soak.opts.Duration, Window: p.index, Windows: p.soak.opts.windows(), Load: t,
	})
}
