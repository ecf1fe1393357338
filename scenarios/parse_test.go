package scenarios

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v4"
)

var update = flag.Bool("update", false, "rewrite the golden error messages")

// testdata/errors contains a script for each kind of mistake, and next to it the expected messages.
func TestMistakesAreReportedWithTheirPlace(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.yaml")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Parse(name+".yaml", text)
			if err == nil {
				t.Fatal("the script parses")
			}
			for _, e := range scriptErrors(name, err) {
				if e.File != name+".yaml" {
					t.Errorf("%v does not name its file", e)
				}
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".txt"
			got := err.Error() + "\n"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheCaretStandsUnderThePlaceBehindTabsAndWideLetters(t *testing.T) {
	e := &ScriptError{File: "f.yaml", Line: 3, Column: 5, Text: "é\tßx!", Message: "no"}
	want := "f.yaml:3:5: no\n    3 | é\tßx!\n      |  \t  ^"
	if got := e.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWhatIsTooLargeIsNotRead(t *testing.T) {
	for name, text := range map[string]string{
		"a file over the limit":       "id: a.b\n#" + strings.Repeat("x", maxFile),
		"a flow nested without end":   "id: " + strings.Repeat("[", 5000),
		"a mapping nested too deeply": "json: " + strings.Repeat("{a: ", 200) + "1" + strings.Repeat("}", 200),
		"a bomb of aliases":           "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n",
		"bytes that are not UTF-8":    "id: \xff\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse("f.yaml", []byte(text)); err == nil {
				t.Error("it parses")
			}
		})
	}
}

func TestAMappingOfTooManyKeysIsRefusedAtItsPlace(t *testing.T) {
	var b strings.Builder
	b.WriteString("id: a.b\nsteps:\n  - start:\n      envs:\n")
	for i := range maxKeys + 1 {
		fmt.Fprintf(&b, "        K%d: v\n", i)
	}
	_, err := Parse("f.yaml", []byte(b.String()))
	if err == nil || !strings.Contains(err.Error(), "f.yaml:5:9: the mapping has 2001 keys; at most 2000 are read") {
		t.Error(err)
	}
}

// The places of the values of a file take memory: that of its keys, again for each value below.
func TestPlacesThatTakeMuchMemoryAreNotRead(t *testing.T) {
	ones := "[" + strings.Repeat("1,", 20000) + "1]"
	nested := strings.Repeat("{"+strings.Repeat("k", 1000)+": ", 60) + ones + strings.Repeat("}", 60)
	for name, text := range map[string]string{
		"a long key above a list":     "? " + strings.Repeat("k", 100000) + "\n: " + ones,
		"a long key above a mapping":  "? " + strings.Repeat("k", 900000) + "\n: {a: 1, b: " + strings.Repeat("{c: ", 40) + "1" + strings.Repeat("}", 40) + "}",
		"long keys inside each other": nested,
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := parseDocument("f.yaml", []byte(text))
			sum := 0
			for place := range d.nodes {
				sum += len(place)
			}
			if sum > maxPlaces {
				t.Errorf("the places take %d bytes", sum)
			}
			err := joinErrors(d.errs)
			if err == nil || strings.Count(err.Error(), "the names of the values up to here") != 1 || !strings.HasPrefix(err.Error(), "f.yaml:") {
				t.Errorf("got %.500v", err)
			}
			placed(t, "f.yaml", []byte(text), err)
		})
	}
	dense := "steps: [{send: {message: {items: [" + strings.Repeat("1,", maxFile/2-20) + "1]}}}]"
	if d, _ := parseDocument("f.yaml", []byte(dense)); len(d.errs) > 0 {
		t.Errorf("the longest list: %v", d.errs[0])
	}
}

func TestBytesAreLimitedInsideWhateverHoldsThem(t *testing.T) {
	const large = "{gen: {seed: 1, bytes: 67108865}}"
	for name, of := range map[string]string{
		"a frame":                     "{frame: {type: DATA, stream: 1, of: " + large + "}}",
		"a WebSocket frame":           "{ws: {type: text, of: [a, " + large + "]}}",
		"a WebSocket frame in one":    "{ws: {type: text, of: {ws: {type: text, of: " + large + "}}}}",
		"a WebSocket frame in a list": "[a, {ws: {type: text, of: [{ws: {type: text, of: " + large + "}}]}}]",
		"a chunk":                     "{chunk: {of: " + large + "}}",
		"a WebSocket frame in chunks": "{chunk: {of: [{ws: {type: text, of: " + large + "}}]}}",
		"packed bytes":                "{gzip: {of: " + large + "}}",
		"packed WebSocket frames":     "{gzip: {of: {ws: {type: text, of: " + large + "}}}}",
	} {
		t.Run(name, func(t *testing.T) {
			text := "id: a.b\ntitle: T\nrules: [r.one]\nsteps:\n  - open: {as: c}\n  - write: {to: c, of: " + of + "}\nexpect: {c: ok}\n"
			_, err := Parse("f.yaml", []byte(text))
			want := fmt.Sprintf("f.yaml:6:%d: this generates more than 67108864 bytes", strings.Index(of, large)+len("  - write: {to: c, of: ")+1)
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

// A script has the same meaning in the other style of YAML.
func TestEveryScriptSurvivesBeingWrittenAgain(t *testing.T) {
	for _, s := range load(t).Scenarios {
		var doc yaml.Node
		if err := yaml.Unmarshal(s.Text, &doc); err != nil {
			t.Fatal(err)
		}
		restyle(&doc)
		text, err := yaml.Marshal(&doc)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(s.File, text)
		if err != nil {
			t.Fatalf("%s: %v\n%s", s.ID, err, text)
		}
		if diff := cmp.Diff(s, again,
			cmpopts.IgnoreFields(Scenario{}, "Text", "Digest"), cmpopts.IgnoreFields(Step{}, "Line"),
			cmpopts.IgnoreFields(Clause{}, "Line"), cmpopts.EquateEmpty(), anyInteger); diff != "" {
			t.Errorf("%s: %s", s.ID, diff)
		}
	}
}

// restyle turns block style into flow style and the reverse.
func restyle(n *yaml.Node) {
	if n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode {
		n.Style ^= yaml.FlowStyle
	}
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	for _, c := range n.Content {
		restyle(c)
		if n.Style&yaml.FlowStyle != 0 {
			flow(c)
		}
	}
}

// flow gives everything below a flow collection flow style too, as YAML requires.
func flow(n *yaml.Node) {
	if n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode {
		n.Style |= yaml.FlowStyle
	}
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, c := range n.Content {
		flow(c)
	}
}

// lintOne checks a script alone, without its rules.
func lintOne(file string, text []byte) []*ScriptError {
	s, d := decodeScript(file, text, checked)
	if s != nil {
		lintStyle(s, d)
	}
	return scriptErrors(file, joinErrors(d.errs))
}

func TestLintAsksForTheCustomsOfTheCatalogue(t *testing.T) {
	text := []byte("id: some.area.name\ntitle: " + strings.Repeat("long ", 21) + "end.\nrules: [r.one]\nsend: {rpc: x.Y/Z}\nexpect: {rule: r.one}\n")
	var got []string
	for _, e := range lintOne("other-area/file.yaml", text) {
		got = append(got, e.Message)
	}
	want := []string{
		`the id "some.area.name" does not match the folder: it belongs to "some-area"`,
		`the id ends in "name" and the file is called "file.yaml"`,
		"the title ends with a full stop; write titles without one",
		"the title is 109 characters long; at most 100 fit on a line of a report",
		"the clause expects nothing",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The state of a sandbox is looked at in many ways; a request that changes it is no look.
func TestLintAsksForTheReasonOfAPauseInFrontOfALook(t *testing.T) {
	for next, look := range map[string]bool{
		"list: {as: l}":   true,
		"scrape: {as: l}": true,
		"send: {as: l, surface: control, path: /sandboxes/x}":                    true,
		"send: {as: l, surface: files, method: HEAD, path: /x}":                  true,
		"send: {as: l, rpc: filesystem.Filesystem/Stat, message: {path: /x}}":    true,
		"parallel: [{pause: 1ms}, {list: {as: l}}]":                              true,
		"send: {as: l, rpc: filesystem.Filesystem/MakeDir, message: {path: /x}}": false,
		"send: {as: l, surface: control, path: /sandboxes, json: {}}":            false,
		"send: {as: l, surface: control, method: DELETE, path: /sandboxes/x}":    false,
		"signal: {as: l, pid: 1, name: SIGKILL}":                                 false,
		"pause: 1ms":                                                             false,
	} {
		for comment, excused := range map[string]bool{"": false, "# it must be gone a moment later": true} {
			script := "id: area.file\ntitle: T\nrules: [r.one]\nsteps:\n  - list: {as: first}\n  - pause: 1s " + comment + "\n  - " + next + "\n  - pause: 1s\nexpect: {first: ok}\n"
			want := 0
			if look && !excused {
				want = 1
			}
			found := lintOne("area/file.yaml", []byte(script))
			if len(found) != want || want == 1 && !strings.HasPrefix(found[0].Error(), "area/file.yaml:6:12: a pause in front of a look at state needs a reason") {
				t.Errorf("%q %s: found %v", comment, next, found)
			}
		}
	}
}

func TestARaceCountsOnePerIteration(t *testing.T) {
	text := "id: a.b\ntitle: T\nrules: [r.one]\nneeds: [metrics.prometheus]\nexclusive: true\nrepeat: {times: 200}\n" +
		"steps: [{start: {as: p, sh: x}}]\nexpect: {orders: {x: {p: ok, min: 5}}, metrics: {started: +200, active: +0}}\n"
	s, err := Parse("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"started": "+n", "active": "+0"}, s.Expect[0].Metrics); diff != "" {
		t.Error(diff)
	}
}
