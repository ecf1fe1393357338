package scenarios

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func smallCatalogue() *Catalogue {
	return &Catalogue{
		Scenarios: []*Scenario{
			{ID: "a.one", Area: "a", Rules: []string{"r.must"}, Needs: []string{"process.start"}},
			{ID: "a.two", Area: "a", Rules: []string{"r.may"}, Axes: AxesSpec{Codec: []string{"json", "proto"}}},
			{ID: "b.one", Area: "b", Rules: []string{"r.must", "r.may"}, Axes: AxesSpec{Compression: []string{"gzip"}}},
		},
		Rules: []*Rule{{ID: "r.may", Level: "may"}, {ID: "r.must", Level: "must"}, {ID: "r.standing", Level: "must", Standing: []string{"x"}}},
	}
}

func TestSelect(t *testing.T) {
	for name, test := range map[string]struct{ terms, want string }{
		"nothing said selects everything":   {"", "a.one/json a.two/json a.two/proto b.one/json"},
		"a glob over ids":                   {"a.*", "a.one/json a.two/json a.two/proto"},
		"ids are alternatives":              {"a.one,b.one", "a.one/json b.one/json"},
		"terms of two kinds must both hold": {"a.*,axis:proto", "a.two/proto"},
		"a term with ! takes away":          {"!a.*", "b.one/json"},
		"taking away wins":                  {"a.*,!axis:proto", "a.one/json a.two/json"},
		"a rule":                            {"rule:r.may", "a.two/json a.two/proto b.one/json"},
		"a level":                           {"level:must", "a.one/json b.one/json"},
		"a feature":                         {"feature:process.*", "a.one/json"},
		"an area":                           {"area:b", "b.one/json"},
		"all four axes":                     {"axis:connect/proto/1.1/identity", "a.two/proto"},
		"a standing rule is judged on everything":    {"rule:r.standing", "a.one/json a.two/json a.two/proto b.one/json"},
		"white space around terms does not matter":   {" a.one , b.one ", "a.one/json b.one/json"},
		"two levels are alternatives like two rules": {"level:must,level:may", "a.one/json a.two/json a.two/proto b.one/json"},
	} {
		t.Run(name, func(t *testing.T) {
			instances, err := smallCatalogue().Select(test.terms)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, i := range instances {
				got = append(got, i.Scenario.ID+"/"+i.Axes.Codec)
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("got %v, want %s", got, test.want)
			}
		})
	}
}

func TestAnAreaIsNamedWholeOrByItsFirstWords(t *testing.T) {
	c := &Catalogue{Scenarios: []*Scenario{
		{ID: "s.a.one", Area: "s-a"}, {ID: "s.a.b.two", Area: "s-a-b"}, {ID: "s.c.three", Area: "s-c"}, {ID: "t.four", Area: "tea-s"},
	}}
	for area, want := range map[string]string{"s": "s.a.b.two s.a.one s.c.three", "s-a": "s.a.one", "s-*": "s.a.b.two s.a.one s.c.three", "tea": "t.four"} {
		instances, err := c.Select("area:" + area)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, i := range instances {
			got = append(got, i.Scenario.ID)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("area:%s selects %v, want %s", area, got, want)
		}
	}
	if _, err := c.Select("area:s-a-c"); err == nil {
		t.Error("an area without scenarios is selected")
	}
}

func TestSelectSaysWhatMatchesNothing(t *testing.T) {
	for terms, want := range map[string]string{
		"a.onn":            `select "a.onn" matches no scenario; similar: a.one, b.one`,
		"a.one,rule:r.mus": `select "rule:r.mus" matches no scenario; similar: r.must, r.may`,
		"axis:protto":      `select "axis:protto" matches no scenario; similar: proto`,
		"!zzzzzzzz":        `select "!zzzzzzzz" matches no scenario`,
		"a.one,axis:proto": `select "a.one,axis:proto" matches no scenario`,
	} {
		_, err := smallCatalogue().Select(terms)
		var none *NothingSelectedError
		if !errors.As(err, &none) || err.Error() != want {
			t.Errorf("%s: got %v, want %s", terms, err, want)
		}
	}
	for terms, want := range map[string]string{
		"lvl:must": `did you mean "level"?`,
		"[":        "is not a glob",
		"rule:":    "is not a glob",
	} {
		if _, err := smallCatalogue().Select(terms); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want a mention of %s", terms, err, want)
		}
	}
}

func TestOfKeepsTheScenariosAndTheirRules(t *testing.T) {
	c := smallCatalogue()
	instances, err := c.Select("a.two")
	if err != nil {
		t.Fatal(err)
	}
	of := c.Of(instances)
	if len(of.Scenarios) != 1 || of.Scenarios[0].ID != "a.two" || len(of.Rules) != 1 || of.Rules[0].ID != "r.may" {
		t.Errorf("got %d scenarios and %d rules", len(of.Scenarios), len(of.Rules))
	}
}

func TestPermutationsAreInAFixedOrder(t *testing.T) {
	s := &Scenario{Axes: AxesSpec{Codec: []string{"json", "proto"}, Compression: []string{"identity", "gzip"}}}
	var got []string
	for _, a := range s.Permutations() {
		got = append(got, a.String())
	}
	want := []string{
		"connect/json/1.1/identity", "connect/json/1.1/gzip", "connect/proto/1.1/identity", "connect/proto/1.1/gzip",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
