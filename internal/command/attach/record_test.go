package attach

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/internal/base/secret"
)

func TestARecordingIsAnAsciicast(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	clock := Clock{Now: func() time.Time { return now }}
	var to bytes.Buffer
	r := NewRecording(&to, RecordingOptions{
		Size: Size{100, 30}, Title: "echo open-sesame-123456", Term: "xterm", Clock: clock, Redact: secret.New([]string{"open-sesame-123456"}),
	})
	for _, step := range []struct {
		after time.Duration
		do    func()
	}{
		{0, func() { r.Output([]byte("one\r\n")) }},
		{1500 * time.Millisecond, func() { r.Output([]byte("caf\xc3")) }},
		{250 * time.Millisecond, func() { r.Output([]byte("\xa9 \xe2\x82")) }},
		{time.Millisecond, func() { r.Output([]byte("\xac \xff \x1b[1m \"\\")) }},
		{0, func() { r.Resized(Size{60, 24}) }},
		{0, func() { r.Mark("reconnected") }},
		{0, func() { r.Output([]byte("the token is open-sesame-123456")) }},
		{0, func() { r.Output([]byte("cut \xe2\x82")) }},
		{0, func() { r.Output(nil) }},
	} {
		now = now.Add(step.after)
		step.do()
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		`{"version":2,"width":100,"height":30,"timestamp":1700000000,"title":"echo ******************","env":{"TERM":"xterm"}}`,
		`[0,"o","one\r\n"]`,
		`[1.5,"o","caf"]`,
		`[1.75,"o","é "]`,
		`[1.751,"o","€ \ufffd \u001b[1m \"\\"]`,
		`[1.751,"r","60x24"]`,
		`[1.751,"m","reconnected"]`,
		`[1.751,"o","the token is ******************"]`,
		`[1.751,"o","cut "]`,
		`[1.751,"o","\ufffd\ufffd"]`,
		"",
	}, "\n")
	if d := cmp.Diff(want, to.String()); d != "" {
		t.Error(d)
	}
}

func TestARecordingWithoutATerminalHasTheUsualSize(t *testing.T) {
	var to bytes.Buffer
	r := NewRecording(&to, RecordingOptions{})
	var head struct{ Version, Width, Height int }
	if err := json.Unmarshal(to.Bytes(), &head); err != nil || head.Version != 2 || head.Width != 80 || head.Height != 24 || r.Close() != nil {
		t.Errorf("%v, %+v", err, head)
	}
}

func TestTheFirstFailureEndsARecording(t *testing.T) {
	r := NewRecording(short{}, RecordingOptions{})
	r.Output([]byte("more"))
	if err := r.Close(); !errors.Is(err, errShort) {
		t.Errorf("%v", err)
	}
	var none *Recording
	none.Output([]byte("x"))
	none.Resized(Size{1, 1})
	none.Mark("x")
	if err := none.Close(); err != nil {
		t.Error(err)
	}
}

// The output of a recording, put together, is the output with U+FFFD for what is not UTF-8, however it was cut.
func FuzzRecording(f *testing.F) {
	f.Add([]byte("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"), 1)
	f.Add([]byte("\xff\xc3\xe2\x82\xf0\x9f"), 2)
	f.Fuzz(func(t *testing.T, output []byte, piece int) {
		piece = min(max(1, piece), 1<<10)
		if len(output) > 1<<12 {
			return
		}
		var to bytes.Buffer
		r := NewRecording(&to, RecordingOptions{Clock: Clock{Now: func() time.Time { return time.Unix(0, 0) }}})
		for p := output; len(p) > 0; p = p[min(piece, len(p)):] {
			r.Output(p[:min(piece, len(p))])
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for i, line := range bytes.Split(bytes.TrimSpace(to.Bytes()), []byte("\n")) {
			var e []any
			if i > 0 && (json.Unmarshal(line, &e) != nil || len(e) != 3) {
				t.Fatalf("%q is no event", line)
			}
			if i > 0 {
				got.WriteString(e[2].(string))
			}
		}
		if want := string([]rune(string(output))); got.String() != want {
			t.Errorf("%q, want %q", got.String(), want)
		}
	})
}
