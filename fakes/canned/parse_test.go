package canned

import (
	"bytes"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

// broken returns invalid files and their errors.
func broken() map[string]struct{ text, want string } {
	return map[string]struct{ text, want string }{
		"an unknown field":          {"title: x\nevens: []", `x.yaml:2:1: there is no field "evens"`},
		"no events":                 {"title: x", "events: want a list"},
		"a list":                    {"- 1", "x.yaml:1:"},
		"a field twice":             {"events: []\nevents: []", "x.yaml:2:1: mapping key"},
		"an event of two kinds":     {"events:\n  - lines: 1\n    text: x", "event 1: it has one of lines, text and size: this one has 2"},
		"an event of no kind":       {"events:\n  - times: 2", "event 1: it has one of"},
		"an event that is a word":   {"events: [start]", "x.yaml:1:10: "},
		"no lines":                  {"events: [{text: x}, {lines: 0}]", "event 2: want 1 to"},
		"an empty text":             {`events: [{text: ""}]`, "event 1: text"},
		"a number as text":          {`events: [{text: 3}]`, "text: got 3, want a string"},
		"a size without bound":      {"events: [{size: 2000000}]", "or a size from 1 to"},
		"no times":                  {"events: [{lines: 1, times: 0}]", "times: got 0"},
		"a word as times":           {"events: [{lines: 1, times: often}]", "times: got often"},
		"a span without unit":       {"interval: 3\nevents: []", "x.yaml:1:11: "},
		"a span below nothing":      {"interval: -3s\nevents: []", "spans of time from 0s"},
		"an unknown flush":          {"flush: never\nevents: []", `flush: got "never"`},
		"forever in the middle":     {"events: [{lines: 1, times: forever, interval: 1s}, {lines: 1}]", "event 1: only the last event"},
		"an exit code out of range": {"exit_code: 3000000000\nevents: []", "x.yaml:1:12: "},
	}
}

func TestMistakesAreTold(t *testing.T) {
	t.Parallel()
	more := broken()
	more["nothing"] = struct{ text, want string }{"", "the file is empty"}
	more["no YAML"] = struct{ text, want string }{"a: [1}", "line 1"}
	more["two documents"] = struct{ text, want string }{"events: []\n---\nevents: []", "a file holds exactly one"}
	more["forever without a pause"] = struct{ text, want string }{"events: [{lines: 1, times: forever}]", "event 1: an event that is repeated forever needs an interval"}
	more["a stream too large"] = struct{ text, want string }{"events: [{size: 1048576, times: 100}]", "a stream of 100 events"}
	for name, tt := range more {
		t.Run(name, func(t *testing.T) {
			f, err := Parse("x.yaml", []byte(tt.text))
			if err == nil {
				t.Fatalf("it is read as %+v", f)
			}
			if !strings.HasPrefix(err.Error(), "x.yaml:") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q, want %q", err, tt.want)
			}
		})
	}
}

// validator checks text against the published schema.
func validator(t *testing.T) func(text []byte) error {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("urn:test", document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("urn:test")
	if err != nil {
		t.Fatal(err)
	}
	return func(text []byte) error {
		var v any
		if err := yaml.Unmarshal(text, &v); err != nil {
			return err
		}
		return s.Validate(v)
	}
}

// The schema and the program accept the same files.
func TestTheSchemaAgreesWithTheProgram(t *testing.T) {
	t.Parallel()
	validate := validator(t)
	for name, tt := range broken() {
		if name != "forever in the middle" && validate([]byte(tt.text)) == nil {
			t.Errorf("%s: the schema accepts %q", name, tt.text)
		}
	}
	for _, name := range Examples() {
		if _, err := Load(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		text, err := examples.ReadFile(name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	all := "title: t\nstart: 1h\ninterval: 1m30s\nflush: together\nfirst: 0\nexit_code: -1\nevents: [{size: 3, times: 2, interval: 1.5ms}, {text: x}, {lines: 1, times: forever}]"
	if _, err := Parse("x.yaml", []byte(all)); err != nil {
		t.Error(err)
	}
	if err := validate([]byte(all)); err != nil {
		t.Error(err)
	}
}

func TestNumbersGoOnFromEventToEvent(t *testing.T) {
	t.Parallel()
	f, err := Parse("x.yaml", []byte("{first: 9, interval: 1s, events: [{lines: 2, times: 2}, {size: 3}, {lines: 1, times: forever}]}"))
	if err != nil {
		t.Fatal(err)
	}
	s := newScript(f)
	want := []string{"9\n10\n", "11\n12\n", "xx\n", "13\n", "14\n"}
	for k, w := range want {
		st, ok := s.at(k)
		if got := string(st.appendData(nil)); !ok || got != w {
			t.Errorf("event %d is %q, want %q", k, got, w)
		}
	}
}

// Parse survives any text, and returns no file with an error.
func FuzzParse(f *testing.F) {
	for _, tt := range broken() {
		f.Add(tt.text)
	}
	f.Add("events: [{lines: 1, times: forever, interval: 1s}]")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("x.yaml", []byte(text))
		if (file == nil) == (err == nil) {
			t.Fatalf("file %v, error %v", file, err)
		}
	})
}
