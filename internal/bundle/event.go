package bundle

import "time"

// EventSchema names the version of the JSON form of a run's log.
const EventSchema = "assay.event/v1"

// RunEventKind is what happened in a run.
type RunEventKind string

// The kinds, in the order in which a run has them.
const (
	RunBegun        RunEventKind = "run-begun"        // the target is known by its URL
	RunProbed       RunEventKind = "probed"           // it was measured, and its features are known
	ScenarioStarted RunEventKind = "scenario-started" // on one set of axes
	ScenarioDone    RunEventKind = "scenario-done"    // seen and judged
	EvidenceOmitted RunEventKind = "evidence-omitted" // an observation did not fit
	RunInterrupted  RunEventKind = "interrupted"      // a signal, or the budget
	RunEnded        RunEventKind = "run-ended"        // the verdicts are about to be written
)

// RunEvent is one line of the log of a run: what happened when. It is written as
// it happens, so that the log of a run that was killed says how far it came.
type RunEvent struct {
	Schema string       `json:"schema"`
	At     time.Time    `json:"at"`
	Kind   RunEventKind `json:"event"`
	// Scenario and Axes are of the kinds that speak of one scenario.
	Scenario string `json:"scenario,omitempty"`
	Axes     Axes   `json:"axes,omitzero"`
	// Verdict is the worst of the scenario's rules, or that of the run.
	Verdict string `json:"verdict,omitempty"`
	// Detail says more, for people.
	Detail string `json:"detail,omitempty"`
}

// Event appends one event as one line of events.jsonl. Its schema is filled in.
func (w *Writer) Event(e RunEvent) error {
	if w == nil || w.dir == "" {
		return nil
	}
	e.Schema = EventSchema
	return w.line(eventsFile, e)
}
