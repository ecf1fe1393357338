package judge

import (
	"bytes"
	"slices"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
)

// codeDeadline is the error code of a call whose deadline passed.
const codeDeadline = "deadline_exceeded"

// shortfall returns the symptom of an incomplete response; SymptomOther for a complete one.
func shortfall(x *bundle.Exchange) bundle.Symptom { return shortfallOr(x, bundle.SymptomOther) }

// shortfallOr returns the symptom of an incomplete response; whole for a complete one.
func shortfallOr(x *bundle.Exchange, whole bundle.Symptom) bundle.Symptom {
	switch x.Outcome {
	case bundle.OutcomeNoConnect:
		return bundle.SymptomNoConnect
	case bundle.OutcomeNoAnswer:
		return bundle.SymptomNoAnswer
	case bundle.OutcomeStalled:
		return bundle.SymptomStalled
	case bundle.OutcomeClosed, bundle.OutcomeReset:
		return bundle.SymptomCut
	case bundle.OutcomeGarbage:
		return bundle.SymptomGarbage
	case bundle.OutcomeComplete, bundle.OutcomeAborted:
	}
	return whole
}

// starts reports whether an exchange is a Start or a Connect.
func starts(x *bundle.Exchange) bool {
	return x.RPC == call.ProcessStart || x.RPC == call.ProcessConnect
}

// failure returns the symptom of a response that should have been a success.
func failure(x *bundle.Exchange) bundle.Symptom {
	switch {
	case shortfall(x) != bundle.SymptomOther:
		return shortfall(x)
	case starts(x) && !slices.ContainsFunc(x.Events, isStart):
		return bundle.SymptomNoStart
	case isError(x):
		return bundle.SymptomRefused
	}
	return bundle.SymptomNoEndStream
}

// refusedStart reports whether a Start or Connect had an error instead of a start event.
func refusedStart(x *bundle.Exchange) bool {
	return starts(x) && isError(x) && !slices.ContainsFunc(x.Events, isStart)
}

func isStart(e bundle.Event) bool { return e.Kind == bundle.EventStart }

// statusSymptom returns the symptom of an illegal HTTP status; well says whether 200 is legal.
func statusSymptom(x *bundle.Exchange, well bool) bundle.Symptom {
	switch {
	case well && isRPC(x) && x.Shape == bundle.ShapeStream:
		return bundle.SymptomStreamStatus
	case !well && x.Response.Status/100 == 2:
		return bundle.SymptomNotRefused
	}
	return bundle.SymptomStatus
}

// notError returns the symptom of a response that lacks the required error.
func notError(l *look) bundle.Symptom {
	if s := malformed(l.x); s != "" {
		return s
	}
	if slices.Equal(l.m.Error.Code, []string{codeDeadline}) {
		return bundle.SymptomNoDeadline
	}
	return shortfallOr(l.x, bundle.SymptomNotRefused)
}

// malformed returns the symptom of a complete response that is neither a success nor an error;
// "" for any other.
func malformed(x *bundle.Exchange) bundle.Symptom {
	if x.Outcome != bundle.OutcomeComplete || x.Response == nil {
		return ""
	}
	if code, _ := errorCode(x); x.Error != nil && code == "" {
		return bundle.SymptomErrorForm
	}
	over := x.EndStream != nil
	if ofGRPC(x) {
		over = x.GRPC != nil
	}
	if x.Shape == bundle.ShapeStream && x.Response.Status == 200 && !over {
		return bundle.SymptomNoEndStream
	}
	return ""
}

// otherCode returns the symptom of an error with the wrong code; inferred says that the
// response has no code.
func otherCode(l *look, inferred bool) bundle.Symptom {
	switch {
	case inferred && l.x.Shape == bundle.ShapeStream:
		return bundle.SymptomStreamStatus
	case inferred:
		return bundle.SymptomErrorForm
	case slices.Equal(l.m.Error.Code, []string{codeDeadline}):
		return bundle.SymptomNoDeadline
	}
	return bundle.SymptomErrorCode
}

// grpcSymptom returns the symptom of an illegal gRPC status.
func grpcSymptom(legal []int, got int) bundle.Symptom {
	switch {
	case got == 0:
		return bundle.SymptomNotRefused
	case slices.Contains(legal, 0):
		return bundle.SymptomRefused
	}
	return bundle.SymptomErrorCode
}

// noEnd returns the symptom of a stream without its end event.
func noEnd(x *bundle.Exchange) bundle.Symptom {
	switch {
	case shortfall(x) != bundle.SymptomOther:
		return shortfall(x)
	case x.Error != nil && !slices.ContainsFunc(x.Events, isStart):
		return bundle.SymptomNoStart
	case x.Error != nil:
		return bundle.SymptomRefused
	}
	return bundle.SymptomNoEnd
}

// eventsSymptom returns the symptom of a sequence of events that does not fit its pattern.
func eventsSymptom(l *look, kinds []string) bundle.Symptom {
	wants := func(kind bundle.EventKind) bool {
		return strings.Contains(l.m.Events, string(kind)) && !slices.Contains(kinds, string(kind))
	}
	switch {
	case wants(bundle.EventEnd):
		return noEnd(l.x)
	case wants(bundle.EventStart):
		return bundle.SymptomNoStart
	case wants(bundle.EventData):
		return bundle.SymptomOutputMissing
	}
	return bundle.SymptomOrder
}

// outputSymptom returns the symptom of an output of length bytes whose first wrong byte is at
// the offset at.
func outputSymptom(at, length int64) bundle.Symptom {
	switch {
	case length == 0:
		return bundle.SymptomOutputMissing
	case at >= length:
		return bundle.SymptomOutputShort
	}
	return bundle.SymptomOutputOther
}

// lossSymptom is outputSymptom for completely known bytes: output that lacks parts in the middle
// counts as short, too.
func lossSymptom(at int, got, want []byte) bundle.Symptom {
	s := outputSymptom(int64(at), int64(len(got)))
	if s == bundle.SymptomOutputOther && len(got) < len(want) && within(got, want) {
		return bundle.SymptomOutputShort
	}
	return s
}

// keptSymptom is lossSymptom for a long output of which only a part was kept: of the bytes after
// the difference only their number is known.
func keptSymptom(at, got, want int64) bundle.Symptom {
	if s := outputSymptom(at, got); s != bundle.SymptomOutputOther || got >= want {
		return s
	}
	return bundle.SymptomOutputShort
}

// within reports whether some is a subsequence of all.
func within(some, all []byte) bool {
	for _, b := range some {
		i := bytes.IndexByte(all, b)
		if i < 0 {
			return false
		}
		all = all[i+1:]
	}
	return true
}

// lengthSymptom returns the symptom of an output with the wrong length.
func lengthSymptom(got, want int64) bundle.Symptom {
	if got < want {
		return outputSymptom(got, got)
	}
	return bundle.SymptomOutputOther
}

// partSymptom returns the symptom of an output, or of a body, that lacks a part.
func partSymptom(what string, got *bundle.Blob) bundle.Symptom {
	switch {
	case what == "body":
		return bundle.SymptomBody
	case got.Len == 0:
		return bundle.SymptomOutputMissing
	}
	return bundle.SymptomOutputShort
}

// kindsSymptom returns the symptom of two responses with different kinds of events.
func kindsSymptom(a, b *bundle.Exchange) bundle.Symptom {
	for _, x := range []*bundle.Exchange{a, b} {
		if e := x.First(bundle.EventEnd); e == nil {
			return noEnd(x)
		}
	}
	without := func(x *bundle.Exchange, kind bundle.EventKind) string {
		return strings.Join(slices.DeleteFunc(strings.Fields(kindsOnce(x)), func(k string) bool { return k == string(kind) }), " ")
	}
	switch {
	case without(a, bundle.EventData) == without(b, bundle.EventData):
		return bundle.SymptomOutputMissing
	case without(a, bundle.EventStart) == without(b, bundle.EventStart):
		return bundle.SymptomNoStart
	}
	return bundle.SymptomOrder
}

// parityOutput returns the symptom of two outputs that differ at an offset; -1 if it is unknown.
func parityOutput(a, b *bundle.Blob, at int) bundle.Symptom {
	if at < 0 {
		at = int(min(a.Len, b.Len))
	}
	return outputSymptom(int64(at), min(a.Len, b.Len))
}

// instantSymptom returns the symptom of an instant that never came.
func instantSymptom(x *bundle.Exchange, what string) bundle.Symptom {
	switch what {
	case "start":
		return shortfallOr(x, bundle.SymptomNoStart)
	case "data", "stdout", "stderr", "pty":
		return shortfallOr(x, bundle.SymptomOutputMissing)
	case "end":
		return noEnd(x)
	case "end-stream":
		return shortfallOr(x, bundle.SymptomNoEndStream)
	}
	return shortfall(x)
}
