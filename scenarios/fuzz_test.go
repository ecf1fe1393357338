package scenarios

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"assay/internal/record/bundle"
	"assay/internal/target"
)

// wholeFile are the beginnings of errors that have no line.
var wholeFile = []string{"the file is empty", "the file is not UTF-8", "the file is ", "not YAML: "}

// placed checks the errors of a file: each has a place inside the text, says something, and is of bounded length.
func placed(t *testing.T, file string, text []byte, err error) {
	t.Helper()
	lines := linesOf(text)
	for i, e := range scriptErrors(file, err) {
		whole := slices.ContainsFunc(wholeFile, func(s string) bool { return strings.HasPrefix(e.Message, s) }) || i == maxErrors
		switch {
		case e.File != file || e.Message == "":
			t.Fatalf("an error without file or words: %+v", e)
		case e.Line == 0 && (!whole || e.Column != 0):
			t.Fatalf("an error without a line: %+v", e)
		case e.Line > 0 && (e.Line > len(lines) || e.Column < 1 || e.Column > len([]rune(lines[e.Line-1]))+1):
			t.Fatalf("an error outside the text: %+v", e)
		case len(e.Error()) > 3*maxMessage:
			t.Fatalf("an error of %d bytes", len(e.Error()))
		}
	}
}

func TestAnErrorShowsTheLineAndOnlyPartOfALongOne(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for name, c := range map[string]struct{ text, want string }{
		"the place is in the middle":     {"{id: e, title: t, a: " + long + ", b: é}", "…"},
		"the value is the line":          {long, long[:maxShown] + "…\n      | ^"},
		"the message quotes what is odd": {"id: " + long + "É", "is not a profile id"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseProfile("p.yaml", []byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %.900v, want %q in it", err, c.want)
			}
			placed(t, "p.yaml", []byte(c.text), err)
		})
	}
	_, err := ParseProfile("p.yaml", []byte("title: t\rid: '\u0085\u2028'\u2029x: 1"))
	if err == nil || !strings.Contains(err.Error(), "p.yaml:5:1: unknown field") || !strings.Contains(err.Error(), "    5 | x: 1\n      | ^") {
		t.Errorf("after other line breaks: %v", err)
	}
	part, at := around(strings.Repeat("é", 1000)+"^"+strings.Repeat("é", 1000), 1001)
	if chars := []rune(part); chars[at-1] != '^' || len(chars) != maxShown+2 {
		t.Errorf("%q, %d", part, at)
	}
}

func TestADeviationNeedsAGlobThatMatches(t *testing.T) {
	text := []byte("id: e\ntitle: t\ndeviations:\n  process.end.exit-code: {reason: r, scenarios: [a.b, 'a.[b']}\n")
	if _, err := ParseProfile("p.yaml", text); err == nil || !strings.Contains(err.Error(), `p.yaml:4:55: "a.[b" is not a glob`) {
		t.Errorf("got %v", err)
	}
	if _, err := (*Catalogue)(nil).ParseStoredProfile("p.yaml", text); err != nil {
		t.Errorf("the profile of an older bundle is refused: %v", err)
	}
}

func FuzzProfile(f *testing.F) {
	rules, err := builtinRules()
	if err != nil {
		f.Fatal(err)
	}
	c := &Catalogue{Rules: rules}
	for _, name := range ProfileNames() {
		p, err := LoadProfile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p.Text)
	}
	for _, text := range []string{
		"id: e\ntitle: t\nrequire: [process.pty]\nshell: [bash, -c]\npaths: {process: /x}\nmetrics: {started: a}\n",
		"id: e\ntitle: t\ndeviations: {process.end.exit-code: {reason: r, scenarios: 'a.*', symptoms: exit-code}}\n",
		"id: e\ntitle: t\npaths: {process: '/a%20b', commands: '/%zz', metrics: '/a b', health: '/é?#'}\n", "id: e\ntitle: t\npaths: {process: '/%20b~!\"'}\n", "id: e\ntitle: t\npaths: {process: '/%zz'}\n",
		"id: e\ntitle: t\nlevels: {process.end.exit-code: {level: may, reason: r}}\n",
		"id: e\ntitle: t\ndeviations: {process.end.exit-code: r}\n", "id: 1\r\ntitle: [\r\n", "{id: e,\ttitle: \"\\u2028\"}",
		"id: 1\rtitle: 2\r", "title: 2\u0085id: '\u2028\u2028'\u2029x: 1",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ParseProfile("p.yaml", text)
		if (p == nil) == (err == nil) {
			t.Fatalf("profile %v, error %v", p, err)
		}
		placed(t, "p.yaml", text, err)
		old, oldErr := (*Catalogue)(nil).ParseStoredProfile("p.yaml", text)
		placed(t, "p.yaml", text, oldErr)
		if err != nil {
			return
		}
		if oldErr != nil || !reflect.DeepEqual(p, old) {
			t.Fatalf("as part of a bundle it is %+v, %v", old, oldErr)
		}
		meansSomething(t, c, p)
	})
}

// meansSomething checks that every part of a profile has an effect.
func meansSomething(t *testing.T, c *Catalogue, p *Profile) {
	t.Helper()
	for id, d := range p.Deviations {
		if c.Rule(id) == nil || d.Reason == "" || len(d.Scenarios)+len(d.Symptoms) == 0 {
			t.Errorf("%s: %+v", id, d)
		}
		for _, glob := range d.Scenarios {
			if _, err := path.Match(glob, "a.b"); err != nil {
				t.Errorf("%q: %v", glob, err)
			}
		}
		for _, s := range d.Symptoms {
			if !slices.Contains(bundle.Symptoms(), s) {
				t.Errorf("symptom %q", s)
			}
		}
	}
	for id, l := range p.Levels {
		if c.Rule(id) == nil || l.Reason == "" || !slices.Contains([]string{"must", "should", "may"}, l.Level) {
			t.Errorf("%s: %+v", id, l)
		}
	}
	for _, feature := range p.Require {
		if !slices.Contains(target.Features(), feature) {
			t.Errorf("feature %q", feature)
		}
	}
	for _, path := range p.Paths {
		if u, err := url.ParseRequestURI("http://h" + path); err != nil || u.Path == "" && path != "" || u.RawQuery != "" || strings.ContainsAny(path, "#?\n\x00 ") {
			t.Errorf("path %q: %+v, %v", path, u, err)
		}
	}
	if len(p.Metrics) != 3 || p.ID == "" || p.Title == "" {
		t.Errorf("%+v", p)
	}
}

func FuzzRules(f *testing.F) {
	text, err := embedded.ReadFile("rules.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for i, rule := range strings.Split(string(text), "\n- id: ")[1:] {
		if i%25 == 0 || strings.Contains(rule, "foundation") {
			f.Add([]byte("- id: " + rule))
		}
	}
	const rest = "level: must, source: envd, section: s, text: t"
	for _, text := range []string{
		"- {id: a.b, " + rest + "}\n- {id: a.b, " + rest + "}\n", "- {id: a.b, standing: ['check:x', 'check:x'], " + rest + "}\n",
		"- {id: process.end.exit-code, foundation: {rank: 1, symptoms: [x], rules: ['a.[']}, " + rest + "}\n", "[]", "- ", "- {id: a.b\n, " + rest + "}",
	} {
		f.Add([]byte(text))
	}
	all, err := builtinRules()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		old := &Catalogue{Rules: all}
		oldErr := old.AddRules("r.yaml", text)
		placed(t, "r.yaml", text, oldErr)
		if oldErr != nil && len(old.Rules) != len(all) {
			t.Fatal("the catalogue has changed")
		}
		c, err := loadCatalogue(source{fsys: fstest.MapFS{"rules.yaml": {Data: text}}}, all)
		placed(t, "rules.yaml", text, err)
		if err != nil {
			return
		}
		if oldErr != nil || !reflect.DeepEqual(old.Rules, c.Rules) {
			t.Fatalf("as part of a bundle: %v", oldErr)
		}
		if !slices.IsSortedFunc(c.Rules, func(a, b *Rule) int { return strings.Compare(a.ID, b.ID) }) {
			t.Fatal("the rules are not sorted")
		}
		kinds := map[string]string{}
		for i, r := range c.Rules {
			if r.Level == "" || r.Source == "" || r.Section == "" || r.Text == "" || r.Foundation != nil && r.Foundation.Rank < 1 {
				t.Fatalf("%+v", r)
			}
			if i > 0 && c.Rules[i-1].ID == r.ID {
				t.Fatalf("%s is there twice", r.ID)
			}
			for _, k := range r.Standing {
				if kinds[k] != "" {
					t.Fatalf("%s belongs to %s and to %s", k, kinds[k], r.ID)
				}
				kinds[k] = r.ID
			}
		}
		again := &Catalogue{Rules: c.Rules}
		if err := again.AddRules("r.yaml", text); err != nil || !reflect.DeepEqual(again.Rules, c.Rules) {
			t.Fatalf("a second time they change the catalogue: %v", err)
		}
	})
}

func FuzzOverride(f *testing.F) {
	script := []byte(largeScript)
	for _, text := range []string{"repeat.times=2", "repeat.times=+60", "gen.bytes=0", "gen.bytes=1048576", "gen.bytes=67108864", "split=none", "sweep.d=-2ms+1rtt", "sweep.=1s", "sweep.d=1s=2", "=", "repeat.times"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := ParseOverride(text)
		if err != nil {
			if name, _, _ := strings.Cut(text, "="); len(name) < 100 && !strings.Contains(err.Error(), name) && !strings.Contains(err.Error(), strconv.Quote(name)) {
				t.Fatalf("%q: the error does not name it: %v", text, err)
			}
			return
		}
		if o.String() != text {
			t.Fatalf("%q is printed as %q", text, o)
		}
		s, err := Parse("process/sample.yaml", script)
		if err != nil {
			t.Fatal(err)
		}
		small, err := s.With(o)
		if (small == nil) == (err == nil) {
			t.Fatalf("%q: %v, %v", text, small, err)
		}
		if fresh, _ := Parse("process/sample.yaml", script); !reflect.DeepEqual(s, fresh) {
			t.Fatalf("%q changes the scenario itself", text)
		}
		if err != nil {
			tooMuch := o.Name == OverrideGen && strings.Contains(err.Error(), "in all")
			if !tooMuch && !strings.Contains(err.Error(), "no such value") {
				t.Fatalf("%q is accepted, but then %v", text, err)
			}
			return
		}
		isApplied(t, o, s, small)
		if twice, err := s.With(o, o); err != nil || !reflect.DeepEqual(twice, small) {
			t.Fatalf("%q: a second time it changes more (%v): %s", text, err, cmp.Diff(small, twice))
		}
	})
}

// isApplied checks that a scenario differs from its origin in the value that an override sets, and in nothing else.
func isApplied(t *testing.T, o Override, from, to *Scenario) {
	t.Helper()
	n, _ := strconv.Atoi(o.Value)
	gen, want := to.Steps[1].Input.Data.Gen, *from
	switch o.Name {
	case OverrideRepeat:
		want.Repeat.Times, want.Repeat.Parallel = n, min(n, from.Repeat.Parallel)
	case OverrideGen:
		if gen.Bytes != n || to.Expect[0].Subjects["p"].Stdout.Gen.Bytes != n {
			t.Fatalf("%s: %+v", o, gen)
		}
	case OverrideSplit:
		if to.Steps[2].Send.Split.EveryByte {
			t.Fatalf("%s: it is split", o)
		}
	default:
		at, err := ParseSpan(o.Value)
		if err != nil || to.Sweep["d"] != (Range{From: at, To: at}) {
			t.Fatalf("%s: %+v, %v", o, to.Sweep, err)
		}
	}
	if to.Repeat != want.Repeat || to.ID != from.ID || len(to.Steps) != len(from.Steps) || len(to.Sweep) != len(from.Sweep) {
		t.Fatalf("%s: it becomes %+v", o, to)
	}
}

func FuzzWorkload(f *testing.F) {
	f.Add([]byte(wholeWorkload))
	f.Add([]byte("classes: [{name: a}]"))
	f.Add([]byte("stages: [{duration: 2562047h, rate: 1}, {duration: 2562047h, from: 1}]\nclasses: [{name: a}]"))
	f.Add([]byte("rate: 1e-300\nclasses: [{name: a-b}, {name: a_b, share: 1e-300}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		w, err := ParseWorkload("f", text)
		if (w == nil) == (err == nil) {
			t.Fatalf("%v, %v", w, err)
		}
		placed(t, "f", text, err)
		if err != nil {
			return
		}
		if again, err := ParseWorkload("f", w.Text); err != nil || !reflect.DeepEqual(again, w) {
			t.Fatalf("the kept text reads as %+v, %v", again, err)
		}
		if w.Streams > 0 && w.Rate > 0 || w.Rate > 0 && len(w.Stages) > 0 || len(w.Stages) > 0 && w.Streams > 0 || w.Duration > 0 && w.Ramp > w.Duration {
			t.Fatalf("%+v", w)
		}
		whole := w.Duration
		for _, s := range w.Stages {
			if whole += s.Duration; s.Duration <= 0 || whole <= 0 || s.From < 0 || s.To < 0 {
				t.Fatalf("%+v", w.Stages)
			}
		}
		if len(w.Classes) == 0 {
			t.Fatal("no classes")
		}
		for _, c := range w.Classes {
			if !(c.Share > 0) || c.Name == "" || c.KillShare+c.DisconnectShare > 1 || c.Lines > 0 && c.Command != "" || min(c.Interval, c.Silence, c.Think, c.Hold, c.Within) < 0 {
				t.Fatalf("%+v", c)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	c, err := Load()
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range c.Scenarios {
		f.Add(s.Text)
	}
	files, _ := filepath.Glob("testdata/errors/*.yaml")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse("fuzz.yaml", text)
		if (s == nil) == (err == nil) {
			t.Fatalf("scenario %v, error %v", s, err)
		}
		placed(t, "fuzz.yaml", text, err)
		lintOne("fuzz.yaml", text)
	})
}

func FuzzParseKnown(f *testing.F) {
	f.Add([]byte(goodKnown))
	f.Add([]byte("- {pattern: 'a[', reason: r}\n"))
	f.Add([]byte("[]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		known, err := ParseKnown("k.yaml", text)
		placed(t, "k.yaml", text, err)
		if err != nil {
			return
		}
		again, err := ParseKnown("k.yaml", known.Text)
		if err != nil || !reflect.DeepEqual(again, known) {
			t.Errorf("the kept text reads as %+v, %v", again, err)
		}
		for i := range known.Entries {
			k := &known.Entries[i]
			k.Matches("a.b", bundle.Axes{})
			if k.Reason == "" || k.Link == "" || k.Line < 1 {
				t.Errorf("entry %+v came through", k)
			}
		}
	})
}

func FuzzLintAll(f *testing.F) {
	for _, text := range []string{goodKnown, ownRules, ownOrder, ownStrict, lintPlan, "profile: e2b\n", "- {pattern: 'a[', reason: TODO}\n"} {
		f.Add("my/rules.yaml", []byte(text), true)
		f.Add("my/profiles/../a.yaml", []byte(text), false)
	}
	f.Fuzz(func(t *testing.T, name string, text []byte, inFolder bool) {
		s := LintSource{Name: name, Text: text}
		if inFolder {
			s.Folder = "my"
		}
		files, found, err := LintAll([]LintSource{s, {Name: "my/shop/order.yaml", Text: []byte(ownOrder), Folder: "my"}}, LintOptions{})
		if err != nil || len(files) != 2 {
			t.Fatalf("%v, files %v", err, files)
		}
		for _, e := range found {
			if e.Check == "" || e.Message == "" || e.File != name && e.File != "my/shop/order.yaml" {
				t.Errorf("finding %+v", e)
			}
		}
	})
}
