package scenarios

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/record/bundle"
)

// linted checks files of the folder "my", and returns what was found as FILE:LINE CHECK MESSAGE, and the kinds.
func linted(t *testing.T, files map[string]string) (found []string, kinds map[string]bundle.LintKind) {
	t.Helper()
	var sources []LintSource
	for name, text := range files {
		sources = append(sources, LintSource{Name: name, Text: []byte(text), Folder: "my"})
	}
	slices.SortFunc(sources, func(a, b LintSource) int { return strings.Compare(a.Name, b.Name) })
	listed, all, err := LintAll(sources, LintOptions{
		Now:   time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC),
		Flags: func(key string) bool { return key == "profile" || key == "conform" },
		Config: func(file string, _ []byte) []*ScriptError {
			return []*ScriptError{(&ScriptError{File: file, Line: 1}).Saying(CheckUnknownProfile, "of the flags", "")}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		level := ""
		if f.Warning {
			level = "warning "
		}
		found = append(found, level+f.Check+" "+strings.SplitN(f.Error(), "\n", 2)[0]+" "+f.Hint)
	}
	kinds = map[string]bundle.LintKind{}
	for _, f := range listed {
		kinds[f.Name] = f.Kind
	}
	return found, kinds
}

const (
	lintHeld = "\n  reason: it is slow\n  link: https://tracker.example/1\n  expires: 2027-03-31\n"
	lintPlan = "classes: [{name: echo, lines: 3}]\nstreams: 2\nduration: 10s\n"
)

func TestAFolderWithoutMistakesIsValid(t *testing.T) {
	found, kinds := linted(t, map[string]string{
		"my/rules.yaml": ownRules, "my/shop/order.yaml": ownOrder, "my/profiles/strict.yaml": ownStrict,
		"my/known.yaml": "- pattern: shop.order\n  rule: shop.order.accepted" + lintHeld + "- pattern: process.*" + lintHeld,
		"my/load.yaml":  lintPlan, "my/ci.yml": "name: ci\njobs: {}\n", "my/list.yml": "- one\n", "my/none.yaml": "[]\n",
	})
	if len(found) > 0 {
		t.Errorf("found %q", found)
	}
	want := map[string]bundle.LintKind{
		"my/rules.yaml": bundle.LintRules, "my/shop/order.yaml": bundle.LintScript, "my/profiles/strict.yaml": bundle.LintProfile,
		"my/known.yaml": bundle.LintKnown, "my/load.yaml": bundle.LintPlan, "my/ci.yml": bundle.LintUnknown, "my/list.yml": bundle.LintUnknown,
		"my/none.yaml": bundle.LintKnown,
	}
	for name, kind := range want {
		if kinds[name] != kind {
			t.Errorf("%s was taken for %s, want %s", name, kinds[name], kind)
		}
	}
}

func TestAFileIsKnownByItsContents(t *testing.T) {
	for text, want := range map[string]bundle.LintKind{
		ownOrder: bundle.LintScript, ownRules: bundle.LintRules, ownStrict: bundle.LintProfile, goodKnown: bundle.LintKnown, lintPlan: bundle.LintPlan,
		"profile: e2b\nconform: {}\n": bundle.LintConfig, "services: {}\n": bundle.LintUnknown, "stages: [build]\n": bundle.LintUnknown,
		"openapi: 3.0.0\npaths: {}\n": bundle.LintUnknown, "a: 1\n---\nb: 2\n": bundle.LintUnknown, "text\n": bundle.LintUnknown,
	} {
		if _, kinds := linted(t, map[string]string{"my/x/file.yaml": text}); kinds["my/x/file.yaml"] != want {
			t.Errorf("%q was taken for %s, want %s", text, kinds["my/x/file.yaml"], want)
		}
	}
}

func TestEveryMistakeOfAFolderIsFoundInOnePass(t *testing.T) {
	found, _ := linted(t, map[string]string{
		"my/rules.yaml":           ownRules + "- {id: shop.order.kept, level: must, source: ours, section: orders, text: It is kept.}\n",
		"my/shop/order.yaml":      ownOrder,
		"my/shop/second.yaml":     ownOrder,
		"my/shop/misspelt.yaml":   strings.NewReplacer("[shop.order.accepted]", "[shop.order.acepted]", "id: shop.order", "id: shop.misspelt").Replace(ownOrder) + "needs: [process.strat]\n",
		"my/profiles/strict.yaml": strings.Replace(ownStrict, "shop.order.accepted", "shop.order.accept", 1) + "require: [health.y]\n",
		"my/known.yaml": "- pattern: shop.ordr" + lintHeld + "- pattern: shop.*\n  rule: shop.order.acceptd" + lintHeld +
			"- pattern: shop.order\n  axes: grpc" + lintHeld + "- pattern: shop.order\n  rule: process.end.exit-code" + lintHeld,
		"my/torn.yaml":  "a: [\n",
		"my/assay.yaml": "profile: e2x\n",
	})
	for _, want := range []string{
		`lint.duplicate-id my/shop/second.yaml:1:5: my/shop/order.yaml already has the id "shop.order"`,
		`lint.unknown-rule my/shop/misspelt.yaml:3:9: there is no rule "shop.order.acepted" did you mean "shop.order.accepted"?`,
		`lint.unknown-feature my/shop/misspelt.yaml:7:9: there is no feature "process.strat" did you mean "process.start"?`,
		`lint.unknown-rule my/profiles/strict.yaml:3:10: there is no rule "shop.order.accept" did you mean "shop.order.accepted"?`,
		`lint.unknown-feature my/profiles/strict.yaml:4:11: there is no feature "health.y" did you mean "health"?`,
		`lint.unmatched-pattern my/known.yaml:1:12: no scenario matches "shop.ordr" did you mean "shop.order"?`,
		`lint.unknown-rule my/known.yaml:6:9: there is no rule "shop.order.acceptd" did you mean "shop.order.accepted"?`,
		`lint.unmatched-pattern my/known.yaml:11:9: nothing that "shop.order" matches runs on the axes "grpc" `,
		`lint.unmatched-pattern my/known.yaml:16:9: nothing that "shop.order" matches proves the rule "process.end.exit-code" `,
		`lint.syntax my/torn.yaml:`,
		`lint.unknown-profile my/assay.yaml:1:`,
	} {
		if !slices.ContainsFunc(found, func(f string) bool { return strings.HasPrefix(f, want) }) {
			t.Errorf("not found: %s", want)
		}
	}
	if t.Failed() {
		t.Logf("found:\n%s", strings.Join(found, "\n"))
	}
}

func TestAMisspeltRuleOfAScriptIsCorrectedByTheRulesOfItsFolder(t *testing.T) {
	found, _ := linted(t, map[string]string{
		"my/rules.yaml": ownRules, "my/shop/order.yaml": strings.Replace(ownOrder, "[shop.order.accepted]", "[shop.order.acepted]", 1),
	})
	if len(found) != 2 || !strings.HasPrefix(found[1], `lint.unknown-rule my/shop/order.yaml:3:9: there is no rule "shop.order.acepted" did you mean "shop.order.accepted"?`) ||
		!strings.HasPrefix(found[0], `lint.unproven-rule my/rules.yaml:1:8: no script proves the rule "shop.order.accepted"`) {
		t.Errorf("found %q", found)
	}
}

func TestTwoFoldersMayHaveTheSameIDs(t *testing.T) {
	found, _ := linted(t, map[string]string{
		"my/a/rules.yaml": ownRules, "my/a/shop/order.yaml": ownOrder,
		"my/b/rules.yaml": ownRules, "my/b/anything.yaml": ownOrder, // a script directly in the folder belongs to no area
	})
	if len(found) > 0 {
		t.Errorf("found %q", found)
	}
}

func TestWhatIsOpenOrOverIsAWarning(t *testing.T) {
	entry := "- pattern: process.*" + lintHeld
	found, _ := linted(t, map[string]string{"my/known.yaml": strings.Replace(entry, "2027", "2020", 1) + strings.Replace(entry, "it is slow", `"TODO: why?"`, 1)})
	if len(found) != 2 || !strings.HasPrefix(found[0], "warning lint.expired my/known.yaml:4:12: the entry expired on 2020-03-31") ||
		!strings.HasPrefix(found[1], "warning lint.todo my/known.yaml:6:11: the reason is still to be filled in") {
		t.Errorf("found %q", found)
	}
}

// A file that the user named must be of Assay: its mistakes say what is missing.
func TestANamedFileIsNeverNoneOfAssays(t *testing.T) {
	for text, want := range map[string]bundle.LintKind{"services: {}\n": bundle.LintScript, "streams: 3\n": bundle.LintPlan, "": bundle.LintScript} {
		files, found, err := LintAll([]LintSource{{Name: "x.yaml", Text: []byte(text)}}, LintOptions{})
		if err != nil || len(found) == 0 || files[0].Kind != want {
			t.Errorf("%q: %v, %+v, found %v", text, err, files, found)
		}
	}
}

func TestAFileThatCannotBeReadIsAFinding(t *testing.T) {
	_, found, err := LintAll([]LintSource{{Name: "my/pipe.yaml", Folder: "my", Err: errors.New("this is a pipe")}}, LintOptions{})
	if err != nil || len(found) != 1 || found[0].Check != CheckUnreadable || found[0].Warning {
		t.Errorf("%v, found %v", err, found)
	}
}

// A script that is named alone refers to the rules beside its area, which are not checked.
func TestARulesFileOfTheContextIsNotChecked(t *testing.T) {
	files, found, err := LintAll([]LintSource{
		{Name: "my/shop/order.yaml", Text: []byte(ownOrder)},
		{Name: "my/rules.yaml", Text: []byte(ownRules + "- {id: shop.order.kept, level: must, source: ours, section: orders, text: It is kept.}\n"), Context: true},
	}, LintOptions{})
	if err != nil || len(found) > 0 || len(files) != 1 {
		t.Errorf("%v, %+v, found %v", err, files, found)
	}
}

func TestTheBuiltInCatalogueIsValidAsAFolder(t *testing.T) {
	var sources []LintSource
	for _, s := range builtinFiles(t) {
		text, err := embedded.ReadFile(s)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, LintSource{Name: "scenarios/" + s, Text: text, Folder: "scenarios"})
	}
	_, found, err := LintAll(sources, LintOptions{})
	if err != nil || len(found) > 0 {
		t.Errorf("%v, found %d: %v", err, len(found), found[:min(5, len(found))])
	}
}

// builtinFiles lists the files of the embedded catalogue.
func builtinFiles(t *testing.T) []string {
	t.Helper()
	files, err := source{fsys: embedded}.scripts()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range ProfileNames() {
		files = append(files, "profiles/"+p+".yaml")
	}
	return append(files, "rules.yaml")
}
