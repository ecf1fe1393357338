package envd

import "assay/internal/base/strictjson"

// DecodeLine decodes one line of the NDJSON alias, without its newline:
// {"type":"start","pid":1} {"type":"stdout","data":"text"}
// {"type":"end","exit_code":0}, and stderr and keepalive. The alias is not protobuf, so
// nothing may be omitted: a start has a pid, output has data (text, not base64), an end
// has exit_code. Unknown members are legal; an unknown type gives kind unknown without
// a problem.
func DecodeLine(line []byte) (Event, []Problem) {
	var r reader
	e := Event{Kind: KindUnknown}
	v, ok := r.object(line)
	if !ok {
		return e, r.problems
	}
	typ := r.member(v, "type")
	if typ.Kind() == strictjson.Invalid {
		r.report(EventShape, v.Off, "the line has no type")
		return e, r.problems
	}
	switch name := r.text(typ, "type"); name {
	case KindStart:
		e.Kind = KindStart
		r.start(v, &e)
	case Stdout, Stderr:
		e.Kind, e.Stream = KindData, name
		r.lineData(v, &e)
	case KindEnd:
		e.Kind = KindEnd
		r.lineEnd(v, &e)
	case KindKeepAlive:
		e.Kind = KindKeepAlive
	}
	return e, r.problems
}

func (r *reader) lineData(v strictjson.Value, e *Event) {
	data := r.member(v, "data")
	if data.Kind() == strictjson.Invalid {
		r.report(EventShape, v.Off, "a %s line without data", e.Stream)
		return
	}
	e.Data = []byte(r.text(data, "data"))
}

func (r *reader) lineEnd(v strictjson.Value, e *Event) {
	code := r.member(v, "exit_code")
	if code.Kind() == strictjson.Invalid {
		r.report(EventShape, v.Off, "an end line without exit_code")
		return
	}
	e.Exit.Code = r.int32(code, "exit_code")
}
