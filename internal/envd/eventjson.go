package envd

import (
	"slices"

	"assay/internal/base/strictjson"
)

func decodeJSON(payload []byte) (Event, []Problem) {
	var r reader
	e := Event{Kind: KindUnknown}
	message, ok := r.object(payload)
	if !ok {
		return e, r.problems
	}
	event := r.member(message, "event")
	if event.Kind() == strictjson.Invalid {
		r.report(EventShape, message.Off, "the message has no event")
		return e, r.problems
	}
	if r.is(event, strictjson.Object, "event") {
		r.event(event, &e)
	}
	return e, r.problems
}

// member returns the member with one of its spellings. null means absent. It reports
// two spellings of one field; the scanner reports the same spelling twice.
func (r *reader) member(v strictjson.Value, spellings ...string) strictjson.Value {
	var found strictjson.Value
	var name string
	for m := range v.Members() {
		if m.Value.Kind() == strictjson.Null || !slices.Contains(spellings, string(m.Name)) {
			continue
		}
		if found.Kind() == strictjson.Invalid {
			found, name = m.Value, string(m.Name)
		} else if string(m.Name) != name {
			r.report(EventJSON, m.Off, "the field is given as %s and as %s", name, m.Name)
		}
	}
	return found
}

// event reads the oneof: exactly one of the known members, or only unknown ones.
func (r *reader) event(v strictjson.Value, e *Event) {
	body := r.pick(v, &e.Kind, KindStart, KindData, KindEnd, KindKeepAlive)
	if e.Kind == "" {
		e.Kind = KindUnknown
		if !hasContent(v) {
			r.report(EventShape, v.Off, "the event is empty")
		}
		return
	}
	if !r.is(body, strictjson.Object, e.Kind) {
		return
	}
	switch e.Kind {
	case KindStart:
		r.start(body, e)
	case KindData:
		r.data(body, e)
	case KindEnd:
		r.end(body, e)
	}
}

// hasContent reports whether any member is not null.
func hasContent(v strictjson.Value) bool {
	for m := range v.Members() {
		if m.Value.Kind() != strictjson.Null {
			return true
		}
	}
	return false
}

// pick reads a oneof: it stores the name of the member that is set, "" if none of the
// known ones is, and reports a second one.
func (r *reader) pick(v strictjson.Value, name *string, members ...string) strictjson.Value {
	*name = ""
	var picked strictjson.Value
	for _, member := range members {
		found := r.member(v, member)
		switch {
		case found.Kind() == strictjson.Invalid:
		case *name != "":
			r.report(EventShape, found.Off, "both %s and %s are set", *name, member)
		default:
			*name, picked = member, found
		}
	}
	return picked
}

func (r *reader) start(v strictjson.Value, e *Event) {
	pid := r.member(v, "pid")
	if _, zero := pid.Int(0, 0); zero || pid.Kind() == strictjson.Invalid {
		r.report(EventShape, v.Off, "a start event without a pid")
		return
	}
	e.PID = r.uint32(pid, "pid")
}

func (r *reader) data(v strictjson.Value, e *Event) {
	output := r.pick(v, &e.Stream, Stdout, Stderr, PTY)
	if e.Stream == "" {
		r.report(EventShape, v.Off, "a data event without stdout, stderr or pty")
		return
	}
	e.Data = r.bytes(output, e.Stream)
}

func (r *reader) end(v strictjson.Value, e *Event) {
	if code := r.member(v, "exitCode", "exit_code"); code.Kind() != strictjson.Invalid {
		e.Exit.Code = r.int32(code, "exitCode")
	}
	if exited := r.member(v, "exited"); exited.Kind() != strictjson.Invalid {
		r.is(exited, strictjson.Bool, "exited")
		e.Exit.Exited = exited.True()
	}
	if status := r.member(v, "status"); status.Kind() != strictjson.Invalid {
		e.Exit.Status = r.text(status, "status")
	}
	if text := r.member(v, "error"); text.Kind() != strictjson.Invalid {
		s := r.text(text, "error")
		e.Exit.Error = &s
	}
	e.Exit.Signal = SignalOf(e.Exit.Status)
}
