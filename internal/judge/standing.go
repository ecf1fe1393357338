package judge

import (
	"fmt"
	"strings"

	"assay/internal/bundle"
	"assay/scenarios"
)

// exam is one exchange under the standing rules.
type exam struct {
	*scene
	x *bundle.Exchange
	// features are what the run found of the target; nil when nothing is known.
	features map[string]bundle.Feature
}

// applied is what a standing check says: whether it applied to the exchange at
// all, and the breach ("" when it holds) with its place in the body.
type applied struct {
	applies bool
	breach  string
	off     int64
	symptom bundle.Symptom
}

// as gives a breach a symptom.
func (a applied) as(s bundle.Symptom) applied {
	if a.breach != "" && a.symptom == "" {
		a.symptom = s
	}
	return a
}

// notApplied is for an exchange that a check has nothing to do with.
func notApplied() applied { return applied{} }

// holds is for a check that applies and holds.
func holds() applied { return applied{applies: true} }

// breaks is for one that applies and does not hold; off -1 for no place.
func breaks(off int64, format string, args ...any) applied {
	return applied{applies: true, breach: fmt.Sprintf(format, args...), off: off}
}

// standing judges every exchange of an observation by the standing rules of the
// catalogue. A rule is only in the result when it applied to at least one exchange.
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
				if e := (&exam{scene: s, x: &s.it.Exchanges[i], features: featuresOf(run)}); e.judged() {
					e.standing(t, r)
				}
			}
		}
		j.standingScrapes(t, r, o)
		j.standingRest(t, r, run, o)
		if t.looked > 0 {
			if t.broken > 1 {
				t.worst.message += fmt.Sprintf(" (%d of %d answers)", t.broken, t.looked)
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

// judged reports whether an exchange can be held against the target at all: not
// when we were interrupted in it, nor a clean-up that did not come to an end.
func (e *exam) judged() bool {
	if e.x.Outcome == bundle.OutcomeComplete {
		return true
	}
	return !e.cut && e.x.Op != "cleanup" && e.x.Outcome != bundle.OutcomeNoConnect
}

// standing applies each entry of a rule to the exchange; the first breach counts.
func (e *exam) standing(t *tally, r *scenarios.Rule) {
	var result applied
	for _, entry := range r.Standing {
		a := e.entry(entry)
		result.applies = result.applies || a.applies
		if a.breach != "" && result.breach == "" {
			result.breach, result.off, result.symptom = a.breach, a.off, a.symptom
		}
	}
	switch {
	case result.breach != "":
		f := finding{grade: broken, symptom: result.symptom, message: e.says(e.x.Name, result.breach), at: e.at(e.x, result.off)}
		t.add(f.as(bundle.SymptomViolation))
	case result.applies:
		t.add(finding{})
	}
}

// entry applies one entry: a judge's check by its name, else a kind of violation
// that a decoder reports.
func (e *exam) entry(entry string) applied {
	if name, ok := strings.CutPrefix(entry, "check:"); ok {
		if check := checkByName(name); check != nil {
			return check(e)
		}
		return notApplied()
	}
	return e.violation(entry)
}

// checkByName is the judge's check of that name, nil for one that is not known.
func checkByName(name string) func(*exam) applied {
	return map[string]func(*exam) applied{
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
	}[name]
}

// Known reports whether an entry of a rule's standing list means something to the
// judge: a check by its name, or anything else, which is taken as a kind of violation.
func Known(entry string) bool {
	name, ok := strings.CutPrefix(entry, "check:")
	return !ok || checkByName(name) != nil || name == checkExposition || name == checkAtRest || name == checkMonotone
}
