package envd

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestDecodeLineReadsTheAlias(t *testing.T) {
	tests := map[string]struct {
		line string
		want Event
	}{
		"start":                    {`{"type":"start","pid":87654}`, Event{Kind: KindStart, PID: 87654}},
		"stdout":                   {`{"type":"stdout","data":"1\n"}`, Event{Kind: KindData, Stream: Stdout, Data: []byte("1\n")}},
		"stderr in any order":      {` { "data" : "é\u0000" , "type" : "stderr" } `, Event{Kind: KindData, Stream: Stderr, Data: []byte("é\x00")}},
		"empty data":               {`{"type":"stdout","data":""}`, Event{Kind: KindData, Stream: Stdout, Data: []byte{}}},
		"data that looks like end": {`{"type":"stdout","data":"{\"type\":\"end\"}"}`, Event{Kind: KindData, Stream: Stdout, Data: []byte(`{"type":"end"}`)}},
		"end":                      {`{"type":"end","exit_code":0}`, Event{Kind: KindEnd}},
		"end at the deadline":      {`{"type":"end","exit_code":-1}`, Event{Kind: KindEnd, Exit: Exit{Code: -1}}},
		"keepalive":                {`{"type":"keepalive"}`, Event{Kind: KindKeepAlive}},
		"an unknown type":          {`{"type":"resized","cols":80}`, Event{Kind: KindUnknown}},
		"unknown members":          {`{"type":"end","exit_code":3,"took_ms":12}`, Event{Kind: KindEnd, Exit: Exit{Code: 3}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, problems := DecodeLine([]byte(tt.line))
			if !reflect.DeepEqual(got, tt.want) || len(problems) > 0 {
				t.Errorf("got %+v with %v, want %+v", got, problems, tt.want)
			}
		})
	}
}

func TestDecodeLineReportsWhatIsWrong(t *testing.T) {
	tests := map[string]struct {
		line string
		kind Kind
		off  int64
		want Event
	}{
		"no JSON":                    {`1`, EventJSON, 0, Event{Kind: KindUnknown}},
		"two objects":                {`{"type":"keepalive"}{}`, EventJSON, 20, Event{Kind: KindKeepAlive}},
		"no type":                    {`{"pid":1}`, EventShape, 0, Event{Kind: KindUnknown}},
		"a type as a number":         {`{"type":1}`, EventJSON, 8, Event{Kind: KindUnknown}},
		"a start without pid":        {`{"type":"start"}`, EventShape, 0, Event{Kind: KindStart}},
		"a pid as text":              {`{"type":"start","pid":"1"}`, EventJSON, 22, Event{Kind: KindStart}},
		"stdout without data":        {`{"type":"stdout"}`, EventShape, 0, Event{Kind: KindData, Stream: Stdout}},
		"an end without exit_code":   {`{"type":"end"}`, EventShape, 0, Event{Kind: KindEnd}},
		"the spelling of protobuf":   {`{"type":"end","exitCode":1}`, EventShape, 0, Event{Kind: KindEnd}},
		"an exit_code of null":       {`{"type":"end","exit_code":null}`, EventShape, 0, Event{Kind: KindEnd}},
		"an exit_code as text":       {`{"type":"end","exit_code":"1"}`, EventJSON, 26, Event{Kind: KindEnd}},
		"data that is not UTF-8":     {"{\"type\":\"stdout\",\"data\":\"\xff\"}", EventUTF8, 25, Event{Kind: KindData, Stream: Stdout, Data: []byte("\ufffd")}},
		"data with half a surrogate": {`{"type":"stdout","data":"\ud83d"}`, EventUTF8, 25, Event{Kind: KindData, Stream: Stdout, Data: []byte("\ufffd")}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, problems := DecodeLine([]byte(tt.line))
			if len(problems) != 1 || problems[0].Kind != tt.kind || problems[0].Off != tt.off {
				t.Errorf("got %+v, want only %s at %d", problems, tt.kind, tt.off)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// FuzzDecodeLine compares the reader with encoding/json: without a problem, both must
// read the same.
func FuzzDecodeLine(f *testing.F) {
	for _, seed := range []string{`{"type":"start","pid":1}`, `{"type":"stdout","data":"\u00e9"}`, `{"type":"end","exit_code":-1}`, `{"type":"keepalive","pid":null}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		got, problems := DecodeLine(line)
		for _, p := range problems {
			if p.Off < 0 || p.Off > int64(len(line)) || p.Detail == "" {
				t.Fatalf("problem %+v in %d bytes", p, len(line))
			}
		}
		if len(problems) > 0 {
			return
		}
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%q has no problem, but: %v", line, err)
		}
		want := Event{Kind: KindUnknown}
		switch m["type"] {
		case "start":
			want = Event{Kind: KindStart, PID: uint32(m["pid"].(float64))}
		case "stdout", "stderr":
			want = Event{Kind: KindData, Stream: m["type"].(string), Data: []byte(m["data"].(string))}
		case "end":
			want = Event{Kind: KindEnd, Exit: Exit{Code: int32(m["exit_code"].(float64))}}
		case "keepalive":
			want = Event{Kind: KindKeepAlive}
		}
		if !same(got, want) {
			t.Fatalf("%q is %+v, encoding/json reads %+v", line, got, want)
		}
	})
}

func BenchmarkDecodeLine(b *testing.B) {
	line := []byte(`{"type":"stdout","data":"tick 12345\n"}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, problems := DecodeLine(line); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}
