package judge

import (
	"fmt"
	"strings"
	"sync"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// exam is one exchange under the standing rules.
type exam struct {
	look
	// features are the probed features of the target; nil if unknown.
	features map[string]bundle.Feature
}

// notApplied is the finding of a standing check that does not apply to the exchange.
var notApplied = finding{grade: unsupported}

// standing judges every exchange of an observation by the standing rules of the catalogue. The
// result has only rules that applied to at least one exchange.
func (j *Judge) standing(run *bundle.Run, o *bundle.Observation) map[string]*tally {
	tallies := map[string]*tally{}
	if j.Rules == nil {
		return tallies
	}
	all := scenes(nil, run, o)
	for _, r := range j.Rules.Rules {
		if r == nil || len(r.Standing) == 0 {
			continue
		}
		t := &tally{}
		for _, s := range all {
			for i := range s.it.Exchanges {
				if e := (&exam{look{scene: s, x: &s.it.Exchanges[i]}, featuresOf(run)}); e.judged() {
					e.standing(t, r)
				}
			}
		}
		j.standingScrapes(t, r, o)
		j.standingRest(t, r, run, o)
		if t.looked > 0 {
			if t.broken > 1 {
				t.worst.message += fmt.Sprintf(" (%d of %d responses)", t.broken, t.looked)
			}
			tallies[r.ID] = t
		}
	}
	return tallies
}

func featuresOf(run *bundle.Run) map[string]bundle.Feature {
	if run == nil {
		return nil
	}
	return run.Features
}

// judged reports whether the standing rules judge an exchange: not one that an interrupt cut,
// nor an incomplete clean-up, nor one without a connection. The end of a sandbox may cut the
// responses that come from it, and a proxy responds in its place.
func (e *exam) judged() bool {
	if e.x.Sandbox != "" && (e.x.Outcome == bundle.OutcomeClosed || e.x.Outcome == bundle.OutcomeReset || status(e.x) == 502) {
		return false
	}
	if e.x.Outcome == bundle.OutcomeComplete {
		return true
	}
	return !e.cut && e.x.Op != bundle.OpCleanup && e.x.Outcome != bundle.OutcomeNoConnect
}

// standing applies each entry of a rule to the exchange; the first breach counts.
func (e *exam) standing(t *tally, r *scenarios.Rule) {
	applies := false
	for _, entry := range r.Standing {
		f := e.entry(entry)
		if f.grade == violated {
			f.message = e.says(e.x.Name, f.message)
			t.addOf(e.scene, f.as(bundle.SymptomViolation))
			return
		}
		applies = applies || f.ok()
	}
	if applies && e.x.Unread == "" {
		t.addOf(e.scene, finding{})
	}
}

// entry applies one entry: a named check of the judge, or a kind of violation that a decoder
// reports.
func (e *exam) entry(entry string) finding {
	if name, ok := strings.CutPrefix(entry, "check:"); ok {
		check := checks()[name]
		if check == nil {
			return notApplied
		}
		f := check(e)
		if e.x.Unread != "" && f.symptom != bundle.SymptomOrder && f.symptom != bundle.SymptomEndEvent {
			return notApplied // only the order of events shows before the end of a response
		}
		return f
	}
	return e.violation(entry)
}

// checks are the checks by their names.
var checks = sync.OnceValue(func() map[string]func(*exam) finding { //nolint:gochecknoglobals // read only; a variable would depend on itself
	return map[string]func(*exam) finding{
		"http-trailers":             checkHTTPTrailers,
		"stream-status":             checkStreamStatus,
		"stream-content-type":       checkStreamContentType,
		"end-stream-once":           checkEndStreamOnce,
		"unary-status-by-code":      checkUnaryStatusByCode,
		"unary-error-content-type":  checkUnaryErrorContentType,
		"unary-content-type":        checkUnaryContentType,
		"content-encoding":          checkContentEncoding,
		"reserved-headers":          checkReservedHeaders,
		"error-debug":               checkErrorDebug,
		"method-allow":              checkMethodAllow,
		"start-first":               checkStartFirst,
		"end-last":                  checkEndLast,
		"ndjson-type-and-end":       checkNDJSONTypeAndEnd,
		"conn-reusable-after-error": checkConnReusableAfterError,
		"grpc-http-status":          checkGRPCHTTPStatus,
		"grpc-content-type":         checkGRPCContentType,
		"grpc-status-place":         checkGRPCStatusPlace,
		"grpc-web-content-type":     checkWebContentType,
		"grpc-web-status-last":      checkWebStatusLast,
		"grpc-web-trailers-only":    checkWebTrailersOnly,
		"grpc-web-http-trailers":    checkWebHTTPTrailers,
		"goaway-before-close":       checkGoAwayBeforeClose,
		"goaway-finishes":           checkGoAwayFinishes,
		"h2-answer-ended":           checkH2AnswerEnded,
		"stdio-exit-once":           checkStdioExitOnce,
		"stdio-exit-last":           checkStdioExitLast,
		"stdio-close":               checkStdioClose,
		"execute-count-first":       checkExecuteCountFirst,
		"execute-end-last":          checkExecuteEndLast,
	}
})
