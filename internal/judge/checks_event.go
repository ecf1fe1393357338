package judge

import (
	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// eventStream reports whether a response has process events: of Start, Connect or the NDJSON
// alias.
func (e *exam) eventStream() bool {
	switch e.x.RPC {
	case call.ProcessStart, call.ProcessConnect:
		return (e.connectStream() || e.grpcAnswer() || e.webAnswer()) && status(e.x) == 200
	}
	return e.x.Shape == bundle.ShapeNDJSON && status(e.x) == 200
}

// checkStartFirst: the first event of a stream, if it has any, is start; clients fail on any
// other, even a keepalive.
func checkStartFirst(e *exam) finding {
	if !e.eventStream() || len(e.x.Events) == 0 {
		return notApplied
	}
	if first := &e.x.Events[0]; first.Kind != bundle.EventStart {
		return e.fails(frameOff(e.x, first.Frame), "want start as the first event, saw %s (%s)", first.Kind, place(e.x, first.Frame)).as(bundle.SymptomOrder)
	}
	return finding{}
}

// checkEndLast: no start or data event follows the end event; there is at most one end event, and
// exactly one in a stream that ends without an error.
func checkEndLast(e *exam) finding {
	if !e.eventStream() {
		return notApplied
	}
	_, end := endEvent(e.x)
	if end >= 0 {
		for i := end + 1; i < len(e.x.Events); i++ {
			ev := &e.x.Events[i]
			switch ev.Kind {
			case bundle.EventStart, bundle.EventData:
				return e.fails(frameOff(e.x, ev.Frame), "want end as the last event, saw %s after it (%s)", ev.Kind, place(e.x, ev.Frame)).as(bundle.SymptomOrder)
			case bundle.EventEnd:
				return e.fails(frameOff(e.x, ev.Frame), "want at most one end event, saw a second (%s)", place(e.x, ev.Frame)).as(bundle.SymptomEndEvent)
			case bundle.EventKeepAlive, bundle.EventUnknown, bundle.EventCount, bundle.EventResult, bundle.EventError:
			}
		}
		return finding{}
	}
	success := e.x.Shape == bundle.ShapeStream && (e.x.EndStream != nil || e.x.GRPC != nil) && e.x.Error == nil ||
		e.x.Shape == bundle.ShapeNDJSON && e.x.Outcome == bundle.OutcomeComplete
	switch {
	case success && !e.x.Aborted:
		return e.fails(e.x.Response.Body, "want one end event in a stream that ends without an error, saw none (%s)", answer(e.x)).as(noEnd(e.x))
	case len(e.x.Events) == 0 || e.x.Outcome != bundle.OutcomeComplete:
		return notApplied
	}
	return finding{}
}

// checkNDJSONTypeAndEnd: the alias declares an NDJSON content type (or JSON or plain text, as
// curl-based gateways do), every line has a known type, and the last line of a complete response
// is end.
func checkNDJSONTypeAndEnd(e *exam) finding {
	x := e.x
	if x.Shape != bundle.ShapeNDJSON || status(x) != 200 {
		return notApplied
	}
	if t := responseType(x); !wire.NDJSONType(t) {
		return e.fails(-1, "content type: want an NDJSON type, saw %s", orNone(t))
	}
	for ev := range bundle.Each(x.Events) {
		if ev.Kind == bundle.EventUnknown {
			return e.fails(frameOff(x, ev.Frame), "want a known type in each line, saw an unknown one or none (%s)", place(x, ev.Frame))
		}
	}
	if x.Outcome != bundle.OutcomeComplete || x.Aborted {
		return finding{}
	}
	if n := len(x.Events); n == 0 || x.Events[n-1].Kind != bundle.EventEnd {
		return e.fails(x.Response.Body, "want end as the last line, saw %s", answer(x)).as(noEnd(x))
	}
	return finding{}
}
