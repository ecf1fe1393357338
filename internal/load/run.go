package load

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"time"

	"assay/internal/base/machine"
	"assay/internal/record/bundle"
	"assay/internal/record/ledger"
	"assay/internal/target"
	"assay/scenarios"
)

// EngineError is a defect of the engine or of this machine: the run is impossible.
type EngineError struct{ Err error }

// Error returns the message of the cause.
func (e *EngineError) Error() string { return "the engine: " + e.Err.Error() }

func (e *EngineError) Unwrap() error { return e.Err }

// Run puts load on a target and returns the report. Cancelling ctx interrupts it: every
// process is killed, within 10 s, and the report covers the run up to then.
//
// Errors are missing preconditions, found before the first stream: mistakes in the
// options, *machine.LimitError when the plan does not fit this machine, *target.UnreachableError
// when there is no such gateway (found by the first stream at the latest). An
// *EngineError is a defect. A failing gateway is never an error. A report together with
// an error means that the run took place, but its files could not be written.
func Run(ctx context.Context, o Options) (*bundle.LoadReport, error) {
	s, err := prepare(o)
	if err != nil {
		return nil, err
	}
	return s.conduct(ctx)
}

// session is a running run.
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
	abortedBy  *bundle.LoadThreshold // the threshold that ended the run
	machine    capacity
	needs      preflight
	engine     Engine  // the engine of the options, or crew
	crew       Crew    // nil: this process alone
	cpu        float64 // processor time of this process before the run, in seconds
	timeline   timeline
	fullTarget target.Options
	fullBoxes  []target.Options
	others     bundle.LoadLedger // of the processes beside the streams
}

// shardsWanted returns the number of shards for this process.
func shardsWanted() int { return min(max(runtime.GOMAXPROCS(0), 2), 8) }

// prepare does everything that needs no network.
func prepare(o Options) (*session, error) {
	if o.Engine == nil {
		return nil, &EngineError{errors.New("none was given")}
	}
	o, err := o.resolved()
	if err != nil {
		return nil, err
	}
	s := &session{opts: o, refused: make(chan string, 1), cpu: machine.CPUSeconds()}
	if s.thresholds, err = CompileThresholds(o.conditions, o.names()); err != nil {
		return nil, err
	}
	profile, err := scenarios.LoadProfile(o.Profile)
	if err != nil {
		return nil, err
	}
	if err := s.aim(profile); err != nil {
		return nil, err
	}
	s.machine = thisMachine()
	local := o.Fleet != nil && o.Fleet.Local()
	if o.Fleet != nil && !local { // each worker checks its own machine
		s.machine, s.needs = capacity{}, preflight{processes: o.Workers, remote: true}
	} else if s.needs, err = s.machine.fit(s.plan, o.Engine, splitting{embedded: o.Target.Embedded, may: local, workers: o.Workers}); err != nil {
		return nil, err
	}
	s.engine = o.Engine
	if o.Pause != nil && (!machine.CanPause || !local) {
		return nil, &EngineError{errNoPause}
	}
	s.sink = newCollector(shardsWanted(), s.plan)
	s.sink.redactor = s.target.Redactor()
	s.sink.refused = func(message string) { s.refused <- message }
	s.base = time.Now()
	if s.folder, err = createFolder(o.Out, s.base); err != nil {
		return nil, err
	}
	return s, nil
}

// WithProfile completes the options of a target for this version of the program.
func WithProfile(o target.Options, profile *scenarios.Profile, version string) target.Options {
	o.UserAgent, o.Paths = "assay/"+version, merged(profile.Paths, o.Paths)
	if len(o.Shell) == 0 {
		o.Shell = profile.Shell
	}
	return o
}

// merged returns all paths; those of own come first.
func merged(paths, own map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, paths)
	maps.Copy(all, own)
	return all
}

// aim makes the target and the plan.
func (s *session) aim(profile *scenarios.Profile) (err error) {
	o := WithProfile(s.opts.Target, profile, s.opts.Version)
	if s.target, err = target.New(o); err != nil {
		return err
	}
	s.fullTarget = o
	d := Dialect{Target: s.target, Run: s.opts.resumed}
	if d.Run == "" {
		id := make([]byte, 4)
		_, _ = rand.Read(id) // never fails
		d.Run = fmt.Sprintf("%s-%x", time.Now().UTC().Format("20060102T150405"), id)
	}
	if s.plan, err = s.opts.plan(d); err != nil {
		return err
	}
	if err := s.spread(profile); err != nil {
		return err
	}
	scale := scaleOf(o.TimeScale)
	s.watch = &counterWatch{scale: scale, redactor: s.target.Redactor(), scraper: newScraper(
		s.plan, expositions(s.plan, s.target, d.Run), time.Duration(float64(5*time.Second)*scale))}
	s.watch.scraper.names = ledger.Names{
		Started: profile.Metrics[ledger.KeyStarted], Finished: profile.Metrics[ledger.KeyFinished], Active: profile.Metrics[ledger.KeyActive],
	}
	return nil
}

// conduct runs the plan.
func (s *session) conduct(ctx context.Context) (*bundle.LoadReport, error) {
	defer s.watch.scraper.close()
	s.watch.scraper.save = func(name string, body []byte) { s.folder.scrape(name, s.target.Redactor().Bytes(body)) }
	r := s.blank()
	s.record(*r)
	var err error
	if s.opts.resumed == "" { // what a run recorded is read whether or not its target is still there
		err = s.target.Wait(ctx, 0)
	}
	if err == nil {
		err = s.muster(ctx)
	}
	if s.crew != nil {
		defer s.crew.Close()
	}
	if err != nil {
		if ctx.Err() == nil {
			return nil, errors.Join(err, s.folder.finish(r))
		}
		return s.finish(ctx, r)
	}
	s.watch.begin(ctx)
	if s.opts.resumed != "" {
		s.watch.doubt(interruptedWatch)
	}
	s.opts.Progress.Begin(strings.Join(s.headline(), "\n"), s.plan.Duration, s.plan.Count)
	s.cpu = machine.CPUSeconds()
	beside := s.beside(ctx)
	err = s.drive(ctx, r)
	s.others = beside()
	s.opts.Progress.End()
	if err != nil {
		return nil, errors.Join(err, s.folder.finish(r))
	}
	s.bury()
	r.DurationMS = time.Since(s.base).Milliseconds()
	return s.finish(ctx, r)
}

// finish reads the counters a last time and concludes.
func (s *session) finish(ctx context.Context, r *bundle.LoadReport) (*bundle.LoadReport, error) {
	r.Interrupted = ctx.Err() != nil
	s.fill(r)
	r.Timeline, r.Curves, r.Rates = s.timeline.report(), s.curves(), ratesOf(r)
	s.watch.after(context.WithoutCancel(ctx), Sum(r.Ledger, s.others))
	r.Metrics = s.watch.result()
	s.opts.Sandboxes.end(r)
	r.Thresholds = s.thresholds.Judge(r)
	if s.abortedBy != nil { // it stays missed, whatever was measured while processes were killed
		for i := range r.Thresholds {
			if r.Thresholds[i].Expr == s.abortedBy.Expr {
				r.Thresholds[i] = *s.abortedBy
			}
		}
	}
	conclude(r, s.plan.Open())
	err := s.folder.finish(r)
	if n := s.sink.hist.dropped; n > 0 {
		err = errors.Join(&EngineError{fmt.Errorf("%d measured values were lost in merging", n)}, err)
	}
	return r, err
}
