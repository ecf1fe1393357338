package scenarios

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/record/bundle"
	"assay/internal/target"
)

// parsed parses a script of an id, a title, a rule and these lines.
func parsed(t *testing.T, lines string) *Scenario {
	t.Helper()
	s, err := Parse("area.yaml", []byte("id: area.one\ntitle: One\nrules: [a.b.c]\n"+lines))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const startStep = "steps: [{start: {as: p, sh: exit 0, wait: end}}]\nexpect: {p: ok}\n"

func TestPermutationsLeaveOutGRPCOnHTTP1(t *testing.T) {
	for axes, want := range map[string]string{
		"": "connect/json/1.1/identity",
		"axes: {protocol: [connect, grpc, grpc-web], http: ['1.1', h2c]}\n": "connect/json/1.1/identity connect/json/h2c/identity grpc/json/h2c/identity " +
			"grpc-web/json/1.1/identity grpc-web/json/h2c/identity",
		"axes: {protocol: grpc, http: h2-tls, codec: [proto, json]}\n": "grpc/proto/h2-tls/identity grpc/json/h2-tls/identity",
	} {
		var got []string
		for _, a := range parsed(t, axes+startStep).Permutations() {
			got = append(got, a.String())
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%q: got %s, want %s", axes, text, want)
		}
	}
}

// The needed features follow from the axes, and from the steps that use them.
func TestAnInstanceNeedsWhatItsAxesAskFor(t *testing.T) {
	grpc := bundle.Axes{Protocol: "grpc", Codec: "proto", HTTP: "h2c", Compression: "gzip"}
	for script, want := range map[string]string{
		"needs: [process.start]\n" + startStep:                                                                                     "codec.proto compress.gzip http.h2c process.start protocol.grpc",
		"needs: [health]\nsteps: [{send: {as: h, surface: health}}]\nexpect: {h: {status: 200}}\n":                                 "compress.gzip health http.h2c",
		"steps: [{start: {as: p, via: commands, sh: exit 0}}, {list: {via: commands}}]\nexpect: {p: ok}\n":                         "compress.gzip http.h2c",
		"steps: [{send: {as: s, rpc: process.Process/List, protocol: connect, message: {}}}]\nexpect: {s: ok}\n":                   "codec.proto compress.gzip http.h2c",
		"steps: [{parallel: [{signal: {as: k, pid: 1, name: SIGKILL}}]}]\nexpect: {k: not_found}\n":                                "codec.proto compress.gzip http.h2c protocol.grpc",
		"steps: [{input: {as: i, pid: 1, data: x}}]\nexpect: {i: not_found}\nneeds: [process.input]\n":                             "codec.proto compress.gzip http.h2c process.input protocol.grpc",
		"steps: [{open: {as: c, http: h2}}, {write: {to: c, of: {frame: {type: PING, of: assayed.}}}}]\nexpect: {c: {h2: PING}}\n": "compress.gzip http.h2c",
	} {
		got := Instance{Scenario: parsed(t, script), Axes: grpc}.Needs()
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: got %s, want %s", script, text, want)
		}
	}
}

func TestEveryFeatureOfAnAxisIsKnown(t *testing.T) {
	for value, id := range axisFeatures {
		if !slices.Contains(target.Features(), id) {
			t.Errorf("%s asks for %s, which is not a feature", value, id)
		}
	}
	if !slices.IsSorted(target.Features()) {
		t.Error("the features are not sorted")
	}
}

func TestAxesAreSelectedByPattern(t *testing.T) {
	c := load(t)
	for terms, want := range map[string]func(bundle.Axes) bool{
		"axis:grpc":             func(a bundle.Axes) bool { return a.Protocol == "grpc" },
		"axis:grpc-web/*/1.1/*": func(a bundle.Axes) bool { return a.Protocol == "grpc-web" && a.HTTP == "1.1" },
		"axis:connect/proto/*/gzip": func(a bundle.Axes) bool {
			return a.Protocol == "connect" && a.Codec == "proto" && a.Compression == "gzip"
		},
		"axis:h2c,!axis:connect/*/*/*": func(a bundle.Axes) bool { return a.HTTP == "h2c" && a.Protocol != "connect" },
	} {
		instances, err := c.Select(terms)
		if err != nil || len(instances) == 0 {
			t.Errorf("%s: %d instances, %v", terms, len(instances), err)
		}
		for _, i := range instances {
			if !want(i.Axes) {
				t.Errorf("%s selects %s on %s", terms, i.Scenario.ID, i.Axes)
			}
		}
	}
}

func TestAFolderOfScriptsTakesThePlaceOfTheCatalogue(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	script := func(id, rule string) string {
		return "id: " + id + "\ntitle: Mine\nrules: [" + rule + "]\n" + startStep
	}
	if _, err := LoadDir(dir); err == nil || !strings.Contains(err.Error(), "contains no script") {
		t.Errorf("an empty folder: %v", err)
	}
	write("mine/one.yaml", script("mine.one", "my.own.rule"))
	write("two.yaml", script("mine.two", "process.end.exit-code"))
	write("rules.yaml", "- {id: my.own.rule, level: should, source: envd, section: Mine, text: Mine.}\n")
	c, err := LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Scenarios) != 2 || c.Scenarios[0].ID != "mine.one" || c.Rule("my.own.rule") == nil || c.Rule("process.end.exit-code") == nil {
		t.Errorf("got %d scenarios, rules %v and %v", len(c.Scenarios), c.Rule("my.own.rule"), c.Rule("process.end.exit-code"))
	}
	if want := filepath.Join(dir, "two.yaml"); c.Scenarios[1].File != want {
		t.Errorf("the file is called %s, want %s", c.Scenarios[1].File, want)
	}
	write("two.yaml", script("mine.two", "process.end.exit-cod"))
	if _, err := LoadDir(dir); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "two.yaml")+":3:9: there is no rule") {
		t.Errorf("a mistake does not name its file: %v", err)
	}
	for _, missing := range []string{filepath.Join(dir, "nowhere"), filepath.Join(dir, "two.yaml")} {
		if _, err := LoadDir(missing); err == nil {
			t.Errorf("%s is not a folder, and was loaded", missing)
		}
	}
}
