package canned

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/proto"

	"assay/internal/envd/process"
	"assay/internal/wire"
)

// protocol is the framing of events.
type protocol uint8

const (
	connect protocol = iota
	grpc
	grpcWeb
	ndjson
	stdio // over WebSocket, HTTP/1.1 only
)

// dialect is a protocol with a codec.
type dialect struct {
	protocol protocol
	proto    bool
}

// contentType is the content type of a stream.
func (d dialect) contentType() string {
	codec := "json"
	if d.proto {
		codec = "proto"
	}
	switch d.protocol {
	case stdio:
		return "stdio over WebSocket"
	case grpc:
		return "application/grpc+" + codec
	case grpcWeb:
		return "application/grpc-web+" + codec
	case ndjson:
		return "application/x-ndjson"
	default:
		return "application/connect+" + codec
	}
}

// firstPID is the first pid, and the one after the largest 32-bit number: all pids have
// ten digits, and five bytes as a varint, so that a start event is patched in place.
const firstPID = 1_000_000_000

// envelope frames a message.
func (d dialect) envelope(message []byte) []byte {
	if d.protocol == ndjson {
		return append(message, '\n')
	}
	return wire.AppendEnvelope(nil, 0, message)
}

// message encodes an event in the codec; text is its JSON form.
func (d dialect) message(e *process.ProcessEvent, text string) ([]byte, error) {
	if !d.proto {
		return []byte(text), nil
	}
	p, err := proto.Marshal(&process.StartResponse{Event: e})
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", text, err)
	}
	return p, nil
}

// start encodes the start event of firstPID.
func (d dialect) start() ([]byte, error) {
	if d.protocol == stdio {
		return nil, nil // the head of the response is the start
	}
	e := &process.ProcessEvent{Event: &process.ProcessEvent_Start{Start: &process.ProcessEvent_StartEvent{Pid: firstPID}}}
	text := fmt.Sprintf(`{"event":{"start":{"pid":%d}}}`, firstPID)
	if d.protocol == ndjson {
		text = fmt.Sprintf(`{"type":"start","pid":%d}`, firstPID)
	}
	m, err := d.message(e, text)
	return d.envelope(m), err
}

// data encodes a data event on stdout.
func (d dialect) data(p []byte) ([]byte, error) {
	if d.protocol == stdio {
		return outputFrame(p), nil
	}
	e := &process.ProcessEvent{Event: &process.ProcessEvent_Data{Data: &process.ProcessEvent_DataEvent{Output: &process.ProcessEvent_DataEvent_Stdout{Stdout: p}}}}
	var text string
	switch {
	case d.proto:
		text = "a data event"
	case d.protocol == ndjson:
		data, err := json.Marshal(string(p))
		if err != nil {
			return nil, fmt.Errorf("encoding a data event: %w", err)
		}
		text = `{"type":"stdout","data":` + string(data) + `}`
	default:
		text = `{"event":{"data":{"stdout":"` + base64.StdEncoding.EncodeToString(p) + `"}}}`
	}
	m, err := d.message(e, text)
	return d.envelope(m), err
}

// end encodes the end event; a killed process has the code -1.
func (d dialect) end(code int32, killed bool) ([]byte, error) {
	if d.protocol == stdio {
		return exitFrame(code, killed), nil
	}
	end := &process.ProcessEvent_EndEvent{ExitCode: code, Exited: !killed, Status: "exit status " + strconv.Itoa(int(code))}
	if killed {
		end.Status = "signal: killed"
	}
	fields := `"status":"` + end.Status + `"`
	if end.Exited {
		fields = `"exited":true,` + fields
	}
	if code != 0 {
		fields = fmt.Sprintf(`"exitCode":%d,`, code) + fields
	}
	text := `{"event":{"end":{` + fields + `}}}`
	if d.protocol == ndjson {
		text = fmt.Sprintf(`{"type":"end","exit_code":%d}`, code)
	}
	m, err := d.message(&process.ProcessEvent{Event: &process.ProcessEvent_End{End: end}}, text)
	return d.envelope(m), err
}

// tail is the successful end of a stream inside of the body; nil if the protocol has none.
func (d dialect) tail() []byte {
	switch d.protocol {
	case stdio:
		return closeFrame()
	case connect:
		return wire.AppendEnvelope(nil, wire.FlagEndStream, []byte("{}"))
	case grpcWeb:
		return wire.AppendEnvelope(nil, wire.FlagTrailer, []byte("grpc-status: 0\r\n"))
	default:
		return nil
	}
}
