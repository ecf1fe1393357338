package load

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"assay/internal/envd"
)

// plainData decodes an event's data as the stream does, without its checks.
func plainData(t *testing.T, e event) ([]byte, bool) {
	t.Helper()
	switch e.coding {
	case codedBase64:
		p, err := strictBase64.DecodeString(string(e.data))
		return p, err == nil && len(p) == decodedLen(e.data)
	case codedJSON:
		var out []byte
		var scratch [utf8.UTFMax]byte
		for text := e.data; len(text) > 0; {
			var p []byte
			p, text = unescape(text, &scratch)
			out = append(out, p...)
		}
		return out, true
	default:
		return e.data, true
	}
}

// asStrict compares what the stream sees of an event with the strict decoder.
func asStrict(t *testing.T, what string, got event, problems []envd.Problem, want envd.Event, strict []envd.Problem) {
	t.Helper()
	data, ok := plainData(t, got)
	if (len(problems) == 0 && ok) != (len(strict) == 0) {
		t.Fatalf("%s: problems %v and data that decodes: %v; the strict decoder says %v", what, problems, ok, strict)
	}
	if len(strict) > 0 {
		return
	}
	if got.kind != want.Kind || got.stream != want.Stream || got.pid != want.PID || got.code != want.Exit.Code || !bytes.Equal(data, want.Data) {
		t.Fatalf("%s is read as %+v with %q, the strict decoder reads %+v", what, got, data, want)
	}
}

func sampleEvents() []string {
	return []string{
		`{"event":{"data":{"stdout":"MAo="}}}`, `{"event":{"data":{"stderr":"MTIz"}}}`, `{"event":{"data":{"pty":"AA=="}}}`,
		" {\n \"event\" : { \"data\" : { \"stdout\" : \"MAo=\" } } }\n", `{"event": {"data": {"stdout": "MAo="}}}`,
		`{"event":{"start":{"pid":7}}}`, `{"event":{"end":{"exitCode":3,"exited":true}}}`, `{"event":{"keepalive":{}}}`,
		`{"event":{"data":{"stdout":""}}}`, `{"event":{"data":{"stdout":"MAo"}}}`, `{"event":{"data":{"stdout":"MR=="}}}`,
		`{"event":{"data":{"stdout":"MA\no="}}}`, "{\"event\":{\"data\":{\"stdout\":\"MA\no=\"}}}", `{"event":{"data":{"stdout":"MA\u006f="}}}`,
		`{"event":{"data":{"stdout":"MAo=","pty":"AA=="}}}`, `{"event":{"data":{"stdout":"MAo="}}}x`, `{"event":{"data":{"other":"MAo="}}}`,
		`{"event":{"data":{"stdout":"MA=="},"data":{}}}`, `{"event":{"data":{"stdout":"TQ==TQ=="}}}`, `{}`, ``, `[`, `{"event":{"data":{"stdout":"`,
		`{"event":{"data":{"stdout":"` + strings.Repeat("QUJD", 100) + `"}}}`,
	}
}

func TestEventsInJSONAreReadAsTheStrictDecoderReadsThem(t *testing.T) {
	for _, text := range sampleEvents() {
		got, problems := readJSON([]byte(text))
		want, strict := envd.DecodeEvent("json", []byte(text))
		asStrict(t, text, got, problems, want, strict)
	}
}

func FuzzJSONEvent(f *testing.F) {
	for _, text := range sampleEvents() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		got, problems := readJSON(p)
		want, strict := envd.DecodeEvent("json", p)
		asStrict(t, string(p), got, problems, want, strict)
	})
}

func sampleProtos() []string {
	long := strings.Repeat("x", 300)
	return []string{
		"\x0a\x06\x12\x04\x0a\x0212", "\x0a\x05\x12\x03\x12\x01e", "\x0a\x05\x12\x03\x1a\x01p", "\x0a\x04\x12\x02\x0a\x00",
		"\x0a\x04\x0a\x02\x08\x07", "\x0a\x04\x1a\x02\x08\x02", "\x0a\x02\x22\x00", "", "\x0a", "\x0a\xff\xff\xff\xff\xff\xff",
		"\x0a\x06\x12\x04\x22\x0212", "\x0a\x0a\x12\x08\x0a\x0212\x12\x0212", "\x0a\x05\x12\x03\x0a\x7fx", "\x0a\x85\x00\x12\x03\x0a\x01a",
		"\x0a\xb2\x02\x12\xaf\x02\x0a\xac\x02" + long,
	}
}

func TestEventsInProtoAreReadAsTheStrictDecoderReadsThem(t *testing.T) {
	for _, text := range sampleProtos() {
		got, problems := readProto([]byte(text))
		want, strict := envd.DecodeEvent("proto", []byte(text))
		asStrict(t, text, got, problems, want, strict)
	}
}

func FuzzProtoEvent(f *testing.F) {
	for _, text := range sampleProtos() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		got, problems := readProto(p)
		want, strict := envd.DecodeEvent("proto", p)
		asStrict(t, string(p), got, problems, want, strict)
	})
}

func sampleLines() []string {
	return []string{
		`{"type":"start","pid":7}`, `{"type":"stdout","data":"1\n"}`, `{"type":"stderr","data":""}`, `{"type":"end","exit_code":-1}`,
		`{"type":"keepalive"}`, `{"type":"stdout","data":"\ud83d\ude00 \u00e9 \"\\\/\b\f\r\t"}`, `{"type":"stdout"}`, `{"data":"x","type":"stdout"}`,
		`{"type":"stdout","data":"x","more":1}`, `{"type":"pty","data":"x"}`, `{"type":"error","code":"x"}`, ` { "type" : "stdout" , "data" : "x" } `,
	}
}

// FuzzLineEvent only feeds what the line decoder lets through: one valid JSON object.
func FuzzLineEvent(f *testing.F) {
	for _, text := range sampleLines() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		want, strict := envd.DecodeLine(p)
		for _, problem := range strict {
			if problem.Kind == envd.EventJSON || problem.Kind == envd.EventUTF8 {
				return
			}
		}
		var object map[string]any
		if json.Unmarshal(p, &object) != nil {
			return
		}
		got, problems := readLine(p)
		asStrict(t, string(p), got, problems, want, strict)
	})
}

func TestUnescapeReadsWhatEncodingJSONReads(t *testing.T) {
	for _, text := range []string{``, `plain`, `a\nb`, `\"\\\/\b\f\n\r\t`, `\u0041\u00e9\u20ac`, `\ud83d\ude00`, `\ud83dx`, `\ude00`, `é€😀`, `\u00Af`} {
		var want string
		if err := json.Unmarshal([]byte(`"`+text+`"`), &want); err != nil {
			t.Fatal(err)
		}
		got, _ := plainData(t, event{coding: codedJSON, data: []byte(text)})
		if string(got) != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}

func TestLengthOfBase64(t *testing.T) {
	for n := range 10 {
		text := base64.StdEncoding.EncodeToString(make([]byte, n))
		if got := decodedLen([]byte(text)); got != n {
			t.Errorf("%q stands for %d bytes, want %d", text, got, n)
		}
	}
}
