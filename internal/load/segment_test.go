package load

import (
	"context"
	"errors"
	"testing"
	"time"

	"assay/internal/base/machine"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/scenarios"
)

func TestOnlyConnectionsOfTheirOwnLimitTheStreamsOfAWorker(t *testing.T) {
	const url = "http://127.0.0.1:1"
	w := Worker{Target: target.Options{URL: url}, Engines: []Engine{named{}}, Local: true}
	for http, limited := range map[string]bool{HTTP11: true, H2C: false} {
		s, err := w.Segment(&Job{
			Aim: Aim{URL: url}, HTTP: http, Schedule: Schedule{Streams: 100_000, Duration: time.Second, Seed: 1}, Engine: "named", Parts: 2,
			Classes: []scenarios.WorkloadClass{{Name: "a", Share: 1, Protocol: ProtocolConnect, Codec: CodecJSON}},
		}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.plan.MaxOpen; (got > 0) != limited {
			t.Errorf("over %s, %d streams may be open", http, got)
		}
	}
}

// A part costs what its run needs, and not what the process has used before.
func TestAPartCostsWhatItNeeds(t *testing.T) {
	const before = 0.3
	for begun := machine.CPUSeconds(); machine.CPUSeconds()-begun < before; {
	}
	s := segmentOf(t, failing{})
	var last *Window
	if err := s.Run(t.Context(), time.Hour, func(w *Window) error { last = w; return nil }); err != nil {
		t.Fatal(err)
	}
	if last.CPU >= before {
		t.Errorf("%g s of processor time", last.CPU)
	}
	var engine *EngineError
	if !errors.As(s.Failure(), &engine) || last.Error != errBroken.Error() {
		t.Errorf("%v, %q", s.Failure(), last.Error)
	}
}

// segmentOf returns a part of a run by an engine.
func segmentOf(t *testing.T, e Engine) *Segment {
	t.Helper()
	const url = "http://127.0.0.1:1"
	w := Worker{Target: target.Options{URL: url}, Engines: []Engine{e}, Local: true}
	s, err := w.Segment(&Job{
		Aim: Aim{URL: url}, HTTP: HTTP11, Schedule: Schedule{Streams: 1, Duration: time.Second, Seed: 1}, Engine: e.Name(), Parts: 1,
		Classes: []scenarios.WorkloadClass{{Name: "a", Share: 1, Protocol: ProtocolConnect, Codec: CodecJSON}},
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// errBroken is the error of failing.
var errBroken = errors.New("it broke")

// failing is an engine that fails.
type failing struct{ named }

func (failing) Run(context.Context, *Plan, Sink) error { return errBroken }

// One part that is refused may have another token. When all are, there is no such gateway.
func TestOnePartOfSeveralThatIsRefusedEndsNothing(t *testing.T) {
	var said []string
	c := newCollector(2, oneClass())
	c.refused = func(message string) { said = append(said, message) }
	absorb := func(w *Window, part int) {
		t.Helper()
		if err := c.Absorb(w, part, 2); err != nil {
			t.Fatal(err)
		}
	}
	refused := &Window{Refused: "wrong token", Examples: []bundle.LoadExample{{Message: "wrong token"}}}
	absorb(refused, 1)
	absorb(refused, 1)
	if len(said) > 0 || len(c.examples) != 1 || c.examples[0].Message != "worker 2 of 2: wrong token" {
		t.Errorf("it said %q, %+v", said, c.examples)
	}
	if got := c.refusedWhole(); got != "wrong token" { // what the end of the run says if the other opens nothing
		t.Errorf("nothing has started: %q", got)
	}
	absorb(refused, 0)
	if len(said) != 1 || said[0] != "wrong token" {
		t.Errorf("it said %q", said)
	}
	c.Started()
	if got := c.refusedWhole(); got != "" {
		t.Errorf("after a start: %q", got)
	}
}

// What a worker lost in merging and how its clock was set is known where the report is.
func TestTheDefectsOfAWorkerAreAddedUp(t *testing.T) {
	c := newCollector(2, oneClass())
	for part := range 2 {
		if err := c.Absorb(&Window{Dropped: 3, Steps: []time.Duration{time.Hour}}, part, 2); err != nil {
			t.Fatal(err)
		}
	}
	c.hist.last()
	if c.hist.dropped != 6 || len(c.steps) != 2 || c.steps[0] != time.Hour {
		t.Errorf("%d values dropped, steps %v", c.hist.dropped, c.steps)
	}
}

// named is an engine that opens nothing.
type named struct{ Engine }

// Name works as Engine says.
func (named) Name() string { return "named" }
