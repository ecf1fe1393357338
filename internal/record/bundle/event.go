package bundle

import "time"

// EventSchema names the version of the JSON form of a run's log.
const EventSchema = "assay.event/v1"

// RunEventKind is the kind of a RunEvent.
type RunEventKind string

// The kinds, in their order in a run.
const (
	RunBegun        RunEventKind = "run-begun"        // the URL of the target is known
	RunProbed       RunEventKind = "probed"           // the target is calibrated and probed
	ScenarioStarted RunEventKind = "scenario-started" // begins on one set of axes
	ScenarioDone    RunEventKind = "scenario-done"    // observed and judged
	EvidenceOmitted RunEventKind = "evidence-omitted" // an observation did not fit
	RunInterrupted  RunEventKind = "interrupted"      // by a signal or the budget
	RunEnded        RunEventKind = "run-ended"        // verdicts follow
)

// RunEvent is one line of the log of a run. It is written at once, so that the log of a
// killed run shows how far it got.
type RunEvent struct {
	Schema string       `json:"schema"`
	At     time.Time    `json:"at"`
	Kind   RunEventKind `json:"event"`
	// Scenario and Axes are set for kinds about one scenario.
	Scenario string `json:"scenario,omitempty"`
	Axes     Axes   `json:"axes,omitzero"`
	// Verdict is the worst verdict of the scenario, or the verdict of the run.
	Verdict string `json:"verdict,omitempty"`
	// Detail is additional text.
	Detail string `json:"detail,omitempty"`
}

// Event appends one event as one line of events.jsonl and sets its schema.
func (w *Writer) Event(e RunEvent) error {
	if w == nil || w.dir == "" {
		return nil
	}
	e.Schema = EventSchema
	return w.line(eventsFile, e)
}
