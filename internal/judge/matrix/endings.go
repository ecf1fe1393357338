package matrix

import (
	"slices"

	"assay/internal/record/bundle"
)

// statusOK is the status of every response that has a stream.
const statusOK = 200

// ending returns how the response of an exchange ended.
func ending(e *bundle.Exchange) bundle.Ending {
	if e.Aborted || e.Unread != "" {
		return bundle.EndedStopped
	}
	switch e.Outcome {
	case bundle.OutcomeComplete:
		if lacksLast(e) {
			return bundle.EndedCut
		}
		return bundle.EndedClean
	case bundle.OutcomeAborted:
		return bundle.EndedStopped
	case bundle.OutcomeClosed:
		return bundle.EndedCut
	case bundle.OutcomeReset:
		return bundle.EndedReset
	case bundle.OutcomeGarbage:
		return bundle.EndedGarbage
	case bundle.OutcomeNoConnect:
		return bundle.EndedRefused
	default: // no answer, stalled
		return bundle.EndedTimeout
	}
}

// lacksLast reports whether a stream that is complete by its HTTP framing lacks the message
// that ends it: the end of stream of Connect, the status of gRPC, the close frame of a WebSocket.
func lacksLast(e *bundle.Exchange) bool {
	switch {
	case e.Switched():
		return e.Closing == nil
	case e.Shape != bundle.ShapeStream || e.Response == nil || e.Response.Status != statusOK:
		return false
	case e.Protocol == "grpc" || e.Protocol == "grpc-web":
		return e.GRPC == nil
	}
	return e.EndStream == nil
}

// endings counts the responses of an observation by how they ended. Probes and the clean-up are
// not the scenario's.
func endings(o *bundle.Observation) map[bundle.Ending]int {
	counts := map[bundle.Ending]int{}
	for _, e := range o.Exchanges() {
		if !e.Housekeeping() {
			counts[ending(e)]++
		}
	}
	return counts
}

// worstEnding returns the worst of the counted endings, "" for none.
func worstEnding(counts map[bundle.Ending]int) bundle.Ending {
	for _, e := range slices.Backward(bundle.Endings()) {
		if counts[e] > 0 {
			return e
		}
	}
	return ""
}

// alike makes equal what no gateway is to blame for: whether Assay or the gateway ended a
// response first can be a race.
func alike(e bundle.Ending) bundle.Ending {
	if e == bundle.EndedStopped {
		return bundle.EndedClean
	}
	return e
}
