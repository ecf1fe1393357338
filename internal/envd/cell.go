package envd

import "assay/internal/base/strictjson"

// The breaches of the lines of the code interpreter. Those of a line that is not one JSON object
// come from the decoder of lines.
const (
	CellJSON    Kind = "execute.json"  // a line that is not one JSON object, or is over the limit
	CellEmpty   Kind = "execute.empty" // an empty line
	CellUTF8    Kind = "execute.utf-8"
	CellMembers Kind = "execute.members" // a line without its type, or a member that is missing or of another type
	CellError   Kind = "execute.error"   // an error without name, value or traceback as texts
)

// The kinds of events that only the code interpreter has.
const (
	KindCount  = "count"  // number_of_executions
	KindResult = "result" // the value of an expression, or what the code displays
	KindError  = "error"  // an error of the code
)

// DecodeCell decodes one line of POST /execute, without its newline:
// {"type":"number_of_executions","execution_count":1} {"type":"stdout","text":"x\n"}
// {"type":"error","name":"E","value":"v","traceback":"t"} {"type":"end_of_execution"}, and stderr,
// result and keepalive. Unknown members are legal; an unknown type gives kind unknown without a
// problem.
func DecodeCell(line []byte) (Event, []Problem) {
	var r reader
	e := Event{Kind: KindUnknown}
	v, ok := r.object(line)
	if !ok {
		return e, nil // the decoder of lines reports it
	}
	r.problems = nil
	typ := r.member(v, "type")
	switch r.cellText(typ, CellMembers, v.Off, "the type of the line") {
	case "number_of_executions":
		e.Kind = KindCount
		if n, ok := r.member(v, "execution_count").Int(1, 1<<53); !ok || n < 1 {
			r.report(CellMembers, v.Off, "execution_count is not a positive integer")
		}
	case Stdout:
		e.Kind, e.Stream = KindData, Stdout
		e.Data = []byte(r.cellText(r.member(v, "text"), CellMembers, v.Off, "the text of a stdout line"))
	case Stderr:
		e.Kind, e.Stream = KindData, Stderr
		e.Data = []byte(r.cellText(r.member(v, "text"), CellMembers, v.Off, "the text of a stderr line"))
	case "result":
		e.Kind = KindResult
	case "error":
		e.Kind = KindError
		for _, name := range []string{"name", "value", "traceback"} {
			r.cellText(r.member(v, name), CellError, v.Off, "the "+name+" of an error")
		}
	case "keepalive":
		e.Kind = KindKeepAlive
	case "end_of_execution":
		e.Kind = KindEnd
	}
	return e, r.problems
}

// cellText reads a member that must be a text.
func (r *reader) cellText(v strictjson.Value, kind Kind, line int, what string) string {
	switch v.Kind() {
	case strictjson.String:
		return v.Text()
	case strictjson.Invalid:
		r.report(kind, line, "%s is missing or null", what)
	default:
		r.report(kind, v.Off, "%s is %s, not a text", what, v.Kind())
	}
	return ""
}
