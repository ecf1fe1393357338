package envd

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"assay/internal/envd/process"
)

func ptr[T any](v T) *T { return &v }

func kindsOf(problems []Problem) []Kind {
	var kinds []Kind
	for _, p := range problems {
		kinds = append(kinds, p.Kind)
	}
	return kinds
}

func TestDecodeEventReadsJSON(t *testing.T) {
	data := func(stream, text string) Event {
		return Event{Kind: KindData, Stream: stream, Data: []byte(text)}
	}
	end := func(x Exit) Event { return Event{Kind: KindEnd, Exit: x} }
	tests := map[string]struct {
		payload string
		want    Event
	}{
		"start":                       {`{"event":{"start":{"pid":4242}}}`, Event{Kind: KindStart, PID: 4242}},
		"start with the largest pid":  {`{"event":{"start":{"pid":4294967295}}}`, Event{Kind: KindStart, PID: 4294967295}},
		"stdout":                      {`{"event":{"data":{"stdout":"aGVsbG8K"}}}`, data(Stdout, "hello\n")},
		"stderr":                      {`{"event":{"data":{"stderr":"aGVsbG8="}}}`, data(Stderr, "hello")},
		"pty":                         {`{"event":{"data":{"pty":"AP8="}}}`, data(PTY, "\x00\xff")},
		"empty data":                  {`{"event":{"data":{"stdout":""}}}`, data(Stdout, "")},
		"base64 with escapes":         {`{"event":{"data":{"stdout":"\/\u002b8="}}}`, data(Stdout, "\xff\xef")},
		"keepalive":                   {`{"event":{"keepalive":{}}}`, Event{Kind: KindKeepAlive}},
		"end without zero values":     {`{"event":{"end":{}}}`, end(Exit{})},
		"end with zero values":        {`{"event":{"end":{"exitCode":0,"exited":false,"status":"","error":null}}}`, end(Exit{})},
		"end of a successful command": {`{"event":{"end":{"exited":true,"status":"exit status 0"}}}`, end(Exit{Exited: true, Status: "exit status 0"})},
		"end by a signal": {
			`{"event":{"end":{"exitCode":-1,"status":"signal: killed","error":"signal: killed"}}}`,
			end(Exit{Code: -1, Status: "signal: killed", Error: ptr("signal: killed"), Signal: "SIGKILL"}),
		},
		"the proto spelling of a field":       {`{"event":{"end":{"exit_code":7,"exited":true}}}`, end(Exit{Code: 7, Exited: true})},
		"an empty error":                      {`{"event":{"end":{"error":""}}}`, end(Exit{Error: ptr("")})},
		"unknown fields":                      {`{"x":[1],"event":{"y":null,"start":{"pid":1,"z":{"pid":2}}}}`, Event{Kind: KindStart, PID: 1}},
		"null for absent members":             {`{"event":{"start":null,"data":{"stdout":null,"stderr":"YQ=="},"end":null}}`, data(Stderr, "a")},
		"an unknown event":                    {`{"event":{"resized":{"cols":80}}}`, Event{Kind: KindUnknown}},
		"indented JSON":                       {"{\n  \"event\": {\n    \"start\": {\n      \"pid\": 1\n    }\n  }\n}\n", Event{Kind: KindStart, PID: 1}},
		"an integer written as a real number": {`{"event":{"start":{"pid":1.0}}}`, Event{Kind: KindStart, PID: 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, problems := DecodeEvent("json", []byte(tt.payload))
			if !reflect.DeepEqual(got, tt.want) || len(problems) > 0 {
				t.Errorf("got %+v with %v, want %+v", got, problems, tt.want)
			}
		})
	}
}

func TestDecodeEventReportsWhatIsWrongInJSON(t *testing.T) {
	tests := map[string]struct {
		payload string
		kind    Kind
		off     int64
		event   Event
	}{
		"an empty payload":              {``, EventJSON, 0, Event{Kind: KindUnknown}},
		"an array":                      {`[]`, EventJSON, 0, Event{Kind: KindUnknown}},
		"trailing data":                 {`{"event":{"keepalive":{}}}{}`, EventJSON, 26, Event{Kind: KindKeepAlive}},
		"an empty message":              {`{}`, EventShape, 0, Event{Kind: KindUnknown}},
		"an event of null":              {`{"event":null}`, EventShape, 0, Event{Kind: KindUnknown}},
		"an empty event":                {`{"event":{}}`, EventShape, 9, Event{Kind: KindUnknown}},
		"an event with null only":       {`{"event":{"start":null}}`, EventShape, 9, Event{Kind: KindUnknown}},
		"an event that is a string":     {`{"event":"start"}`, EventJSON, 9, Event{Kind: KindUnknown}},
		"two events":                    {`{"event":{"keepalive":{},"start":{"pid":1}}}`, EventShape, 22, Event{Kind: KindStart, PID: 1}},
		"one event twice":               {`{"event":{"keepalive":{},"keepalive":{}}}`, EventJSON, 25, Event{Kind: KindKeepAlive}},
		"an empty data event":           {`{"event":{"data":{}}}`, EventShape, 17, Event{Kind: KindData}},
		"two outputs":                   {`{"event":{"data":{"stdout":"YQ==","pty":"Yg=="}}}`, EventShape, 40, Event{Kind: KindData, Stream: Stdout, Data: []byte("a")}},
		"a start without pid":           {`{"event":{"start":{}}}`, EventShape, 18, Event{Kind: KindStart}},
		"a start with pid 0":            {`{"event":{"start":{"pid":0}}}`, EventShape, 18, Event{Kind: KindStart}},
		"both spellings":                {`{"event":{"end":{"exitCode":1,"exit_code":2}}}`, EventJSON, 30, Event{Kind: KindEnd, Exit: Exit{Code: 1}}},
		"an exit code as text":          {`{"event":{"end":{"exitCode":"1"}}}`, EventJSON, 28, Event{Kind: KindEnd}},
		"an exit code over 32 bits":     {`{"event":{"end":{"exitCode":2147483648}}}`, EventJSON, 28, Event{Kind: KindEnd}},
		"exited as a number":            {`{"event":{"end":{"exited":1}}}`, EventJSON, 26, Event{Kind: KindEnd}},
		"a status that is not a string": {`{"event":{"end":{"status":{}}}}`, EventJSON, 26, Event{Kind: KindEnd}},
		"invalid UTF-8":                 {"{\"event\":{\"end\":{\"status\":\"\xff\"}}}", EventUTF8, 27, Event{Kind: KindEnd, Exit: Exit{Status: "\ufffd"}}},
		"output as a number":            {`{"event":{"data":{"stdout":1}}}`, EventJSON, 27, Event{Kind: KindData, Stream: Stdout}},
		"base64 without padding":        {`{"event":{"data":{"stdout":"YQ"}}}`, EventBase64, 27, Event{Kind: KindData, Stream: Stdout, Data: []byte("a")}},
		"base64 of URLs":                {`{"event":{"data":{"stdout":"_-8="}}}`, EventBase64, 27, Event{Kind: KindData, Stream: Stdout, Data: []byte("\xff\xef")}},
		"base64 with line breaks":       {`{"event":{"data":{"stdout":"YW\nJj"}}}`, EventBase64, 27, Event{Kind: KindData, Stream: Stdout, Data: []byte("abc")}},
		"base64 with trailing bits":     {`{"event":{"data":{"stdout":"YR=="}}}`, EventBase64, 27, Event{Kind: KindData, Stream: Stdout, Data: []byte("a")}},
		"no base64 at all":              {`{"event":{"data":{"stdout":"hello!"}}}`, EventBase64, 27, Event{Kind: KindData, Stream: Stdout}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, problems := DecodeEvent("json", []byte(tt.payload))
			if len(problems) != 1 || problems[0].Kind != tt.kind || problems[0].Off != tt.off || problems[0].Detail == "" {
				t.Errorf("got %+v, want only %s at %d", problems, tt.kind, tt.off)
			}
			if !reflect.DeepEqual(got, tt.event) {
				t.Errorf("got %+v, want %+v", got, tt.event)
			}
		})
	}
}

func TestDecodeEventReadsProto(t *testing.T) {
	tests := map[string]struct {
		payload  string
		want     Event
		problems []Kind
	}{
		"start":                      {"\x0a\x05\x0a\x03\x08\x92\x21", Event{Kind: KindStart, PID: 4242}, nil},
		"stdout":                     {"\x0a\x05\x12\x03\x0a\x01a", Event{Kind: KindData, Stream: Stdout, Data: []byte("a")}, nil},
		"pty":                        {"\x0a\x05\x12\x03\x1a\x01a", Event{Kind: KindData, Stream: PTY, Data: []byte("a")}, nil},
		"empty data":                 {"\x0a\x04\x12\x02\x12\x00", Event{Kind: KindData, Stream: Stderr, Data: []byte{}}, nil},
		"an exit code of -1":         {"\x0a\x04\x1a\x02\x08\x01", Event{Kind: KindEnd, Exit: Exit{Code: -1}}, nil},
		"an exit code of 1":          {"\x0a\x04\x1a\x02\x08\x02", Event{Kind: KindEnd, Exit: Exit{Code: 1}}, nil},
		"end without zero values":    {"\x0a\x02\x1a\x00", Event{Kind: KindEnd}, nil},
		"end with zero values":       {"\x0a\x06\x1a\x04\x08\x00\x10\x00", Event{Kind: KindEnd}, nil},
		"keepalive":                  {"\x0a\x02\x22\x00", Event{Kind: KindKeepAlive}, nil},
		"an unknown event":           {"\x0a\x02\x2a\x00", Event{Kind: KindUnknown}, nil},
		"unknown fields":             {"\x12\x00\x0a\x06\x32\x00\x0a\x02\x08\x01", Event{Kind: KindStart, PID: 1}, nil},
		"no event":                   {"", Event{Kind: KindUnknown}, []Kind{EventShape}},
		"an empty event":             {"\x0a\x00", Event{Kind: KindUnknown}, []Kind{EventShape}},
		"an empty data event":        {"\x0a\x02\x12\x00", Event{Kind: KindData}, []Kind{EventShape}},
		"a start without pid":        {"\x0a\x02\x0a\x00", Event{Kind: KindStart}, []Kind{EventShape}},
		"two events":                 {"\x0a\x06\x0a\x02\x08\x01\x22\x00", Event{Kind: KindKeepAlive}, []Kind{EventShape}},
		"two outputs":                {"\x0a\x08\x12\x06\x0a\x01a\x12\x01b", Event{Kind: KindData, Stream: Stderr, Data: []byte("b")}, []Kind{EventShape}},
		"a truncated message":        {"\x0a\x05\x0a", Event{Kind: KindUnknown}, []Kind{EventProto}},
		"a wrong wire type":          {"\x0a\x03\x0f\x00\x00", Event{Kind: KindUnknown}, []Kind{EventProto}},
		"JSON instead":               {`{"event":{}}`, Event{Kind: KindUnknown}, []Kind{EventProto}},
		"a status that is not UTF-8": {"\x0a\x05\x1a\x03\x1a\x01\xff", Event{Kind: KindUnknown}, []Kind{EventUTF8}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, problems := DecodeEvent("proto", []byte(tt.payload))
			if !reflect.DeepEqual(got, tt.want) || !slices.Equal(kindsOf(problems), tt.problems) {
				t.Errorf("got %+v with %v, want %+v with %v", got, problems, tt.want, tt.problems)
			}
		})
	}
}

func TestAnUnknownCodecIsAProblemNotAPanic(t *testing.T) {
	if e, problems := DecodeEvent("xml", nil); e.Kind != KindUnknown || len(problems) != 1 {
		t.Errorf("got %+v with %v", e, problems)
	}
}

func TestSignalsAreReadFromTheStatus(t *testing.T) {
	for status, want := range map[string]string{
		"signal: killed":                           "SIGKILL",
		"killed":                                   "SIGKILL",
		"signal: terminated":                       "SIGTERM",
		"signal: interrupt":                        "SIGINT",
		"signal: segmentation fault":               "SIGSEGV",
		"signal: segmentation fault (core dumped)": "SIGSEGV",
		"signal: hangup":                           "SIGHUP",
		"signal: quit (core dumped)":               "SIGQUIT",
		"signal: aborted (core dumped)":            "SIGABRT",
		"signal: broken pipe":                      "SIGPIPE",
		"Killed":                                   "SIGKILL",
		"signal: 9 (SIGKILL)":                      "SIGKILL",
		"signal: 11 (SIGSEGV) (core dumped)":       "SIGSEGV",
		"":                                         "",
		"exit status 0":                            "",
		"exit status 137":                          "",
		"signal: ":                                 "",
		"the oom killer killed it":                 "",
	} {
		if got := SignalOf(status); got != want {
			t.Errorf("SignalOf(%q) = %q, want %q", status, got, want)
		}
	}
}

// FuzzDecodeEvent compares both codecs with the protobuf library: without a problem,
// both must read the same event.
func FuzzDecodeEvent(f *testing.F) {
	for _, seed := range []string{
		`{"event":{"start":{"pid":4242}}}`, `{"event":{"data":{"stdout":"aGVsbG8="}}}`, `{"event":{"end":{"exit_code":-1,"exited":true,"status":"x","error":"y"}}}`,
		"{\"event\":{\"data\":{\"pty\":\"_-8\"}}}", "\x0a\x05\x0a\x03\x08\x92\x21", "\x0a\x04\x1a\x02\x08\x01", "\x0a\x08\x12\x06\x0a\x01a\x12\x01b",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		for _, codec := range []string{"json", "proto"} {
			got, problems := DecodeEvent(codec, payload)
			for _, p := range problems {
				if p.Off < -1 || p.Off > int64(len(payload)) || p.Detail == "" {
					t.Fatalf("problem %+v in %d bytes", p, len(payload))
				}
			}
			if len(problems) > 0 {
				continue
			}
			var m process.StartResponse
			var err error
			if codec == "json" {
				err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(payload, &m)
			} else {
				err = proto.Unmarshal(payload, &m)
			}
			if err != nil {
				t.Fatalf("%s %q has no problem, but: %v", codec, payload, err)
			}
			if want := fromLibrary(&m); !same(got, want) {
				t.Fatalf("%s %q is %+v, the library reads %+v", codec, payload, got, want)
			}
		}
	})
}

func fromLibrary(m *process.StartResponse) Event {
	ev := m.GetEvent()
	switch {
	case ev.GetStart() != nil:
		return Event{Kind: KindStart, PID: ev.GetStart().GetPid()}
	case ev.GetKeepalive() != nil:
		return Event{Kind: KindKeepAlive}
	case ev.GetEnd() != nil:
		end := ev.GetEnd()
		return Event{Kind: KindEnd, Exit: Exit{Code: end.GetExitCode(), Exited: end.GetExited(), Status: end.GetStatus(), Error: end.Error, Signal: SignalOf(end.GetStatus())}}
	case ev.GetData() != nil:
		data := ev.GetData()
		return Event{Kind: KindData, Stream: streamOf(data), Data: slices.Concat(data.GetStdout(), data.GetStderr(), data.GetPty())}
	}
	return Event{Kind: KindUnknown}
}

func streamOf(data *process.ProcessEvent_DataEvent) string {
	switch data.GetOutput().(type) {
	case *process.ProcessEvent_DataEvent_Stdout:
		return Stdout
	case *process.ProcessEvent_DataEvent_Stderr:
		return Stderr
	}
	return PTY
}

// same compares events; nil and empty data are equal.
func same(a, b Event) bool {
	x, err := json.Marshal(withData(a))
	y, err2 := json.Marshal(withData(b))
	return err == nil && err2 == nil && string(x) == string(y)
}

func withData(e Event) Event {
	if e.Data == nil {
		e.Data = []byte{}
	}
	return e
}

func BenchmarkDecodeEvent(b *testing.B) {
	data := &process.StartResponse{Event: &process.ProcessEvent{Event: &process.ProcessEvent_Data{
		Data: &process.ProcessEvent_DataEvent{Output: &process.ProcessEvent_DataEvent_Stdout{Stdout: make([]byte, 1000)}},
	}}}
	inJSON, err := protojson.Marshal(data)
	if err != nil {
		b.Fatal(err)
	}
	inProto, err := proto.Marshal(data)
	if err != nil {
		b.Fatal(err)
	}
	for codec, payload := range map[string][]byte{"json": inJSON, "proto": inProto} {
		b.Run(codec, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(payload)))
			for b.Loop() {
				if _, problems := DecodeEvent(codec, payload); len(problems) > 0 {
					b.Fatal(problems)
				}
			}
		})
	}
}
