package judge

import (
	"fmt"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
)

// sequence requires the instants in this order, by the run's sequence numbers.
func (s *scene) sequence(names []string) finding {
	var before bundle.Stamp
	for i, name := range names {
		at, f := s.instant(name)
		if !f.ok() {
			f.message = s.says("", f.message)
			return f
		}
		if i > 0 && !before.Before(at) {
			return s.outOfOrder(names[i-1], name, before.T-at.T)
		}
		before = at
	}
	return finding{}
}

// outOfOrder returns the finding for an instant that came before the one that should precede it.
// Data from two connections may be recorded in another order than it arrived, by as much as this
// driver is late; within one exchange the order is that of the bytes.
func (s *scene) outOfOrder(first, second string, by int64) finding {
	one, _, _ := strings.Cut(first, ".")
	two, _, _ := strings.Cut(second, ".")
	f := s.found(violated, s.subject(two), "want %s after %s, saw it %s earlier", second, first, phrase.Span(by)).as(bundle.SymptomOrder)
	f.message = s.says("", f.message)
	if one != two && s.lag > 0 && s.lag >= by {
		f.grade = inconclusive
		f.message += fmt.Sprintf("; this driver itself ran late by up to %s", phrase.Span(s.lag))
	}
	return f
}

// instant resolves "p.end": the stamp of an instant of an exchange.
func (s *scene) instant(name string) (bundle.Stamp, finding) {
	subject, what, ok := strings.Cut(name, ".")
	x := s.subject(subject)
	switch {
	case !ok:
		return bundle.Stamp{}, finding{grade: toolError, message: "the script names the instant " + phrase.QuoteString(name) + "; want NAME.PART", at: s.at(nil, -1)}
	case x == nil:
		f := s.neverBegan()
		f.message = name + ": " + f.message
		return bundle.Stamp{}, f
	}
	at, known := instantOf(x, what)
	if o := s.behind(subject, x); o != nil && at == nil && !s.cut {
		return bundle.Stamp{}, o.finding(s)
	}
	switch {
	case !known:
		return bundle.Stamp{}, finding{grade: toolError, message: "the script names the instant " + phrase.QuoteString(name) + ", which is not known", at: s.at(x, -1)}
	case at != nil:
		return *at, finding{}
	case s.cut:
		return bundle.Stamp{}, s.interrupted(x)
	}
	f := finding{grade: violated, message: fmt.Sprintf("%s never came (%s)", name, answer(x)), at: s.at(x, -1)}
	return bundle.Stamp{}, s.givenUp(x, f.as(instantSymptom(x, what)))
}

// instantOf returns an instant of an exchange, nil if it never came; known is false for an unknown
// part.
func instantOf(x *bundle.Exchange, what string) (at *bundle.Stamp, known bool) {
	switch what {
	case "invoked":
		return &x.Invoked, true
	case "sent":
		return x.Sent, true
	case "returned":
		return x.Returned, true
	case "head":
		if x.Response != nil {
			return &x.Response.Head, true
		}
		return nil, true
	case "ended":
		if x.Response != nil {
			return x.Response.Ended, true
		}
		return nil, true
	case "end-stream":
		return endInstant(x), true
	case "start", "data", "end", "keepalive", "stdout", "stderr", "pty", "count", "result", "error":
		for i := range x.Events {
			if isKind(&x.Events[i], what) {
				return &x.Events[i].At, true
			}
		}
		return nil, true
	}
	return nil, false
}

// endInstant returns when the end of a stream was known; for gRPC, the end of the response.
func endInstant(x *bundle.Exchange) *bundle.Stamp {
	if protocol(x) != call.GRPC || !isRPC(x) {
		return finished(x)
	}
	if x.GRPC != nil && x.Response != nil {
		return x.Response.Ended
	}
	return nil
}
