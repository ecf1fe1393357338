package load

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"assay/internal/base/crash"
	"assay/internal/record/bundle"
	"assay/internal/target"
)

// drive runs the engine. Once a second it merges the histograms, scrapes the counters,
// reports progress, and checks the thresholds that may end the run.
func (s *session) drive(ctx context.Context, r *bundle.LoadReport) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s.base = time.Now()
	if s.crew != nil {
		var err error
		if s.base, err = s.crew.Begin(ctx); err != nil {
			return &EngineError{err}
		}
		if !Sleep(ctx, time.Until(s.base)) {
			s.base = time.Now() // interrupted before anything began
		}
	}
	defer s.sink.warm()()
	done := make(chan error, 1)
	crash.Go(func() {
		done <- s.engine.Run(ctx, s.plan, s.sink)
	})
	scrapes := s.scrapes(ctx)
	defer func() { stop(); scrapes.wait() }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	clock := newClockWatch(s.base)
	last := second{calendar: newCalendar(s.plan)}
	for n := 1; ; n++ {
		select {
		case err := <-done:
			last.over = last.over || ctx.Err() != nil || s.abandoned(r)
			s.tick(&last, r, s.sink.hist.last)
			return s.over(err)
		case message := <-s.refused:
			s.refused <- message // over reads it again
			stop()
			err := <-done
			last.over = true
			s.tick(&last, r, s.sink.hist.last)
			r.Aborted = "ended because the gateway refused to run the command: " + message
			return s.over(err)
		case <-tick.C:
		}
		last.over = last.over || ctx.Err() != nil
		s.tick(&last, r, s.sink.hist.merge)
		if step := clock.look(time.Now()); step != 0 {
			s.sink.ClockStepped(step)
		}
		scrapes.next(n)
		if s.missed(r, last.at) || s.hopeless(r, last.at) {
			stop()
		}
	}
}

// missed reports whether a threshold ends the run. It returns true once.
func (s *session) missed(r *bundle.LoadReport, now time.Duration) bool {
	if r.Aborted != "" || !s.thresholds.mayAbort() {
		return false
	}
	s.fill(r)
	t := s.thresholds.aborts(r, now)
	if t == nil {
		return false
	}
	r.Aborted = fmt.Sprintf("ended after %v because the threshold %s was missed: %s", now.Round(100*time.Millisecond), t.Expr, t.Observed)
	s.abortedBy = t
	return true
}

// abandoned reports whether a lost worker ended the run.
func (s *session) abandoned(r *bundle.LoadReport) bool {
	if s.crew == nil || s.crew.Aborted() == "" {
		return false
	}
	r.Aborted = cmp.Or(r.Aborted, s.crew.Aborted())
	return true
}

// hopeless reports whether the run ends because nothing has opened in the time in which a
// stream must start. It returns true once.
func (s *session) hopeless(r *bundle.LoadReport, now time.Duration) bool {
	limit := s.plan.Limits.FirstEvent
	counts := s.sink.counts()
	if r.Aborted != "" || now < limit || counts.Outcomes.Total() == 0 || counts.Started > 0 {
		return false
	}
	r.Aborted = fmt.Sprintf("gave up, because no stream opened in %v", limit)
	return true
}

// over returns the error of a run whose engine has ended with err.
func (s *session) over(err error) error {
	message := s.sink.refusedWhole() // other parts may have opened no stream
	select {
	case message = <-s.refused:
	default:
	}
	if message != "" && s.sink.started.Load() == 0 {
		return &target.UnreachableError{
			URL:    s.target.Identity().URL,
			Reason: fmt.Sprintf("it runs no command over %s: %s", s.opts.wireName(), message),
			Mend:   "check the URL, the token, --protocol, --http, and --endpoint for the paths of the surfaces",
		}
	}
	if err != nil {
		return &EngineError{err}
	}
	return nil
}

// scraping reads the counters during a run in its own goroutine, so that a slow scrape
// delays nothing else. A tick is skipped while the last scrape is still in flight.
type scraping struct {
	turns chan int
	ended chan struct{}
}

func (s *session) scrapes(ctx context.Context) *scraping {
	c := &scraping{turns: make(chan int), ended: make(chan struct{})}
	counts := s.sink.counts
	if s.crew != nil || s.opts.Beside != nil { // their counts come a second late or at the end, so the calls in flight are unknown
		counts = nil
	}
	crash.Go(func() {
		defer close(c.ended)
		for n := range c.turns {
			s.watch.during(ctx, fmt.Sprintf("%05d", n), counts)
		}
	})
	return c
}

func (c *scraping) next(n int) {
	select {
	case c.turns <- n:
	default:
	}
}

// wait ends the scrapes.
func (c *scraping) wait() {
	close(c.turns)
	<-c.ended
}

// second is where the last tick ended, and the counts of the run up to there.
type second struct {
	at       time.Duration
	started  int64
	begun    int64
	outcomes bundle.StreamOutcomes
	calendar *calendar
	over     bool // the schedule was ended early
}

// tick ends an interval: merge collects the measured values. r is the report so far.
func (s *session) tick(last *second, r *bundle.LoadReport, merge func()) {
	now := time.Since(s.base)
	merge()
	c := s.sink.counts()
	s.keepSecond(last, now, &c)
	interval := s.sink.hist.interval
	s.opts.Progress.Tick(Tick{
		Elapsed: now, Open: c.Live, Wanted: int64(s.plan.Streams), Rate: c.Started - last.started,
		FirstEvent: latencyOf(interval[FirstEvent]), Gap: latencyOf(interval[Gap]), DriverLag: latencyOf(interval[DriverLag]),
		Started: c.Started, Completed: c.Outcomes.Total(), Failed: c.Outcomes.Failed(), Outcomes: c.Outcomes,
		Warming: now < s.plan.Warmup, Ending: s.plan.Duration > 0 && now > s.plan.Duration,
	})
	last.at, last.started = now, c.Started
	s.record(*r)
}

// keepSecond adds the interval from the last tick until now to the timeline and to the log.
func (s *session) keepSecond(last *second, now time.Duration, c *Counts) {
	set := s.sink.hist.interval
	s.folder.interval("", set, s.base.Add(last.at), now-last.at)
	for i, one := range s.sink.hist.classes {
		s.folder.interval(s.opts.classes[i].Name, one.interval, s.base.Add(last.at), now-last.at)
	}
	begun := c.Begun()
	m := bundle.LoadMoment{
		FromMS: last.at.Milliseconds(), ToMS: now.Milliseconds(), Warmup: last.at < s.plan.Warmup,
		Begun: begun - last.begun, Open: c.Live,
	}
	m.Outcomes.Add(c.Outcomes, last.outcomes)
	m.Due = last.calendar.until(now, m.Begun, m.Outcomes.Total(), last.over)
	last.begun, last.outcomes = begun, c.Outcomes
	var values timedValues
	for i, metric := range timedMetrics {
		values[i] = sparseOf(set[metric])
	}
	s.timeline.add(m, values)
	s.folder.moment(m)
}

// curves returns the percentile curves of the run.
func (s *session) curves() []bundle.LoadCurve {
	classes := s.opts.names().Classes
	return curvesOf(classes, func(m Metric, class string) sparse {
		if i := slices.Index(classes, class); i >= 0 {
			return sparseOf(s.sink.hist.classes[i].total[m])
		}
		return sparseOf(s.sink.hist.total[m])
	})
}

// record stores what is known so far, so that a killed run can be reported. The timeline and
// the curves are then computed from the log.
func (s *session) record(r bundle.LoadReport) {
	if s.folder == nil {
		return
	}
	s.fill(&r)
	elapsed := time.Since(s.base)
	r.DurationMS, r.Interrupted = elapsed.Milliseconds(), true
	r.Rates = ratesOf(&r)
	if r.Aborted == "" {
		r.Aborted = fmt.Sprintf("this was recorded in %v: the run was killed, its disk was full, or it is still in progress", elapsed.Round(100*time.Millisecond))
	}
	running := r.Streams.Opened - r.Ledger.Started
	r.Ledger.Started, r.Ledger.Open = r.Ledger.Started+running, r.Ledger.Open+running
	r.Metrics = s.watch.result()
	if r.Metrics.Note == "" {
		r.Metrics.Note = notCompared + "the run did not end"
	}
	r.Thresholds = s.thresholds.Judge(&r)
	conclude(&r, s.plan.Open())
	s.folder.flush(&r)
}
