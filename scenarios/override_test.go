package scenarios

import (
	"strconv"
	"strings"
	"testing"
)

const largeScript = `id: process.input.sample
title: A sample
rules: [process.input.delivered]
repeat: {times: 60, parallel: 8}
sweep: {d: 1ms..9ms}
steps:
  - start: {as: p, sh: cat}
  - input: {to: p, data: {gen: {seed: 7, bytes: 4096}}}
  - send: {as: s, rpc: process.Process/List, json: {}, split: every-byte}
  - race: {at: now, offset: $d, a: {close-stdin: {to: p}}, b: {signal: {to: p, name: SIGTERM}}}
expect:
  p: {stdout: {gen: {seed: 7, bytes: 4096}}}
`

func sample(t *testing.T) *Scenario {
	t.Helper()
	s, err := Parse("process/sample.yaml", []byte(largeScript))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAnOverrideChangesACopy(t *testing.T) {
	s := sample(t)
	var set []Override
	for _, text := range []string{"repeat.times=2", "gen.bytes=64", "split=none", "sweep.d=3ms"} {
		o, err := ParseOverride(text)
		if err != nil || o.String() != text {
			t.Fatalf("%q: %v, %v", text, o, err)
		}
		set = append(set, o)
	}
	small, err := s.With(set...)
	if err != nil {
		t.Fatal(err)
	}
	if small.Repeat.Times != 2 || small.Repeat.Parallel != 2 || small.Sweep["d"].From != small.Sweep["d"].To || small.Area != s.Area {
		t.Errorf("got %+v, %+v", small.Repeat, small.Sweep)
	}
	if got := small.Steps[1].Input.Data.Gen.Bytes; got != 64 {
		t.Errorf("%d bytes are sent", got)
	}
	if got := small.Expect[0].Subjects["p"].Stdout.Gen.Bytes; got != 64 {
		t.Errorf("%d bytes are expected", got)
	}
	if small.Steps[2].Send.Split.EveryByte {
		t.Error("it is cut")
	}
	if s.Repeat.Times != 60 || s.Steps[1].Input.Data.Gen.Bytes != 4096 || !s.Steps[2].Send.Split.EveryByte {
		t.Error("the scenario itself was changed")
	}
	if same, err := s.With(); same != s || err != nil {
		t.Error("no override gives another scenario")
	}
}

func TestAWrongOverrideSaysWhatIsWanted(t *testing.T) {
	for text, want := range map[string]string{
		"repeat.times": "NAME=VALUE", "repeat.times=0": "1 to 100000", "gen.bytes=x": "number of bytes", "split=all": "none", "sweep.d=fast": "span", "speed=1": "is none of",
	} {
		if _, err := ParseOverride(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want one of %q", text, err, want)
		}
	}
	if _, err := sample(t).With(Override{"sweep.q", "1ms"}); err == nil || !strings.Contains(err.Error(), "no such value") {
		t.Errorf("got %v", err)
	}
}

// The script generates twice, in eight iterations at one time.
func TestOverridesKeepTheLimitOfWhatAScriptGenerates(t *testing.T) {
	most := strconv.Itoa(maxResolved / 2 / 8)
	more := strconv.Itoa(maxResolved/2/8 + 1)
	for name, c := range map[string]struct {
		set  []Override
		want string
	}{
		"the most":                    {[]Override{{OverrideGen, most}}, ""},
		"more":                        {[]Override{{OverrideGen, more}}, "scenario process.input.sample: gen.bytes=" + more + ": the byte strings of the script would generate more than 67108864 bytes in all"},
		"the limit of one string":     {[]Override{{OverrideGen, "67108864"}}, "would generate more than 67108864 bytes in all"},
		"more, and fewer iterations":  {[]Override{{OverrideGen, more}, {OverrideRepeat, "7"}}, ""},
		"more, and one iteration":     {[]Override{{OverrideRepeat, "1"}, {OverrideGen, "67108864"}}, "would generate more than 67108864 bytes in all"},
		"more, and then less instead": {[]Override{{OverrideGen, "67108864"}, {OverrideGen, "64"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := sample(t).With(c.set...)
			switch {
			case c.want == "" && (err != nil || s.Generated() > maxResolved):
				t.Errorf("got %v", err)
			case c.want != "" && (err == nil || s != nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want one of %q", err, c.want)
			}
		})
	}
}

func TestSmallerFormsComeSmallestFirst(t *testing.T) {
	at, err := ParseSpan("2ms")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, values := range sample(t).Smaller(map[string]Span{"d": at}) {
		for _, o := range values {
			got = append(got, o.String())
		}
	}
	want := "repeat.times=1 repeat.times=8 split=none gen.bytes=64 gen.bytes=512 sweep.d=2ms"
	if strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
