package judge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
)

// givenUp makes a breach a suspicion if what it lacks may not have come yet, since Assay gave the exchange up; it is held up
// like any other. It is for what compares events, where the symptom does not tell what is missing from what is wrong.
func (s *scene) givenUp(x *bundle.Exchange, f finding) finding {
	f.vain = f.vain || x != nil && slices.Contains(unfinished, x.Outcome)
	return s.heldUp(x, f)
}

// heldUp makes a breach inconclusive if the target had a time limit and this driver itself ran late by half of it or more: a
// stalled machine delays both.
func (s *scene) heldUp(x *bundle.Exchange, f finding) finding {
	if f.grade != violated {
		return f
	}
	if limit := s.tooShort(x); limit > 0 {
		f.grade = inconclusive
		f.message += fmt.Sprintf("; the time limit was %s, and the shortest command takes %s on this target", phrase.Span(limit), phrase.Span(s.cal.End))
		return f
	}
	if s.stillArriving(x) {
		f.grade = inconclusive
		f.message += "; its output was still arriving when Assay gave up"
		return f
	}
	if s.lag <= 0 {
		return f
	}
	had := s.timeFor(x)
	if had <= 0 || s.lag < had/2 {
		return f
	}
	f.grade = inconclusive
	f.message += fmt.Sprintf("; the time limit was %s, and %s by up to %s", phrase.Span(had), phrase.RanLate, phrase.Span(s.lag))
	return f
}

// stillArriving reports whether Assay gave up a response at the absolute limit of its wait while
// output kept coming: it may be slow, and on a busy machine that is nobody's fault.
func (s *scene) stillArriving(x *bundle.Exchange) bool {
	if x == nil || x.Outcome != bundle.OutcomeStalled {
		return false
	}
	var last int64
	for _, o := range x.Outputs {
		if n := len(o.Chunks); n > 0 {
			last = max(last, o.Chunks[n-1].At.T)
		}
	}
	return last > 0 && slices.ContainsFunc(s.it.Awaits, func(a bundle.Await) bool {
		return a.On == x.Name && !a.Met && a.Deadline > 0 && a.Ended.T-a.Began.T >= 2*a.Deadline && a.Ended.T-last < a.Deadline/2
	})
}

// tooShort returns the limit that ended a request, if the target's shell alone takes half of it
// or more; otherwise 0.
func (s *scene) tooShort(x *bundle.Exchange) int64 {
	if x == nil {
		return 0
	}
	if limit := limitOf(x); limit > 0 && endedBy(x, limit) && s.cal.End >= limit/2 {
		return limit
	}
	return 0
}

// timeFor returns the time limit of an incomplete response: the limit in its request, or the
// shortest deadline of an unmet wait. It is 0 if no time limit ended the response.
func (s *scene) timeFor(x *bundle.Exchange) int64 {
	if x != nil {
		if limit := limitOf(x); limit > 0 && endedBy(x, limit) {
			return limit
		}
		if x.Outcome != bundle.OutcomeNoAnswer && x.Outcome != bundle.OutcomeStalled && x.Outcome != bundle.OutcomeAborted {
			return 0
		}
	}
	least := int64(0)
	for _, a := range s.it.Awaits {
		// Some waits end early because nothing more can come.
		if !a.Met && a.Deadline > 0 && a.Ended.T-a.Began.T >= a.Deadline && (least == 0 || a.Deadline < least) {
			least = a.Deadline
		}
	}
	return least
}

// endedBy reports whether the limit of its request ended a response, not anything earlier.
func endedBy(x *bundle.Exchange, limit int64) bool {
	took, ok := duration(x)
	expired := x.Error != nil && x.Error.Code == "deadline_exceeded" || x.Outcome == bundle.OutcomeReset
	return ok && expired && took >= limit-limit/10
}

// limitOf returns the time limit in the header fields of a request, 0 for none.
func limitOf(x *bundle.Exchange) int64 {
	for _, h := range x.Request.Headers {
		switch {
		case strings.EqualFold(h.Name, "Connect-Timeout-Ms"):
			return limit(h.Value, "ms")
		case strings.EqualFold(h.Name, "Grpc-Timeout") && h.Value != "":
			number, unit := h.Value[:len(h.Value)-1], h.Value[len(h.Value)-1:]
			return limit(number, map[string]string{"H": "h", "M": "m", "S": "s", "m": "ms", "u": "us", "n": "ns"}[unit])
		}
	}
	return 0
}

// limit returns a number of time units in nanoseconds; 0 if it is invalid or too large.
func limit(number, unit string) int64 {
	if _, err := strconv.ParseUint(number, 10, 64); err != nil {
		return 0
	}
	d, err := time.ParseDuration(number + unit)
	if err != nil {
		return 0
	}
	return int64(d)
}
