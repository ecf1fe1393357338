package judge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
)

// parity requires that the named exchanges agree in their outputs, their exit and the order of
// event kinds. It ignores how output is split into events and how streams are interleaved.
func (s *scene) parity(names []string) finding {
	var first *bundle.Exchange
	for _, name := range names {
		x := s.subject(name)
		if x == nil {
			f := s.neverBegan()
			f.message = s.says("", "parity: "+name+": "+f.message)
			return f
		}
		o := s.behind(name, x)
		if o == nil && x.Response == nil && shortfall(x) != bundle.SymptomOther {
			o = &unmet{text: "parity: " + name + " got " + answer(x), symptom: shortfall(x), x: x}
		}
		if o != nil && !s.cut {
			f := o.finding(s)
			f.message = s.says("", f.message)
			return f
		}
		if s.cut && x.Outcome != bundle.OutcomeComplete {
			return s.interrupted(x)
		}
		if first == nil {
			first = x
			continue
		}
		if f := s.agree(names[0], first, name, x); !f.ok() {
			f = s.givenUp(x, s.givenUp(first, f))
			f.message = s.says("", f.message)
			return f
		}
	}
	return finding{}
}

func (s *scene) agree(nameA string, a *bundle.Exchange, nameB string, b *bundle.Exchange) finding {
	breach := func(symptom bundle.Symptom, what, inA, inB string) finding {
		return s.found(violated, b, "parity: %s differs: %s has %s, %s has %s", what, nameA, inA, nameB, inB).as(symptom)
	}
	if ka, kb := sharedKinds(a, b); ka != kb {
		return breach(kindsSymptom(a, b), "the order of events", phrase.QuoteString(ka), phrase.QuoteString(kb))
	}
	ea := a.First(bundle.EventEnd)
	eb := b.First(bundle.EventEnd)
	if ea != nil && eb != nil && ea.Exit != nil && eb.Exit != nil {
		if ea.Exit.Code != eb.Exit.Code {
			return breach(bundle.SymptomExitCode, "the exit code", strconv.Itoa(int(ea.Exit.Code)), strconv.Itoa(int(eb.Exit.Code)))
		}
		rich := !onlyCode(a.Shape) && !onlyCode(b.Shape)
		if rich && (ea.Exit.Exited != eb.Exit.Exited || ea.Exit.Status != eb.Exit.Status) {
			return breach(bundle.SymptomEndEvent, "the end event", fmt.Sprintf("%v %q", ea.Exit.Exited, ea.Exit.Status), fmt.Sprintf("%v %q", eb.Exit.Exited, eb.Exit.Status))
		}
	}
	for _, stream := range []string{"stdout", "stderr", "pty"} {
		if f := s.sameOutput(stream, nameA, a, nameB, b); !f.ok() {
			return f
		}
	}
	return finding{}
}

// sameOutput compares one output stream of two responses. NDJSON is text, so output that is not
// UTF-8 is not compared.
func (s *scene) sameOutput(stream, nameA string, a *bundle.Exchange, nameB string, b *bundle.Exchange) finding {
	ba, bb := blobOf(a, stream), blobOf(b, stream)
	text := a.Shape == bundle.ShapeNDJSON || b.Shape == bundle.ShapeNDJSON
	if ba.Whole() && bb.Whole() {
		if text && (!utf8.Valid(ba.Data) || !utf8.Valid(bb.Data)) {
			return finding{}
		}
		i, differ := firstDifference(ba.Data, bb.Data)
		if !differ {
			return finding{}
		}
		return s.found(violated, b, "parity: %s differs at byte %d: %s has %s, %s has %s",
			stream, i, nameA, rest(ba.Data[i:]), nameB, rest(bb.Data[i:])).as(parityOutput(ba, bb, i))
	}
	da, okA := blobDigest(ba)
	db, okB := blobDigest(bb)
	switch {
	case okA && okB && da == db && ba.Len == bb.Len:
		return finding{}
	case !okA || !okB || text:
		return s.found(inconclusive, b, "parity: only a part of %s was kept, so it cannot be compared", stream)
	}
	return s.found(violated, b, "parity: %s differs: %s has %d bytes, %s has %d", stream, nameA, ba.Len, nameB, bb.Len).as(parityOutput(ba, bb, -1))
}

func blobOf(x *bundle.Exchange, stream string) *bundle.Blob {
	if b := x.Outputs[stream]; b != nil {
		return b
	}
	return &bundle.Blob{}
}

// sharedKinds lists the event kinds of two exchanges, without start if one of them is a WebSocket,
// which has no such event.
func sharedKinds(a, b *bundle.Exchange) (inA, inB string) {
	inA, inB = kindsOnce(a), kindsOnce(b)
	if a.Shape == bundle.ShapeStdio || b.Shape == bundle.ShapeStdio {
		inA, inB = strings.TrimPrefix(inA, "start "), strings.TrimPrefix(inB, "start ")
	}
	return inA, inB
}

// kindsOnce lists the event kinds of an exchange, equal neighbours once, without keepalives.
func kindsOnce(x *bundle.Exchange) string {
	var words []string
	for i := range x.Events {
		if x.Events[i].Kind != bundle.EventKeepAlive {
			words = append(words, string(x.Events[i].Kind))
		}
	}
	return strings.Join(slices.Compact(words), " ")
}
