package suites

import (
	"context"
	"errors"
	"time"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// keep records a write error. The run continues and returns its verdicts with the error.
func (s *session) keep(err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writeErr = errors.Join(s.writeErr, err)
}

// event writes one line of the run's log, with the current time by default.
func (s *session) event(e bundle.RunEvent) {
	if e.At.IsZero() {
		e.At = time.Now()
	}
	s.keep(s.writer.Event(e))
}

// started records the start of an instance.
func (s *session) started(i scenarios.Instance) {
	s.event(bundle.RunEvent{Kind: bundle.ScenarioStarted, Scenario: i.Scenario.ID, Axes: i.Axes})
	s.opts.Progress.Start(i)
}

// onInterrupt logs an interrupt. The returned function stops that and waits for a write in
// progress.
func (s *session) onInterrupt(ctx context.Context) (stopLogging func()) {
	logged := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(logged)
		s.event(bundle.RunEvent{Kind: bundle.RunInterrupted, Detail: context.Cause(ctx).Error()})
	})
	return func() {
		if !stop() {
			<-logged
		}
	}
}

// finish completes the bundle of an outcome. Missing parts of the bundle are also a note in the
// report; an incomplete bundle is an error.
func (s *session) finish(out *Outcome) error {
	omitted, note := s.writer.Omitted()
	for _, o := range omitted {
		s.event(bundle.RunEvent{Kind: bundle.EvidenceOmitted, Scenario: o.Scenario, Axes: o.Axes, Detail: bundle.Megabytes(o.Bytes)})
	}
	if note != "" {
		out.Report.Notes = append(out.Report.Notes, note)
	}
	s.event(bundle.RunEvent{Kind: bundle.RunEnded, Verdict: out.Report.Verdict})
	if s.writeErr != nil {
		out.Report.Notes = append(out.Report.Notes, "the evidence could not be written completely, so the bundle is unfinished and the exit code is 4: "+s.writeErr.Error())
	}
	return errors.Join(s.writeErr, s.writer.Finish(s.run, out.Verdicts, out.Report))
}
