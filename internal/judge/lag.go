package judge

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"assay/internal/bundle"
	"assay/internal/judge/phrase"
)

// heldUp turns a breach into what cannot be told where the target had a time for it of
// which this driver itself was late by half or more: a machine that stands still for so
// long holds both of them up.
func (s *scene) heldUp(x *bundle.Exchange, f finding) finding {
	if f.grade != broken {
		return f
	}
	if limit := s.tooShort(x); limit > 0 {
		f.grade = unclear
		f.message += fmt.Sprintf("; the time for it was %s, and the shortest command takes %s here", phrase.Span(limit), phrase.Span(s.cal.End))
		return f
	}
	if s.lag <= 0 {
		return f
	}
	had := s.timeFor(x)
	if had <= 0 || s.lag < had/2 {
		return f
	}
	f.grade = unclear
	f.message += fmt.Sprintf("; the time for it was %s, and %s by up to %s", phrase.Span(had), phrase.RanLate, phrase.Span(s.lag))
	return f
}

// tooShort is the limit of a request that ended it, where the shell of the target alone
// takes half of that or more; 0 otherwise.
func (s *scene) tooShort(x *bundle.Exchange) int64 {
	if x == nil {
		return 0
	}
	if limit := limitOf(x); limit > 0 && endedBy(x, limit) && s.cal.End >= limit/2 {
		return limit
	}
	return 0
}

// timeFor is how long an answer had that came short: up to the limit that its request set,
// or up to the end of the shortest wait that was in vain. 0 when time was not what ended it.
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
		// Some waits end at once, since nothing more can come.
		if !a.Met && a.Deadline > 0 && a.Ended.T-a.Began.T >= a.Deadline && (least == 0 || a.Deadline < least) {
			least = a.Deadline
		}
	}
	return least
}

// endedBy reports whether an answer was cut by the limit of its request, and not before it.
func endedBy(x *bundle.Exchange, limit int64) bool {
	took, ok := duration(x)
	expired := x.Error != nil && x.Error.Code == "deadline_exceeded" || x.Outcome == bundle.OutcomeReset
	return ok && expired && took >= limit-limit/10
}

// limitOf is the limit that a request set in a field, 0 for none.
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

// limit is a number of units of time in nanoseconds, 0 when it is none, or is too large for one.
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
