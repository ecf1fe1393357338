package scenarios

import (
	"encoding/json"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"assay/internal/record/surface"
)

// definition finds the object form of a part of a schema.
func definition(t *testing.T, schema, name string) map[string]any {
	t.Helper()
	text, err := Schema(schema)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	at := doc
	if name != "" {
		at, _ = doc["$defs"].(map[string]any)[name].(map[string]any)
	}
	if forms, ok := at["anyOf"].([]any); ok {
		for _, f := range forms {
			if m := f.(map[string]any); m["type"] == "object" {
				return m
			}
		}
	}
	return at
}

// tags lists the YAML names of a struct's fields, those of inlined ones too.
func tags(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		switch name, rest, _ := strings.Cut(f.Tag.Get("yaml"), ","); {
		case rest == "inline":
			names = append(names, tags(f.Type)...)
		case name != "" && name != "-":
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return slices.Compact(names)
}

func TestSchemasListTheSurfaces(t *testing.T) {
	paths := definition(t, "profile", "")["properties"].(map[string]any)["paths"].(map[string]any)["properties"].(map[string]any)
	sends := definition(t, "scenario", "send")["properties"].(map[string]any)["surface"].(map[string]any)["enum"].([]any)
	for _, id := range surface.IDs() {
		if paths[id] == nil {
			t.Errorf("no profile can name the path of %s", id)
		}
		if id != surface.Stdio && !slices.Contains(sends, any(id)) { // a start opens a WebSocket
			t.Errorf("no script can send to %s", id)
		}
	}
}

// The schema and the types must have the same fields, or a field would be checked and
// then lost.
func TestSchemasAndTypesHaveTheSameFields(t *testing.T) {
	for _, test := range []struct {
		schema, name string
		value        any
		more         []string // shorthands that the types do not have
	}{
		{"scenario", "", Scenario{}, []string{"send"}},
		{"scenario", "step", Step{}, nil},
		{"scenario", "send", Send{}, nil},
		{"scenario", "segment", Segment{}, nil},
		{"scenario", "envelope", Envelope{}, nil},
		{"scenario", "chunk", Chunk{}, nil},
		{"scenario", "split", Split{}, []string{"every-byte"}},
		{"scenario", "bytes", Bytes{}, nil},
		{"scenario", "seq", Seq{}, nil},
		{"scenario", "copies", Copies{}, nil},
		{"scenario", "gen", Gen{}, nil},
		{"scenario", "open", Open{}, nil},
		{"scenario", "write", Write{}, nil},
		{"scenario", "await", Await{}, nil},
		{"scenario", "close", Close{}, nil},
		{"scenario", "start", Start{}, nil},
		{"scenario", "connect", Connect{}, nil},
		{"scenario", "target", Target{}, nil},
		{"scenario", "signal", Signal{}, nil},
		{"scenario", "input", Input{}, nil},
		{"scenario", "update", Update{}, nil},
		{"scenario", "list", List{}, nil},
		{"scenario", "read", Read{}, nil},
		{"scenario", "scrape", Scrape{}, nil},
		{"scenario", "race", Race{}, nil},
		{"scenario", "clause", Clause{}, []string{"never", "orders"}},
		{"scenario", "match", Match{}, nil},
		{"scenario", "namedMatch", NamedMatch{}, nil},
		{"scenario", "errorMatch", ErrorMatch{}, nil},
		{"scenario", "endMatch", EndMatch{}, nil},
		{"scenario", "eventMatch", EventMatch{}, nil},
		{"scenario", "outputMatch", OutputMatch{}, nil},
		{"scenario", "bodyMatch", BodyMatch{}, nil},
		{"scenario", "messagesMatch", MessagesMatch{}, nil},
		{"scenario", "grpcMatch", GRPCMatch{}, nil},
		{"scenario", "detailMatch", DetailMatch{}, nil},
		{"scenario", "frame", Frame{}, nil},
		{"scenario", "field", Field{}, nil},
		{"rules", "entry", Rule{}, nil},
		{"known", "entry", KnownFailure{}, nil},
		{"plan", "", Workload{}, nil},
		{"plan", "class", WorkloadClass{}, nil},
		{"plan", "stage", WorkloadStage{}, nil},
		{"plan", "threshold", WorkloadThreshold{}, nil},
		{"profile", "", Profile{}, nil},
		{"profile", "levelChange", LevelChange{}, nil},
		{"profile", "certification", Certification{}, nil},
	} {
		part := definition(t, test.schema, test.name)
		var got []string
		properties, _ := part["properties"].(map[string]any)
		for name := range properties {
			got = append(got, name)
		}
		sort.Strings(got)
		want := append(tags(reflect.TypeOf(test.value)), test.more...)
		sort.Strings(want)
		want = slices.Compact(want)
		if test.name == "namedMatch" { // any does not nest
			want = slices.DeleteFunc(want, func(s string) bool { return s == "any" })
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s %s: the schema has %v, the type %v", test.schema, test.name, got, want)
		}
	}
}

func TestSchemasExplainEveryField(t *testing.T) {
	for _, name := range SchemaNames() {
		text, err := Schema(name)
		if err != nil {
			t.Fatal(err)
		}
		var doc any
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		if m := doc.(map[string]any); m["$schema"] != "https://json-schema.org/draft/2020-12/schema" {
			t.Errorf("%s is written for %v", name, m["$schema"])
		}
		explained(t, name, doc)
	}
}

// explained walks a schema: every object is closed, or describes its other keys, and
// every property has a description, its own or that of its reference.
func explained(t *testing.T, at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		if v["type"] == "object" && v["additionalProperties"] == nil {
			t.Errorf("%s is open", at)
		}
		if properties, ok := v["properties"].(map[string]any); ok {
			for name, p := range properties {
				m := p.(map[string]any)
				if m["description"] == nil && m["$ref"] == nil {
					t.Errorf("%s/%s is not explained", at, name)
				}
			}
		}
		for name, child := range v {
			explained(t, at+"/"+name, child)
		}
	case []any:
		for _, child := range v {
			explained(t, at, child)
		}
	}
}

func TestUnknownSchemasAndProfilesAreNamed(t *testing.T) {
	if _, err := Schema("scenarioo"); err == nil || !strings.Contains(err.Error(), `did you mean "scenario"?`) {
		t.Errorf("got %v", err)
	}
	if _, err := LoadProfile("e2bb"); err == nil || !strings.Contains(err.Error(), `did you mean "e2b"?`) {
		t.Errorf("got %v", err)
	}
	if _, err := LoadProfile("./no/such.yaml"); err == nil || !strings.Contains(err.Error(), "no/such.yaml") {
		t.Errorf("got %v", err)
	}
}

func TestProfiles(t *testing.T) {
	p, err := ParseProfile("p.yaml", []byte("id: mine\ntitle: Mine\npaths: {commands: /run}\nshell: [/bin/bash, -l, -c]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if p.Paths["commands"] != "/run" || p.Metrics["active"] != "coppice_commands_active" || len(p.Shell) != 3 {
		t.Errorf("got %+v", p)
	}
	for text, want := range map[string]string{
		"id: mine\ntitle: T\nrequire: [process.strat]\n":                                  `p.yaml:3:11: there is no feature "process.strat"`,
		"id: mine\ntitle: T\ndeviations: {process.end.exit-cod: why}\n":                   `did you mean "process.end.exit-code"?`,
		"id: mine\ntitle: T\nlevels: {process.end.exit-code: {level: most, reason: r}}\n": `"most" is not one of must, should, may`,
		"id: mine\ntitle: T\nlevels: {process.end.exit-code: {level: must}}\n":            `the field "reason" is missing`,
		"id: mine\ntitle: T\nmetrics: {started_total: x}\n":                               `unknown field "started_total"`,
	} {
		if _, err := ParseProfile("p.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want a mention of %s", text, err, want)
		}
	}
}
