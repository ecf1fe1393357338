package bundle

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestALineOverTheLimitIsRefusedWithoutReadingOn(t *testing.T) {
	in := strings.NewReader(strings.Repeat("x", 1<<20))
	l := lineReader{name: "f", in: in, limit: 100 << 10}
	_, err := l.all()
	if err == nil || !strings.Contains(err.Error(), "f:1: the line is longer than 102400 bytes") {
		t.Errorf("error %v", err)
	}
	if in.Len() < 1<<19 {
		t.Errorf("only %d bytes were left unread", in.Len())
	}
}

func TestALineOfTooManyObjectsIsRefused(t *testing.T) {
	line := append([]byte(`{"schema":"assay.observation/v1","iterations":[`), bytes.Repeat([]byte("{},"), maxObjects)...)
	l := lineReader{name: "f", in: bytes.NewReader(line), limit: maxLine}
	if _, err := l.all(); err == nil || !strings.Contains(err.Error(), "JSON objects") {
		t.Errorf("error %v", err)
	}
}

// FuzzObservationLines reads arbitrary input: the reader never panics, and accepted observations
// are the same after writing and reading them again.
func FuzzObservationLines(f *testing.F) {
	whole, err := encode(sampleObservation("a.b"), "")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(append(bytes.Clone(whole), whole[:50]...))
	f.Add([]byte("\n"))
	f.Add([]byte(`{"schema":"assay.observation/v1"}`))
	f.Add([]byte(`{"schema":"assay.observation/v1","iterations":[{"exchanges":[{"frames":[{"event":3}]}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		l := lineReader{name: "f", in: bytes.NewReader(text), limit: 1 << 20}
		obs, err := l.all()
		if err != nil {
			return
		}
		var again bytes.Buffer
		for _, o := range obs {
			line, err := encode(o, "")
			if err != nil {
				t.Fatalf("what was read cannot be written: %v", err)
			}
			again.Write(line)
		}
		second := lineReader{name: "f", in: &again, limit: 16 << 20}
		back, err := second.all()
		if err != nil || second.cut != "" || len(back) != len(obs) {
			t.Fatalf("%d observations came back as %d: %v %s", len(obs), len(back), err, second.cut)
		}
		one, _ := json.Marshal(obs)
		two, _ := json.Marshal(back)
		if d := cmp.Diff(string(one), string(two)); d != "" {
			t.Fatalf("-first +second:\n%s", d)
		}
	})
}
