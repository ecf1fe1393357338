package suites

import (
	"context"
	"errors"
	"time"

	"assay/internal/bundle"
	"assay/scenarios"
)

// keep remembers that something could not be written. The run goes on: its
// verdicts are given, and the error comes with them.
func (s *session) keep(err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writeErr = errors.Join(s.writeErr, err)
}

// event writes one line of the run's log, of now unless it says when.
func (s *session) event(e bundle.RunEvent) {
	if e.At.IsZero() {
		e.At = time.Now()
	}
	s.keep(s.writer.Event(e))
}

// started is told of each instance that starts to run.
func (s *session) started(i scenarios.Instance) {
	s.event(bundle.RunEvent{Kind: bundle.ScenarioStarted, Scenario: i.Scenario.ID, Axes: i.Axes})
	s.opts.Progress.Start(i)
}

// onInterrupt logs the interrupt when it comes. The function that it returns ends
// that, and waits for what is being written.
func (s *session) onInterrupt(ctx context.Context) (settled func()) {
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

// finish ends the bundle of an outcome. What the bundle lacks is a note of the
// report as well; a bundle that could not be written whole is an error.
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
		out.Report.Notes = append(out.Report.Notes, "the evidence could not be written whole, so the bundle is unfinished and the exit code is 4: "+s.writeErr.Error())
	}
	return errors.Join(s.writeErr, s.writer.Finish(s.run, out.Verdicts, out.Report))
}
