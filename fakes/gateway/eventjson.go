package gateway

import (
	"encoding/base64"
	"strconv"

	"google.golang.org/protobuf/proto"

	envd "assay/internal/envd/process"
)

// appendEvent appends the JSON of a message with a start, data or keepalive event, as protojson writes it without white space. ok is
// false for any other message. Nearly all messages of a gateway are such events, and protojson needs reflection and much stack for each.
func appendEvent(to []byte, m proto.Message) (text []byte, ok bool) {
	var e *envd.ProcessEvent
	switch m := m.(type) {
	case *envd.StartResponse:
		e = m.GetEvent()
	case *envd.ConnectResponse:
		e = m.GetEvent()
	}
	if e == nil || len(e.ProtoReflect().GetUnknown()) > 0 {
		return nil, false
	}
	switch e := e.GetEvent().(type) {
	case *envd.ProcessEvent_Start:
		return appendStart(to, e.Start)
	case *envd.ProcessEvent_Data:
		return appendData(to, e.Data)
	case *envd.ProcessEvent_Keepalive:
		return append(to, `{"event":{"keepalive":{}}}`...), true
	}
	return nil, false
}

func appendStart(to []byte, e *envd.ProcessEvent_StartEvent) ([]byte, bool) {
	to = append(to, `{"event":{"start":{`...)
	if e.GetPid() != 0 {
		to = append(to, `"pid":`...)
		to = strconv.AppendUint(to, uint64(e.GetPid()), 10)
	}
	return append(to, "}}}"...), true
}

func appendData(to []byte, e *envd.ProcessEvent_DataEvent) ([]byte, bool) {
	var name string
	var data []byte
	switch out := e.GetOutput().(type) {
	case *envd.ProcessEvent_DataEvent_Stdout:
		name, data = "stdout", out.Stdout
	case *envd.ProcessEvent_DataEvent_Stderr:
		name, data = "stderr", out.Stderr
	case *envd.ProcessEvent_DataEvent_Pty:
		name, data = "pty", out.Pty
	default:
		return nil, false
	}
	to = append(append(append(to, `{"event":{"data":{"`...), name...), `":"`...)
	to = base64.StdEncoding.AppendEncode(to, data)
	return append(to, `"}}}`...), true
}
