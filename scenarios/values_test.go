package scenarios

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
)

func TestParseSpan(t *testing.T) {
	for text, want := range map[string]Span{
		"500ms":           {Fixed: 500 * time.Millisecond},
		"2rtt":            {RTT: 2},
		"-2rtt":           {RTT: -2},
		"+1.5spawn":       {Spawn: 1.5},
		"1s+4rtt":         {Fixed: time.Second, RTT: 4},
		"1s-1rtt+2spawn":  {Fixed: time.Second, RTT: -1, Spawn: 2},
		"1m30s":           {Fixed: 90 * time.Second},
		"100ms+100ms":     {Fixed: 200 * time.Millisecond},
		"0s":              {},
		"0.5rtt+0.25rtt":  {RTT: 0.75},
		"2us+3ns+1µs+0ms": {Fixed: 3*time.Microsecond + 3},
		"999h+60m":        {Fixed: 1000 * time.Hour},
		"-1000h":          {Fixed: -1000 * time.Hour},
	} {
		got, err := ParseSpan(text)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, err, want)
		}
		if again, err := ParseSpan(got.String()); err != nil || again != got {
			t.Errorf("%s: its String %q reads as %+v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "5", "rtt", "+", "5 ms", "1s+", "1s++2s", "2rttt", "NaNrtt", "1e9rtt", "1e400rtt", "2562047h+2562047h", "x"} {
		if got, err := ParseSpan(text); err == nil {
			t.Errorf("%q reads as %+v", text, got)
		}
	}
	for _, text := range []string{"1001h", "2562047h47m16s", "-2562047h47m16s", "1000h1ns", "-1000h-1ns", "600h+600h", "1000h+2562047h47m16s"} {
		if _, err := ParseSpan(text); err == nil || !strings.HasSuffix(err.Error(), "is too long: a fixed time is at most 1000h") {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestParseRange(t *testing.T) {
	got, err := ParseRange("-2rtt..+2rtt+1ms")
	if want := (Range{From: Span{RTT: -2}, To: Span{RTT: 2, Fixed: time.Millisecond}}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, text := range []string{"", "2rtt", "..", "2rtt..", "2rtt..1rtt", "1s..2rtt", "1s...2s"} {
		if got, err := ParseRange(text); err == nil {
			t.Errorf("%q reads as %+v", text, got)
		}
	}
}

func TestSpansFollowTheTarget(t *testing.T) {
	s := Span{Fixed: time.Second, RTT: 2, Spawn: 1}
	c := bundle.Calibration{RTT: int64(10 * time.Millisecond), Spawn: int64(100 * time.Millisecond), TimeScale: 3}
	if got := s.Resolve(c); got != 1120*time.Millisecond {
		t.Errorf("Resolve gives %v", got)
	}
	if got := s.Deadline(c); got != 3360*time.Millisecond {
		t.Errorf("Deadline gives %v", got)
	}
	if got := s.Deadline(bundle.Calibration{}); got != time.Second {
		t.Errorf("Deadline without a calibration gives %v", got)
	}
	slow := bundle.Calibration{RTT: int64(time.Minute), Spawn: int64(time.Minute), End: int64(time.Hour), TimeScale: 1000}
	for text, want := range map[string]time.Duration{"1000h": maxDeadline, "1000h+999999rtt+999999spawn": maxDeadline, "-1000h-999999rtt-999999spawn": -maxDeadline} {
		s, err := ParseSpan(text)
		if got := s.Deadline(slow); err != nil || got != want {
			t.Errorf("the Deadline of %s is %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestExpand(t *testing.T) {
	lookup := func(name string) (string, bool) {
		v, ok := map[string]string{"run": "R1", "p.pid": "17", "empty": ""}[name]
		return v, ok
	}
	for text, want := range map[string]string{
		"":                     "",
		"no variable $x {}":    "no variable $x {}",
		"/${p.pid}/kill":       "/17/kill",
		"${run}${run}${empty}": "R1R1",
		"$${run} is ${run}":    "${run} is R1",
		"a$${b":                "a${b",
		"}${run}{":             "}R1{",
	} {
		if got, err := Expand(text, lookup); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"${", "${run", "${nobody}", "${}"} {
		if got, err := Expand(text, lookup); err == nil {
			t.Errorf("%q gives %q", text, got)
		}
	}
}

func TestBytesResolve(t *testing.T) {
	text, hexa := "a${x}", "00 ff\n 7F"
	for name, test := range map[string]struct {
		b    Bytes
		want string
	}{
		"text stands as it is":          {Bytes{Text: &text}, "a${x}"},
		"hex ignores white space":       {Bytes{Hex: &hexa}, "\x00\xff\x7f"},
		"JSON is compact and expanded":  {Bytes{JSON: map[string]any{"b": []any{1, "<v>"}, "a": nil}}, `{"a":null,"b":[1,"<V>"]}`},
		"seq has a newline on each":     {Bytes{Seq: &Seq{8, 11}}, "8\n9\n10\n11\n"},
		"seq of one number":             {Bytes{Seq: &Seq{5, 5}}, "5\n"},
		"seq from below zero":           {Bytes{Seq: &Seq{-2, 1}}, "-2\n-1\n0\n1\n"},
		"seq backwards is empty":        {Bytes{Seq: &Seq{math.MaxInt64, math.MinInt64}}, ""},
		"seq up to the last number":     {Bytes{Seq: &Seq{math.MaxInt64 - 1, math.MaxInt64}}, "9223372036854775806\n9223372036854775807\n"},
		"repeat":                        {Bytes{Repeat: &Copies{"ab", 3}}, "ababab"},
		"repeat of nothing is empty":    {Bytes{Repeat: &Copies{"ab", 0}}, ""},
		"no bytes are generated from 0": {Bytes{Gen: &Gen{Seed: 1}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, set := test.b.Resolve(strings.ToUpper)
			if !set || string(got) != test.want {
				t.Errorf("got %q, %v, want %q", got, set, test.want)
			}
		})
	}
	if _, set := (Bytes{}).Resolve(nil); set || !(Bytes{}).IsZero() {
		t.Error("nothing resolves to something")
	}
	odd := "abc"
	if _, set := (Bytes{Hex: &odd}).Resolve(nil); set {
		t.Error("half a byte resolves")
	}
}

// Bundles contain digests of generated bytes, so a seed must always generate the same bytes.
func TestGeneratedBytesNeverChange(t *testing.T) {
	for _, test := range []struct {
		gen  Gen
		want string
	}{
		{Gen{Seed: 7, Bytes: 1000}, "de312318650e3496"},
		{Gen{Seed: 7, Bytes: 1000, Lines: true}, "d5ca1674223e63fa"},
	} {
		p, _ := Bytes{Gen: &test.gen}.Resolve(nil)
		sum := sha256.Sum256(p)
		if got := hex.EncodeToString(sum[:8]); len(p) != 1000 || got != test.want {
			t.Errorf("%+v: %d bytes, SHA-256 %s, want %s", test.gen, len(p), got, test.want)
		}
	}
	p, _ := Bytes{Gen: &Gen{Seed: 1, Bytes: 130, Lines: true}}.Resolve(nil)
	if lines := strings.Split(string(p), "\n"); len(lines) != 3 || len(lines[0]) != 63 || strings.Trim(lines[0], "abcdefghijklmnopqrstuvwxyz") != "" {
		t.Errorf("got %q", p)
	}
}

func TestEventPatterns(t *testing.T) {
	for _, test := range []struct {
		pattern, kinds string
		want           bool
	}{
		{"start data* end", "start end", true},
		{"start data* end", "start data data end", true},
		{"start data* end", "start keepalive data keepalive end", true},
		{"start data* end", "start data", false},
		{"start data* end", "start data end end", false},
		{"start (data|keepalive)+ end", "start keepalive end", true},
		{"start keepalive data end", "start data end", false},
		{"start data? end", "start data data end", false},
		{"start", "start surprise", false},
		{"", "", true},
		{"", "start", false},
	} {
		p, err := CompileEvents(test.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Match(strings.Fields(test.kinds)); got != test.want {
			t.Errorf("%q matches %q: %v", test.pattern, test.kinds, got)
		}
	}
	for pattern, want := range map[string]string{
		"start dta":   `did you mean "data"?`,
		"start (data": "is not balanced",
		"start; end":  `";" is not a kind of event`,
		"exit":        "the kinds are start, data, end, keepalive, unknown",
	} {
		if _, err := CompileEvents(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want a mention of %s", pattern, err, want)
		}
	}
}

func TestNearest(t *testing.T) {
	for word, want := range map[string]string{
		"singal": "signal", "Signal": "signal", "signl": "signal", "q": "", "xyz": "", "send-signal": "", "sig": "signal",
	} {
		got := strings.Join(nearest(word, []string{"signal", "start", "p"}, 1), "")
		if got != want {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
}

func FuzzParseSpan(f *testing.F) {
	for _, s := range []string{"500ms", "-2rtt", "1s+4rtt", "1.5spawn", "+", "1h-1h", "9999999h", "999999rtt+1rtt", "-Infspawn", "1e-400rtt"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSpan(text)
		if err != nil {
			return
		}
		if again, err := ParseSpan(s.String()); err != nil || again != s {
			t.Fatalf("%q is %+v, written %q, read %+v, %v", text, s, s, again, err)
		}
	})
}

func FuzzExpand(f *testing.F) {
	f.Add("a ${b} $${c}")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Expand(text, func(string) (string, bool) { return "", true })
		if err == nil && len(got) > len(text) {
			t.Fatalf("%q grew to %q with every value empty", text, got)
		}
	})
}

func FuzzCompileEvents(f *testing.F) {
	f.Add("start (data|keepalive)* end")
	f.Fuzz(func(_ *testing.T, pattern string) {
		if p, err := CompileEvents(pattern); err == nil {
			p.Match([]string{"start", "data", "end"})
		}
	})
}

func TestCommandsInMessagesFollowTheShellOfTheTarget(t *testing.T) {
	bash := []string{"/bin/bash", "-l", "-c"}
	for script, want := range map[string]string{
		`{"process":{"cmd":"/bin/sh","args":["-c","echo hi"],"cwd":"/"},"stdin":false}`: `{"process":{"args":["-l","-c","echo hi"],"cmd":"/bin/bash","cwd":"/"},"stdin":false}`,
		`{"process":{"cmd":"/bin/true"}}`:                                               `{"process":{"cmd":"/bin/true"}}`,
		`{"process":{"cmd":"/bin/sh","args":["script"]}}`:                               `{"process":{"args":["script"],"cmd":"/bin/sh"}}`,
		`{"process":{"pid":7},"input":{"stdin":"/bin/sh"}}`:                             `{"input":{"stdin":"/bin/sh"},"process":{"pid":7}}`,
		`["/bin/sh","-c"]`: `["/bin/sh","-c"]`,
	} {
		var v any
		if err := json.Unmarshal([]byte(script), &v); err != nil {
			t.Fatal(err)
		}
		before, _ := call.Marshal(v)
		got, err := call.Marshal(InShell(v, bash))
		if err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
		if after, _ := call.Marshal(v); !bytes.Equal(before, after) {
			t.Errorf("the message was changed to %s", after)
		}
		same, _ := call.Marshal(InShell(v, []string{"/bin/sh", "-c"}))
		if !bytes.Equal(before, same) {
			t.Errorf("in /bin/sh it is %s, want %s", same, before)
		}
	}
}
