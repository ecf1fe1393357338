package judge

import (
	"bytes"
	"slices"
	"strings"

	"assay/internal/bundle"
	"assay/internal/envd/call"
)

// codeDeadline is the code of a call whose deadline has passed.
const codeDeadline = "deadline_exceeded"

// shortfall is the symptom of an answer that did not come whole; other for one that did.
func shortfall(x *bundle.Exchange) bundle.Symptom { return shortfallOr(x, bundle.SymptomOther) }

// shortfallOr is the symptom of an answer that did not come whole, or that of one which did.
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

// starts reports whether an exchange was to start a process, or to attach to one.
func starts(x *bundle.Exchange) bool {
	return x.RPC == call.ProcessStart || x.RPC == call.ProcessConnect
}

// failure is the symptom of an answer that should have been a success.
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

// refusedStart reports whether a process was refused before it started.
func refusedStart(x *bundle.Exchange) bool {
	return starts(x) && isError(x) && !slices.ContainsFunc(x.Events, isStart)
}

func isStart(e bundle.Event) bool { return e.Kind == bundle.EventStart }

// statusSymptom is that of an HTTP status which is none of the legal ones; well says
// whether 200 is one of them.
func statusSymptom(x *bundle.Exchange, well bool) bundle.Symptom {
	switch {
	case well && isRPC(x) && x.Shape == bundle.ShapeStream:
		return bundle.SymptomStreamStatus
	case !well && x.Response.Status/100 == 2:
		return bundle.SymptomNotRefused
	}
	return bundle.SymptomStatus
}

// notError is the symptom of an answer without the error that it should carry.
func notError(l *look) bundle.Symptom {
	if s := malformed(l.x); s != "" {
		return s
	}
	if slices.Equal(l.m.Error.Code, []string{codeDeadline}) {
		return bundle.SymptomNoDeadline
	}
	return shortfallOr(l.x, bundle.SymptomNotRefused)
}

// malformed is the symptom of a complete answer that cannot be read as a success or as an error; "" for others.
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

// otherCode is the symptom of an error with another code than it should have;
// inferred says that the answer carries none at all.
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

// grpcSymptom is that of a gRPC status which is none of the legal ones.
func grpcSymptom(legal []int, got int) bundle.Symptom {
	switch {
	case got == 0:
		return bundle.SymptomNotRefused
	case slices.Contains(legal, 0):
		return bundle.SymptomRefused
	}
	return bundle.SymptomErrorCode
}

// noEnd is the symptom of a stream without its end event.
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

// eventsSymptom is that of a sequence of events which does not fit its pattern.
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

// outputSymptom is that of an output of so many bytes which differs from what it should be at an offset.
func outputSymptom(at, length int64) bundle.Symptom {
	switch {
	case length == 0:
		return bundle.SymptomOutputMissing
	case at >= length:
		return bundle.SymptomOutputShort
	}
	return bundle.SymptomOutputOther
}

// lossSymptom is outputSymptom for bytes that are known whole: with parts of the middle missing, they
// end before their end too.
func lossSymptom(at int, got, want []byte) bundle.Symptom {
	s := outputSymptom(int64(at), int64(len(got)))
	if s == bundle.SymptomOutputOther && len(got) < len(want) && within(got, want) {
		return bundle.SymptomOutputShort
	}
	return s
}

// keptSymptom is lossSymptom for a long output of which not all was kept: that it is too short is all that
// is known of the bytes behind the difference.
func keptSymptom(at, got, want int64) bundle.Symptom {
	if s := outputSymptom(at, got); s != bundle.SymptomOutputOther || got >= want {
		return s
	}
	return bundle.SymptomOutputShort
}

// within reports whether the bytes are some of all, in their order.
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

// lengthSymptom is that of an output of another length than it should have.
func lengthSymptom(got, want int64) bundle.Symptom {
	if got < want {
		return outputSymptom(got, got)
	}
	return bundle.SymptomOutputOther
}

// partSymptom is that of an output, or of a body, that lacks a part.
func partSymptom(what string, got *bundle.Blob) bundle.Symptom {
	switch {
	case what == "body":
		return bundle.SymptomBody
	case got.Len == 0:
		return bundle.SymptomOutputMissing
	}
	return bundle.SymptomOutputShort
}

// kindsSymptom is that of two answers whose events are not of the same kinds.
func kindsSymptom(a, b *bundle.Exchange) bundle.Symptom {
	for _, x := range []*bundle.Exchange{a, b} {
		if e, _ := endEvent(x); e == nil {
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

// parityOutput is the symptom of two outputs that differ at an offset, -1 when it is not known.
func parityOutput(a, b *bundle.Blob, at int) bundle.Symptom {
	if at < 0 {
		at = int(min(a.Len, b.Len))
	}
	return outputSymptom(int64(at), min(a.Len, b.Len))
}

// instantSymptom is that of an instant that never came.
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
