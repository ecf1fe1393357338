package gateway

import (
	"bytes"
	"encoding/json"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"assay/fakes/virtual"
	envd "assay/internal/envd/process"
)

// Events have the same text whoever writes them.
func TestEventsAreWrittenAsProtojsonWritesThem(t *testing.T) {
	t.Parallel()
	written := 0
	for _, e := range []Event{
		{Kind: EventStart, PID: 7},
		{Kind: EventStart, PID: 1<<32 - 1},
		{Kind: EventStart},
		{Kind: EventKeepAlive},
		{Kind: EventData, Chunk: Chunk{virtual.Stdout, []byte("tick\n")}},
		{Kind: EventData, Chunk: Chunk{virtual.Stdout, []byte{0xff, 0xfe, 0, '<', '"'}}},
		{Kind: EventData, Chunk: Chunk{virtual.Stderr, []byte("e")}},
		{Kind: EventData, Chunk: Chunk{virtual.PTY, nil}},
		{Kind: EventEnd, End: Ending{Code: 3, Exited: true, Status: "exit status 3", Err: "exit status 3"}},
	} {
		for _, m := range []proto.Message{&envd.StartResponse{Event: e.message()}, &envd.ConnectResponse{Event: e.message()}} {
			raw, err := protojson.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			var want bytes.Buffer
			if err := json.Compact(&want, raw); err != nil {
				t.Fatal(err)
			}
			got, ok := appendEvent(nil, m)
			if ok {
				written++
			}
			if ok == (e.Kind == EventEnd) || ok && string(got) != want.String() {
				t.Errorf("%T of %+v: %q, %v, want %q", m, e, got, ok, want.String())
			}
		}
	}
	for _, m := range []proto.Message{&envd.StartResponse{}, &envd.ConnectResponse{Event: &envd.ProcessEvent{}}, &envd.ListResponse{},
		&envd.StartResponse{Event: &envd.ProcessEvent{Event: &envd.ProcessEvent_Data{}}}} {
		if got, ok := appendEvent(nil, m); ok {
			t.Errorf("%T %v: %q, want it left to protojson", m, m, got)
		}
	}
	if written != 16 {
		t.Errorf("%d of 16 messages were written without protojson", written)
	}
}
