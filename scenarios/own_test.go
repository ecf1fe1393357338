package scenarios

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// folder writes files of a user's folder and returns it.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	ownRules = "- {id: shop.order.accepted, level: should, source: 'issue 7 of the shop', section: orders, text: An order is accepted.}\n"
	ownOrder = `id: shop.order
title: An order is accepted
rules: [shop.order.accepted]
send: {method: POST, path: /orders, json: {item: 1}}
expect:
  send: {status: 201}
`
	ownStrict = `id: strict
title: A shop that must accept
levels: {shop.order.accepted: {level: must, reason: Customers leave otherwise.}}
`
)

func TestAFolderHasRulesAndProfilesOfItsOwn(t *testing.T) {
	dir := folder(t, map[string]string{"rules.yaml": ownRules, "shop/order.yaml": ownOrder, "profiles/strict.yaml": ownStrict})
	c, err := LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Rule("shop.order.accepted"); r == nil || r.Source != "issue 7 of the shop" {
		t.Errorf("rule = %+v", r)
	}
	p, err := c.LoadProfile("strict")
	if err != nil || p.Levels["shop.order.accepted"].Level != "must" {
		t.Errorf("profile = %+v, %v", p, err)
	}
	if names := c.ProfileNames(); !slices.Contains(names, "strict") || !slices.Contains(names, "e2b") || !slices.IsSorted(names) {
		t.Errorf("profiles = %q", names)
	}
	own := c.Own()
	if len(own.Rules) != 1 || len(own.Scenarios) != 1 || len(c.Rules) < 100 {
		t.Errorf("own: %d rules and %d scenarios, of %d rules", len(own.Rules), len(own.Scenarios), len(c.Rules))
	}
	if _, err := LoadProfile("strict"); err == nil {
		t.Error("the profile is known outside of its folder")
	}
	if _, err := ParseProfile("strict.yaml", []byte(ownStrict)); err == nil {
		t.Error("its rule is known outside of its folder")
	}
	stored, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if err := stored.Adopt(c); err != nil {
		t.Fatal(err)
	}
	if _, err := stored.ParseStoredProfile("stored", []byte(ownStrict)); err != nil {
		t.Errorf("a bundle with these rules: %v", err)
	}
}

func TestAMistakeInAFolderIsNamedWithItsFile(t *testing.T) {
	for name, tt := range map[string]struct {
		file, text, want string
	}{
		"a rule of the catalogue":        {"rules.yaml", strings.Replace(ownRules, "shop.order.accepted", "process.end.exit-code", 1), "already a built-in rule"},
		"a profile of the catalogue":     {"profiles/e2b.yaml", "id: e2b\ntitle: Mine\n", `there is a built-in profile "e2b"`},
		"a profile under another name":   {"profiles/a.yaml", "id: b\ntitle: Mine\n", `has the id "b" and the file is called "a.yaml"`},
		"a profile with an unknown rule": {"profiles/a.yaml", strings.Replace(ownStrict, "accepted", "accept", 1), `there is no rule "shop.order.accept"`},
		"a rule that no clause proves":   {"shop/late.yaml", strings.NewReplacer("id: shop.order", "id: shop.late", "[shop", "[process.end.once, shop", "  send:", "  rule: shop.order.accepted\n  send:").Replace(ownOrder), `no clause proves the rule "process.end.once"`},
		"the id of another script":       {"shop/second.yaml", ownOrder, `order.yaml already has the id "shop.order"`},
		"a script with an unknown rule":  {"shop/late.yaml", strings.NewReplacer("id: shop.order", "id: shop.late", "accepted]", "acepted]").Replace(ownOrder), `did you mean "shop.order.accepted"?`},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"rules.yaml": ownRules, "shop/order.yaml": ownOrder, tt.file: tt.text}
			dir := folder(t, files)
			_, err := LoadDir(dir)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), filepath.Join(dir, tt.file)) {
				t.Errorf("err = %v, want %q and the file in it", err, tt.want)
			}
		})
	}
}

func TestATermThatNamesOnlyBuiltInScenariosAddsThem(t *testing.T) {
	c, err := LoadDir(folder(t, map[string]string{"rules.yaml": ownRules, "shop/order.yaml": ownOrder}))
	if err != nil {
		t.Fatal(err)
	}
	for terms, want := range map[string]struct{ own, builtIn bool }{
		"":                           {true, false},
		"shop.*":                     {true, false},
		"*":                          {true, false},
		"level:should":               {true, false},
		"shop.*,!axis:grpc,!stdio.*": {true, false}, // an exclusion asks for nothing
		"connect.unary.not-found":    {false, true},
		"area:connect-unary":         {false, true},
		"shop.order,connect.unary.*": {true, true},
	} {
		wide, err := c.Widened(terms)
		if err != nil {
			t.Errorf("%q: %v", terms, err)
			continue
		}
		if more := len(wide.Scenarios) > len(c.Scenarios); more != want.builtIn {
			t.Errorf("%q: built-in scenarios were added: %t, want %t", terms, more, want.builtIn)
		}
		if strings.Contains(terms, "!") {
			continue // it matches nothing, which Select reports
		}
		chosen, err := wide.Select(terms)
		if err != nil {
			t.Errorf("%q: %v", terms, err)
		}
		own := slices.ContainsFunc(chosen, func(i Instance) bool { return i.Scenario.ID == "shop.order" })
		builtIn := slices.ContainsFunc(chosen, func(i Instance) bool { return strings.HasPrefix(i.Scenario.ID, "connect.unary.") })
		if own != want.own || builtIn != want.builtIn {
			t.Errorf("%q selects own scenarios: %t, built-in ones: %t; want %+v", terms, own, builtIn, want)
		}
	}
}
