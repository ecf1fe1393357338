package envd

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"assay/internal/envd/filesystem"
	"assay/internal/envd/process"
)

// The bytes below are derived by hand from the daemon's field tables: tag = number<<3 |
// wire type, zigzag for sint32, lengths before messages.
func TestGeneratedMessagesHaveTheDaemonsBytes(t *testing.T) {
	selector := &process.ProcessSelector{Selector: &process.ProcessSelector_Pid{Pid: 5}}
	tests := map[string]struct {
		message proto.Message
		want    string
	}{
		"an exit code of -1 is one zigzag byte": {
			&process.ProcessEvent_EndEvent{ExitCode: -1}, "\x08\x01",
		},
		"an exit code of 127 is zigzag 254": {
			&process.ProcessEvent_EndEvent{ExitCode: 127, Exited: true, Status: "s", Error: ptr("e")}, "\x08\xfe\x01\x10\x01\x1a\x01s\x22\x01e",
		},
		"input of StreamInput's data event is field 2": {
			&process.StreamInputRequest{Event: &process.StreamInputRequest_Data{Data: &process.StreamInputRequest_DataEvent{
				Input: &process.ProcessInput{Input: &process.ProcessInput_Stdin{Stdin: []byte("a")}},
			}}}, "\x12\x05\x12\x03\x0a\x01a",
		},
		"StreamInput's start event is field 1": {
			&process.StreamInputRequest{Event: &process.StreamInputRequest_Start{Start: &process.StreamInputRequest_StartEvent{Process: selector}}}, "\x0a\x04\x0a\x02\x08\x05",
		},
		"StreamInput's keepalive is field 3": {
			&process.StreamInputRequest{Event: &process.StreamInputRequest_Keepalive{Keepalive: &process.StreamInputRequest_KeepAlive{}}}, "\x1a\x00",
		},
		"false stdin is sent":          {&process.StartRequest{Stdin: ptr(false)}, "\x20\x00"},
		"absent stdin is not sent":     {&process.StartRequest{}, ""},
		"an empty tag is sent":         {&process.StartRequest{Tag: ptr("")}, "\x1a\x00"},
		"a pty with its size":          {&process.StartRequest{Pty: &process.PTY{Size: &process.PTY_Size{Cols: 80, Rows: 24}}}, "\x12\x06\x0a\x04\x08\x50\x10\x18"},
		"a process configuration":      {&process.ProcessConfig{Cmd: "c", Args: []string{"a", "b"}, Envs: map[string]string{"K": "V"}, Cwd: ptr("/")}, "\x0a\x01c\x12\x01a\x12\x01b\x1a\x06\x0a\x01K\x12\x01V\x22\x01/"},
		"a process of the list":        {&process.ProcessInfo{Config: &process.ProcessConfig{}, Pid: 1, Tag: ptr("t")}, "\x0a\x00\x10\x01\x1a\x01t"},
		"a selector by pid 0":          {&process.ProcessSelector{Selector: &process.ProcessSelector_Pid{}}, "\x08\x00"},
		"a selector by tag":            {&process.ProcessSelector{Selector: &process.ProcessSelector_Tag{Tag: "t"}}, "\x12\x01t"},
		"SIGKILL is 9":                 {&process.SendSignalRequest{Process: selector, Signal: process.Signal_SIGNAL_SIGKILL}, "\x0a\x02\x08\x05\x10\x09"},
		"SIGTERM is 15":                {&process.SendSignalRequest{Signal: process.Signal_SIGNAL_SIGTERM}, "\x10\x0f"},
		"input for a pty is field 2":   {&process.SendInputRequest{Input: &process.ProcessInput{Input: &process.ProcessInput_Pty{Pty: []byte{4}}}}, "\x12\x03\x12\x01\x04"},
		"the output streams":           {&process.ProcessEvent_DataEvent{Output: &process.ProcessEvent_DataEvent_Pty{Pty: []byte("p")}}, "\x1a\x01p"},
		"Connect has Start's event":    {&process.ConnectResponse{Event: &process.ProcessEvent{Event: &process.ProcessEvent_Keepalive{Keepalive: &process.ProcessEvent_KeepAlive{}}}}, "\x0a\x02\x22\x00"},
		"the size of a file is int64":  {&filesystem.EntryInfo{Size: -1}, "\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
		"a symlink target is field 10": {&filesystem.EntryInfo{SymlinkTarget: ptr("x")}, "\x52\x01x"},
		"metadata of a file is 11":     {&filesystem.EntryInfo{Metadata: map[string]string{"k": "v"}}, "\x5a\x06\x0a\x01k\x12\x01v"},
		"a watch with all its options": {&filesystem.WatchDirRequest{Path: "p", Recursive: true, IncludeEntry: true, AllowNetworkMounts: true}, "\x0a\x01p\x10\x01\x18\x01\x20\x01"},
		"an event of a watch": {
			&filesystem.WatchDirResponse{Event: &filesystem.WatchDirResponse_Filesystem{Filesystem: &filesystem.FilesystemEvent{Name: "n", Type: filesystem.EventType_EVENT_TYPE_CHMOD}}}, "\x12\x05\x0a\x01n\x10\x05",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := proto.MarshalOptions{Deterministic: true}.Marshal(tt.message)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, []byte(tt.want)) {
				t.Errorf("encoded as % x, want % x", got, tt.want)
			}
			back := tt.message.ProtoReflect().New().Interface()
			if err := proto.Unmarshal([]byte(tt.want), back); err != nil || !proto.Equal(back, tt.message) {
				t.Errorf("decoded as %v, %v; want %v", back, err, tt.message)
			}
		})
	}
}

// JSON is compared as values: protojson varies its white space on purpose.
func TestGeneratedMessagesHaveTheDaemonsJSON(t *testing.T) {
	tests := map[string]struct {
		message proto.Message
		want    string
	}{
		"the size of a file is a string": {&filesystem.EntryInfo{Size: 9007199254740993, Mode: 420}, `{"size":"9007199254740993","mode":420}`},
		"a oneof is flat": {
			&process.SendSignalRequest{Process: &process.ProcessSelector{Selector: &process.ProcessSelector_Pid{Pid: 5266}}, Signal: process.Signal_SIGNAL_SIGKILL},
			`{"process":{"pid":5266},"signal":"SIGNAL_SIGKILL"}`,
		},
		"an event is flat": {
			&process.StartResponse{Event: &process.ProcessEvent{Event: &process.ProcessEvent_Data{Data: &process.ProcessEvent_DataEvent{Output: &process.ProcessEvent_DataEvent_Stdout{Stdout: []byte{0xff, 0xef}}}}}},
			`{"event":{"data":{"stdout":"/+8="}}}`,
		},
		"zero values are omitted": {&process.ProcessEvent_EndEvent{Exited: true, Status: "exit status 0"}, `{"exited":true,"status":"exit status 0"}`},
		"names are in camel case": {&process.ProcessEvent_EndEvent{ExitCode: -1}, `{"exitCode":-1}`},
		"false stdin":             {&process.StartRequest{Stdin: ptr(false)}, `{"stdin":false}`},
		"a file's type by name":   {&filesystem.EntryInfo{Type: filesystem.FileType_FILE_TYPE_SYMLINK}, `{"type":"FILE_TYPE_SYMLINK"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := protojson.Marshal(tt.message)
			if err != nil {
				t.Fatal(err)
			}
			var got, want any
			if err := json.Unmarshal(p, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("encoded as %s, want %s", p, tt.want)
			}
		})
	}
}

func TestStdinOfStartIsPresentOnlyWhenItWasSent(t *testing.T) {
	for text, want := range map[string]*bool{`{}`: nil, `{"stdin":false}`: ptr(false), `{"stdin":true}`: ptr(true), `{"stdin":null}`: nil} {
		var m process.StartRequest
		if err := protojson.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(m.Stdin, want) {
			t.Errorf("%s: stdin = %v, want %v", text, m.Stdin, want)
		}
	}
}

func TestSignalsHaveTheDaemonsNumbers(t *testing.T) {
	want := map[string]int32{"SIGNAL_UNSPECIFIED": 0, "SIGNAL_SIGKILL": 9, "SIGNAL_SIGTERM": 15}
	if !reflect.DeepEqual(process.Signal_value, want) {
		t.Errorf("signals %v, want %v", process.Signal_value, want)
	}
}
