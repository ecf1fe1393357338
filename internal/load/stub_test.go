package load

import (
	"context"
	"time"
)

// stub is an engine whose streams end well at once.
type stub struct{}

var (
	_ Engine = stub{}
	_ Sizer  = stub{}
)

func (stub) Name() string            { return "stub" }
func (stub) StreamBytes(*Plan) int64 { return 16 << 10 }

func (stub) Run(_ context.Context, p *Plan, s Sink) error {
	for n := range p.Wanted() {
		s.Opening()
		s.Started()
		s.Record(0, p.Stream(int64(n)).Class, FirstEvent, time.Millisecond)
		s.Ended(Result{Stream: int64(n), Opened: true, Fate: EndedOK})
	}
	return nil
}

// nowhere is a sink that ignores everything.
type nowhere struct{}

var _ Sink = nowhere{}

func (nowhere) Record(int, int, Metric, time.Duration) {}
func (nowhere) Opening()                               {}
func (nowhere) Started()                               {}
func (nowhere) Output(int, int, int)                   {}
func (nowhere) HungUp()                                {}
func (nowhere) Killing()                               {}
func (nowhere) Ended(Result)                           {}
func (nowhere) Coalesced(int)                          {}
func (nowhere) Unstamped(int)                          {}
func (nowhere) ClockStepped(time.Duration)             {}
func (nowhere) BackedOff()                             {}
func (nowhere) Swept(int)                              {}

// oneClass returns a plan with one class of streams.
func oneClass() *Plan { return &Plan{Schedule: Schedule{Streams: 1}, Classes: []Class{{Share: 1}}} }
