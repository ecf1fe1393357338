package judge

import "assay/internal/record/bundle"

// execution reports whether a response has the lines of the code interpreter.
func (e *exam) execution() bool { return e.x.Shape == bundle.ShapeExecute && status(e.x) == 200 }

// checkExecuteCountFirst: the number of executions comes once, before all output and results. A
// run that another call ended before it began may have only an error.
func checkExecuteCountFirst(e *exam) finding {
	if !e.execution() || len(e.x.Events) == 0 {
		return notApplied
	}
	counted := false
	for ev := range bundle.Each(e.x.Events) {
		switch ev.Kind {
		case bundle.EventCount:
			if counted {
				return e.fails(frameOff(e.x, ev.Frame), "want the number of executions once, saw it twice (%s)", place(e.x, ev.Frame))
			}
			counted = true
		case bundle.EventData, bundle.EventResult:
			if !counted {
				return e.fails(frameOff(e.x, ev.Frame), "want the number of executions first, saw %s before it (%s)", ev.Kind, place(e.x, ev.Frame)).as(bundle.SymptomOrder)
			}
		case bundle.EventStart, bundle.EventKeepAlive, bundle.EventUnknown, bundle.EventEnd, bundle.EventError:
		}
	}
	return finding{}
}

// checkExecuteEndLast: end_of_execution is the last line of a complete response, and comes once.
func checkExecuteEndLast(e *exam) finding {
	if !e.execution() {
		return notApplied
	}
	if _, end := endEvent(e.x); end >= 0 {
		if end+1 < len(e.x.Events) {
			ev := &e.x.Events[end+1]
			return e.fails(frameOff(e.x, ev.Frame), "want end_of_execution as the last line, saw %s after it (%s)", ev.Kind, place(e.x, ev.Frame)).as(bundle.SymptomEndEvent)
		}
		return finding{}
	}
	if e.x.Outcome == bundle.OutcomeComplete && !e.x.Aborted {
		return e.fails(e.x.Response.Body, "want end_of_execution as the last line, saw none (%s)", answer(e.x)).as(noEnd(e.x))
	}
	return notApplied
}
