package envd

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestDecodeCellReadsTheLinesOfARun(t *testing.T) {
	tests := map[string]struct {
		line string
		want Event
	}{
		"the number of executions": {`{"type":"number_of_executions","execution_count":1}`, Event{Kind: KindCount}},
		"stdout":                   {`{"type":"stdout","text":"1\n","timestamp":"now"}`, Event{Kind: KindData, Stream: Stdout, Data: []byte("1\n")}},
		"stderr in any order":      {` { "text" : "\u00e9\ud834\udd1e" , "type" : "stderr" } `, Event{Kind: KindData, Stream: Stderr, Data: []byte("é𝄞")}},
		"a result":                 {`{"type":"result","text":null,"html":"<b>","is_main_result":true}`, Event{Kind: KindResult}},
		"an error":                 {`{"type":"error","name":"E","value":"","traceback":""}`, Event{Kind: KindError}},
		"keepalive":                {`{"type":"keepalive"}`, Event{Kind: KindKeepAlive}},
		"the end":                  {`{"type":"end_of_execution"}`, Event{Kind: KindEnd}},
		"an unknown type":          {`{"type":"status","state":"busy"}`, Event{Kind: KindUnknown}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, problems := DecodeCell([]byte(tt.line))
			if !reflect.DeepEqual(got, tt.want) || len(problems) > 0 {
				t.Errorf("got %+v with %v, want %+v", got, problems, tt.want)
			}
		})
	}
}

func TestDecodeCellReportsWhatIsWrong(t *testing.T) {
	tests := map[string]struct {
		line string
		kind Kind
		off  int64
	}{
		"no type":                     {`{"text":"x"}`, CellMembers, 0},
		"a type as a number":          {`{"type":1}`, CellMembers, 8},
		"stdout without text":         {`{"type":"stdout"}`, CellMembers, 0},
		"text that is null":           {`{"type":"stderr","text":null}`, CellMembers, 0},
		"text as a list":              {`{"type":"stdout","text":["x"]}`, CellMembers, 24},
		"a count as text":             {`{"type":"number_of_executions","execution_count":"1"}`, CellMembers, 0},
		"a count of zero":             {`{"type":"number_of_executions","execution_count":0}`, CellMembers, 0},
		"an error without a value":    {`{"type":"error","name":"E","traceback":""}`, CellError, 0},
		"a traceback that is null":    {`{"type":"error","name":"E","value":"v","traceback":null}`, CellError, 0},
		"a traceback that is a list":  {`{"type":"error","name":"E","value":"v","traceback":["t"]}`, CellError, 51},
		"an error with a null number": {`{"type":"error","name":1,"value":"v","traceback":"t"}`, CellError, 23},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, problems := DecodeCell([]byte(tt.line))
			if len(problems) != 1 || problems[0].Kind != tt.kind || problems[0].Off != tt.off {
				t.Errorf("got %+v, want only %s at %d", problems, tt.kind, tt.off)
			}
		})
	}
}

func TestDecodeCellLeavesBrokenJSONToTheDecoderOfLines(t *testing.T) {
	for _, line := range []string{`{"type":"stdout"`, `1`, `[]`, ``} {
		if got, problems := DecodeCell([]byte(line)); got.Kind != KindUnknown || len(problems) > 0 {
			t.Errorf("%s: got %+v with %v", line, got, problems)
		}
	}
}

// FuzzDecodeCell compares the reader with encoding/json: the output of a line without a problem is
// the same.
func FuzzDecodeCell(f *testing.F) {
	for _, seed := range []string{`{"type":"stdout","text":"\u00e9"}`, `{"type":"error","name":"E","value":"v","traceback":null}`, `{"type":"end_of_execution"}`, `{`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		got, problems := DecodeCell(line)
		for _, p := range problems {
			if p.Off < 0 || p.Off > int64(len(line)) || p.Detail == "" {
				t.Fatalf("problem %+v in %d bytes", p, len(line))
			}
		}
		var want struct{ Type, Text string }
		if len(problems) > 0 || got.Kind != KindData || json.Unmarshal(line, &want) != nil {
			return
		}
		if want.Type == got.Stream && want.Text != string(got.Data) {
			t.Errorf("%s: got %q, want %q", line, got.Data, want.Text)
		}
	})
}
