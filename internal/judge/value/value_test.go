package value_test

import (
	"strings"
	"testing"

	"assay/internal/judge/value"
)

func TestValuesAreComparedAndTheFirstDifferenceNamed(t *testing.T) {
	c := value.Comparison{Expand: func(s string) string { return strings.ReplaceAll(s, "${p.pid}", "42") }}
	for _, tc := range []struct {
		name, got  string
		want       any
		equal, has string
	}{
		{"key order and number spelling", `{"b": 1.0, "a": [true, null]}`, map[string]any{"a": []any{true, nil}, "b": 1}, "", ""},
		{"a variable is a number", `{"pid": 42}`, map[string]any{"pid": "${p.pid}"}, "", ""},
		{"a key too many", `{"a": 1, "b": 2}`, map[string]any{"a": 1}, "at b: unexpected, saw 2", ""},
		{"an element among others", `[1, {"a": 1, "b": 2}]`, []any{map[string]any{"a": 1}}, `at the top: want [{"a":1}], saw [1,{"a":1,"b":2}]`, ""},
		{"another value", `{"a": {"b": "x"}}`, map[string]any{"a": map[string]any{"b": "y"}}, `at a.b: want "y", saw "x"`, `at a.b: want "y", saw "x"`},
		{"a text is no number", `{"a": "1"}`, map[string]any{"a": 1}, `at a: want 1, saw "1"`, `at a: want 1, saw "1"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := value.Decode([]byte(tc.got))
			if err != nil {
				t.Fatal(err)
			}
			if why := c.Equal("", tc.want, got); why != tc.equal {
				t.Errorf("Equal: %q, want %q", why, tc.equal)
			}
			if why := c.Has("", tc.want, got); why != tc.has {
				t.Errorf("Has: %q, want %q", why, tc.has)
			}
		})
	}
	for _, text := range []string{"", "{", "1 2"} {
		if _, err := value.Decode([]byte(text)); err == nil {
			t.Errorf("%q is taken for one value", text)
		}
	}
}

func TestListsAreComparedInTheirOrder(t *testing.T) {
	c := value.Comparison{Expand: func(s string) string { return s }}
	for name, test := range map[string]struct{ want, got, why string }{
		"the same":            {`{"a":[{"b":1},{"b":2}]}`, `{"a":[{"b":1,"c":0},{"b":2}],"d":0}`, ""},
		"another order":       {`[{"b":1},{"b":2}]`, `[{"b":2},{"b":1}]`, "at [0].b: want 1, saw 2"},
		"one more":            {`[1]`, `[1,2]`, "at the top: want 1 elements, saw 2: [1,2]"},
		"no list":             {`[1]`, `{}`, "at the top: want [1], saw {}"},
		"no object":           {`{"a":1}`, `[]`, `at the top: want {"a":1}, saw []`},
		"a difference inside": {`[{"a":[1]}]`, `[{"a":[2]}]`, "at [0].a[0]: want 1, saw 2"},
	} {
		want, err := value.Decode([]byte(test.want))
		if err != nil {
			t.Fatal(err)
		}
		got, err := value.Decode([]byte(test.got))
		if err != nil {
			t.Fatal(err)
		}
		if why := c.List("", want, got); why != test.why {
			t.Errorf("%s: got %q, want %q", name, why, test.why)
		}
	}
}
