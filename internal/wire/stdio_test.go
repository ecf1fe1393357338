package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"testing"
)

func TestStdioViolations(t *testing.T) {
	tests := map[string]struct {
		op      WSOpcode
		payload string
		kind    Kind
		off     int64
	}{
		"an empty binary message":        {WSBinary, "", StdioEmpty, 0},
		"stream 0":                       {WSBinary, "\x00x", StdioStream, 0},
		"stream 3":                       {WSBinary, "\x03x", StdioStream, 0},
		"an empty text":                  {WSText, "", StdioJSON, 0},
		"no JSON":                        {WSText, `{"type":exit}`, StdioJSON, 8},
		"an array":                       {WSText, ` ["exit"]`, StdioJSON, 1},
		"two objects":                    {WSText, `{"type":"exit","code":0}{}`, StdioJSON, 24},
		"a repeated code":                {WSText, `{"type":"exit","code":0,"code":1}`, StdioJSON, 24},
		"no type":                        {WSText, ` {"code":0}`, StdioType, 1},
		"a type that is a number":        {WSText, `{"type":1}`, StdioType, 8},
		"an unknown type":                {WSText, `{"type":"Exit","code":0}`, StdioType, 8},
		"an empty type":                  {WSText, `{"type":""}`, StdioType, 8},
		"exit without a code":            {WSText, `{"type":"exit"}`, StdioExitCode, 0},
		"a code that is a string":        {WSText, `{"type":"exit","code":"0"}`, StdioExitCode, 22},
		"a code that is null":            {WSText, `{"type":"exit","code":null}`, StdioExitCode, 22},
		"a code with a fraction":         {WSText, `{"type":"exit","code":0.5}`, StdioExitCode, 22},
		"a code of 2^31":                 {WSText, `{"type":"exit","code":2147483648}`, StdioExitCode, 22},
		"an error without a message":     {WSText, `{"type":"error"}`, StdioMember, 0},
		"an error message of an object":  {WSText, `{"type":"error","message":{}}`, StdioMember, 26},
		"a pane of a server without any": {WSText, `{"type":"opened","pane":"a","stdout":3,"stderr":4}`, StdioType, 8},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var d StdioDecoder
			_, got := d.Decode(tt.op, []byte(tt.payload))
			if len(got) != 1 || got[0].Kind != tt.kind || got[0].Off != tt.off || got[0].Detail == "" {
				t.Errorf("got %+v, want only %s at %d", got, tt.kind, tt.off)
			}
		})
	}
}

func TestStdioMessagesAreDecoded(t *testing.T) {
	tests := map[string]struct {
		op      WSOpcode
		payload string
		want    StdioMessage
	}{
		"stdout":                       {WSBinary, "\x01a\x00\xff", StdioMessage{Stream: StdioStdout, Data: []byte("a\x00\xff")}},
		"stderr of no bytes":           {WSBinary, "\x02", StdioMessage{Stream: StdioStderr, Data: []byte{}}},
		"JSON as output":               {WSBinary, "\x01" + `{"type":"exit","code":3}`, StdioMessage{Stream: StdioStdout, Data: []byte(`{"type":"exit","code":3}`)}},
		"exit":                         {WSText, `{"type":"exit","code":3}`, StdioMessage{Type: "exit", Code: 3}},
		"exit in another notation":     {WSText, "{ \"code\" : 1.37e2,\n\"type\":\"\\u0065xit\" }", StdioMessage{Type: "exit", Code: 137}},
		"a negative code":              {WSText, `{"type":"exit","code":-1}`, StdioMessage{Type: "exit", Code: -1}},
		"a member that we do not know": {WSText, `{"type":"exit","code":0,"signal":null}`, StdioMessage{Type: "exit"}},
		"an error":                     {WSText, `{"type":"error","message":"kö"}`, StdioMessage{Type: "error", Message: "kö"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var d StdioDecoder
			got, violations := d.Decode(tt.op, []byte(tt.payload))
			if len(violations) != 0 || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v and %v, want %+v", got, violations, tt.want)
			}
		})
	}
}

func TestTheStreamsOfAPaneAreLegalOnceItIsOpened(t *testing.T) {
	d := StdioDecoder{Panes: true}
	if _, violations := d.Decode(WSBinary, []byte("\x03early")); len(violations) != 1 {
		t.Errorf("output of a pane that was not opened: %v", violations)
	}
	m, violations := d.Decode(WSText, []byte(`{"type":"opened","pane":"left","stdout":3,"stderr":4}`))
	if len(violations) != 0 || m.Pane != "left" || m.Stdout != 3 || m.Stderr != 4 {
		t.Errorf("opened is %+v with %v", m, violations)
	}
	for _, payload := range []string{"\x03x", "\x04x", "\x01x"} {
		if _, violations := d.Decode(WSBinary, []byte(payload)); len(violations) != 0 {
			t.Errorf("%q: %v", payload, violations)
		}
	}
	if _, violations := d.Decode(WSText, []byte(`{"type":"opened","pane":1,"stdout":256}`)); len(violations) != 3 || violations[1].Kind != StdioMember {
		t.Errorf("a bad pane: %v", violations)
	}
	if _, violations := d.Decode(WSBinary, []byte("\x00x")); len(violations) != 1 {
		t.Errorf("a stream that was not announced: %v", violations)
	}
	if m, violations := d.Decode(WSText, []byte(`{"type":"closed","pane":"left","code":7}`)); len(violations) != 0 || m.Code != 7 || m.Pane != "left" {
		t.Errorf("closed is %+v with %v", m, violations)
	}
}

func TestClientMessagesAreTheJSONOfTheirFields(t *testing.T) {
	tests := map[string]struct {
		got  []byte
		want map[string]any
	}{
		"resize":          {AppendStdioResize(nil, 80, 24), map[string]any{"type": "resize", "cols": 80.0, "rows": 24.0}},
		"negative resize": {AppendStdioResize(nil, -1, 65536), map[string]any{"type": "resize", "cols": -1.0, "rows": 65536.0}},
		"signal":          {AppendStdioSignal(nil, "\"\x00\u2028\\"), map[string]any{"type": "signal", "signal": "\"\x00\u2028\\"}},
		"eof":             {AppendStdioEOF(nil), map[string]any{"type": "eof"}},
		"exit":            {AppendStdioExit(nil, -1), map[string]any{"type": "exit", "code": -1.0}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got map[string]any
			if err := json.Unmarshal(tt.got, &got); err != nil || !maps.Equal(got, tt.want) {
				t.Errorf("%s is %v (%v), want %v", tt.got, got, err, tt.want)
			}
		})
	}
}

func TestOutputIsDecodedWithoutAllocation(t *testing.T) {
	payload := AppendStdioOutput(nil, StdioStderr, []byte("hello"))
	var d StdioDecoder
	if n := testing.AllocsPerRun(100, func() {
		if m, _ := d.Decode(WSBinary, payload); m.Stream != StdioStderr {
			t.Errorf("stream %d", m.Stream)
		}
	}); n != 0 {
		t.Errorf("%v allocations per message", n)
	}
}

// FuzzStdio: a message without a violation says the same as encoding/json reads in it.
func FuzzStdio(f *testing.F) {
	f.Add(true, []byte(`{"type":"exit","code":3}`), false)
	f.Add(true, []byte(`{"type":"error","message":"x","code":1e0}`), false)
	f.Add(true, []byte(`{"type":"opened","pane":"left","stdout":3,"stderr":4}`), true)
	f.Add(true, []byte(`{"type":"exit","code":1}{"type":"exit"}`), false)
	f.Add(false, []byte("\x01out"), false)
	f.Add(false, []byte{}, true)
	f.Fuzz(func(t *testing.T, text bool, payload []byte, panes bool) {
		op := WSBinary
		if text {
			op = WSText
		}
		d := StdioDecoder{Panes: panes}
		m, violations := d.Decode(op, payload)
		for _, v := range violations {
			if v.Off < 0 || v.Off > int64(len(payload)) || v.Detail == "" {
				t.Fatalf("violation %+v of %d bytes", v, len(payload))
			}
		}
		switch {
		case len(violations) > 0:
		case !text:
			if again := AppendStdioOutput(nil, m.Stream, m.Data); !bytes.Equal(again, payload) {
				t.Fatalf("%q is encoded again as %q", payload, again)
			}
		default:
			compareWithJSON(t, payload, m)
		}
	})
}

func compareWithJSON(t *testing.T, payload []byte, m StdioMessage) {
	t.Helper()
	var want map[string]any
	if err := json.Unmarshal(payload, &want); err != nil {
		t.Fatalf("encoding/json cannot read %q, which has no violation: %v", payload, err)
	}
	if want["type"] != m.Type {
		t.Fatalf("%q has the type %q", payload, m.Type)
	}
	code, _ := want["code"].(float64)
	if m.Type == StdioExit && (code != math.Trunc(code) || int(code) != m.Code) {
		t.Fatalf("%q has the code %d", payload, m.Code)
	}
	if m.Type == StdioError && want["message"] != m.Message {
		t.Fatalf("%q has the message %q", payload, m.Message)
	}
}
