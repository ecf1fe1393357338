package envd

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"assay/internal/envd/process"
)

func decodeProto(payload []byte) (Event, []Problem) {
	e := Event{Kind: KindUnknown}
	var m process.StartResponse // ConnectResponse has the same field
	var r reader
	if err := proto.Unmarshal(payload, &m); err != nil {
		kind := EventProto
		if hasBadText(payload) {
			kind = EventUTF8
		}
		r.report(kind, -1, "the message does not parse: %v", err)
		return e, r.problems
	}
	r.oneofs(payload)
	r.protoEvent(m.GetEvent(), &e)
	return e, r.problems
}

func (r *reader) protoEvent(m *process.ProcessEvent, e *Event) {
	switch ev := m.GetEvent().(type) {
	case *process.ProcessEvent_Start:
		e.Kind, e.PID = KindStart, ev.Start.GetPid()
		if e.PID == 0 {
			r.report(EventShape, -1, "a start event without a pid")
		}
	case *process.ProcessEvent_Data:
		e.Kind = KindData
		r.protoData(ev.Data, e)
	case *process.ProcessEvent_End:
		e.Kind, e.Exit = KindEnd, protoExit(ev.End)
	case *process.ProcessEvent_Keepalive:
		e.Kind = KindKeepAlive
	default:
		if len(m.ProtoReflect().GetUnknown()) == 0 {
			r.report(EventShape, -1, "the message has no event")
		}
	}
}

func (r *reader) protoData(m *process.ProcessEvent_DataEvent, e *Event) {
	switch out := m.GetOutput().(type) {
	case *process.ProcessEvent_DataEvent_Stdout:
		e.Stream, e.Data = Stdout, out.Stdout
	case *process.ProcessEvent_DataEvent_Stderr:
		e.Stream, e.Data = Stderr, out.Stderr
	case *process.ProcessEvent_DataEvent_Pty:
		e.Stream, e.Data = PTY, out.Pty
	default:
		r.report(EventShape, -1, "a data event without stdout, stderr or pty")
	}
}

func protoExit(m *process.ProcessEvent_EndEvent) Exit {
	return Exit{
		Code:   m.GetExitCode(),
		Exited: m.GetExited(),
		Status: m.GetStatus(),
		Error:  m.Error,
		Signal: SignalOf(m.GetStatus()),
	}
}

// oneofs reports messages that set a oneof twice. A parser keeps the last and a
// generated type cannot show both, so this reads the wire: event is field 1, its
// members are 1 to 4, and the outputs of data (2) are 1 to 3.
func (r *reader) oneofs(payload []byte) {
	var events, outputs int
	for _, event := range fields(payload, 1, 1) {
		events += len(fields(event, 1, 4))
		for _, data := range fields(event, 2, 2) {
			outputs += len(fields(data, 1, 3))
		}
	}
	if events > 1 {
		r.report(EventShape, -1, "%d events in one message", events)
	}
	if outputs > 1 {
		r.report(EventShape, -1, "%d outputs in one data event", outputs)
	}
}

// hasBadText reports whether status (3) or error (4) of an end event (3) is not UTF-8,
// which makes the parser reject the whole message.
func hasBadText(payload []byte) bool {
	for _, event := range fields(payload, 1, 1) {
		for _, end := range fields(event, 3, 3) {
			for _, text := range fields(end, 3, 4) {
				if !utf8.Valid(text) {
					return true
				}
			}
		}
	}
	return false
}

// fields returns the contents of the length-delimited fields numbered lo to hi of a
// message, up to where it is malformed.
func fields(message []byte, lo, hi protowire.Number) [][]byte {
	var out [][]byte
	for len(message) > 0 {
		num, typ, n := protowire.ConsumeTag(message)
		if n < 0 {
			return out
		}
		message = message[n:]
		n = protowire.ConsumeFieldValue(num, typ, message)
		if n < 0 {
			return out
		}
		if typ == protowire.BytesType && num >= lo && num <= hi {
			content, _ := protowire.ConsumeBytes(message)
			out = append(out, content)
		}
		message = message[n:]
	}
	return out
}
