package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestProblemsAreReportedWhereTheyAre(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)
	tests := map[string]struct {
		text   string
		off    int
		reason Reason
	}{
		"nothing":                      {"", 0, Syntax},
		"white space only":             {" \n", 2, Syntax},
		"a word":                       {"nul", 0, Syntax},
		"a comma too many in object":   {`{"a":1,}`, 7, Syntax},
		"a comma too many in array":    {`[1,]`, 3, Syntax},
		"a missing colon":              {`{"a" 1}`, 5, Syntax},
		"a missing comma":              {`[1 2]`, 3, Syntax},
		"an open object":               {`{"a":1`, 6, Syntax},
		"an open string":               {`"ab`, 3, Syntax},
		"a raw newline in a string":    {"\"a\nb\"", 2, Syntax},
		"an unknown escape":            {`"\x41"`, 2, Syntax},
		"a short escape":               {`"\u12"`, 3, Syntax},
		"an escape at the end":         {`"\`, 2, Syntax},
		"a leading zero":               {`01`, 1, Trailing},
		"a plus":                       {`+1`, 0, Syntax},
		"a fraction without digits":    {`1.`, 2, Syntax},
		"an exponent without digits":   {`1e+`, 3, Syntax},
		"NaN":                          {`NaN`, 0, Syntax},
		"single quotes":                {`{'a':1}`, 1, Syntax},
		"two values":                   {`{} {}`, 3, Trailing},
		"a name twice":                 {`{"a":1,"b":2,"a":3}`, 13, Duplicate},
		"a name twice by an escape":    {`{"a":1,"\u0061":2}`, 7, Duplicate},
		"a name twice in a nested one": {`{"a":{"b":1,"b":2}}`, 12, Duplicate},
		"a byte that is not UTF-8":     {"\"ab\xffc\"", 3, UTF8},
		"a cut character":              {"\"\xe4\xb8\"", 1, UTF8},
		"an encoded surrogate":         {"\"\xed\xa0\x80\"", 1, UTF8},
		"an overlong encoding":         {"\"\xc0\xaf\"", 1, UTF8},
		"a lone high surrogate":        {`"\ud800"`, 1, UTF8},
		"a lone low surrogate":         {`"\udc00"`, 1, UTF8},
		"two high surrogates":          {`"x\ud800\ud800"`, 2, UTF8},
		"too deep":                     {deep, MaxDepth, Depth},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var s Scanner
			_, problems := s.Scan([]byte(tt.text))
			if len(problems) != 1 || problems[0].Off != tt.off || problems[0].Reason != tt.reason {
				t.Errorf("got %+v, want reason %d at %d", problems, tt.reason, tt.off)
			}
		})
	}
}

func TestStrictTextsHaveNoProblem(t *testing.T) {
	var s Scanner
	for _, text := range []string{
		` {"a":{"a":{"a":[]}},"b":[{"a":1},{"a":2}]} `, `"\ud83d\ude00"`, "\"\u007f\ufffd\U0010ffff\"", `-0.0e-10`, `0`, "\t[\r\n]", `{"":1,"A":2,"a":3}`, `{"b":{"a":{"c":0}},"a":{"b":0},"c":[{"a":0}]}`,
		strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth),
	} {
		if v, problems := s.Scan([]byte(text)); len(problems) > 0 || v.Kind() == Invalid {
			t.Errorf("%.40q gives %v", text, problems)
		}
	}
}

func TestRepeatedNamesAreFoundInLargeObjects(t *testing.T) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range 3 * manyKeys {
		fmt.Fprintf(&b, `"k%d":{"x":0},`, i)
	}
	unique := b.String() + `"last":0}`
	var s Scanner
	if _, problems := s.Scan([]byte(unique)); len(problems) > 0 {
		t.Errorf("unique names give %v", problems)
	}
	for _, i := range []int{0, manyKeys - 1, manyKeys, 3*manyKeys - 1} {
		_, problems := s.Scan(fmt.Appendf(nil, `%s"k%d":0}`, b.String(), i))
		if len(problems) != 1 || problems[0].Off != b.Len() || problems[0].Reason != Duplicate {
			t.Errorf("k%d twice gives %v, want a duplicate at %d", i, problems, b.Len())
		}
	}
}

func TestProblemsAreBounded(t *testing.T) {
	var s Scanner
	text := "{" + strings.Repeat("\"a\":\"\xff\",", 10000) + `"b":0}`
	if _, problems := s.Scan([]byte(text)); len(problems) != maxProblems {
		t.Errorf("%d problems are kept, want %d", len(problems), maxProblems)
	}
	// Problems that make the value unusable are never omitted.
	v, problems := s.Scan([]byte(strings.TrimSuffix(text, "}")))
	if v.Kind() != Invalid || problems[len(problems)-1].Reason != Syntax {
		t.Errorf("kind %v with %v", v.Kind(), problems)
	}
}

func TestScanningAllocatesNothing(t *testing.T) {
	var s Scanner
	text := []byte(`{"type":"stdout","data":"a\nb é","n":{"a":[1,2.5e3,true,null]},"type2":{}}`)
	if n := testing.AllocsPerRun(100, func() { s.Scan(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestValuesAreWalked(t *testing.T) {
	var s Scanner
	v, problems := s.Scan([]byte(` { "a" : [ 1 , {"x":"]}"} , [ ] ] , "b\n" : "c\u00e9\"\\" , "d":-1.5 } `))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	got := map[string]string{}
	for m := range v.Members() {
		got[string(m.Name)] = string(m.Value.Raw)
	}
	want := map[string]string{"a": `[ 1 , {"x":"]}"} , [ ] ]`, "b\n": `"c\u00e9\"\\"`, "d": "-1.5"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("members %q, want %q", got, want)
	}
	var elements []string
	for m := range v.Members() {
		for el := range m.Value.Elements() {
			elements = append(elements, string(el.Raw))
		}
	}
	if want := []string{"1", `{"x":"]}"}`, "[ ]"}; !reflect.DeepEqual(elements, want) {
		t.Errorf("elements %q, want %q", elements, want)
	}
}

func TestIntegersAreReadHoweverTheyAreWritten(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "-0": 0, "1": 1, "1.0": 1, "10e-1": 1, "1E2": 100, "-128": -128, "127": 127} {
		var s Scanner
		v, _ := s.Scan([]byte(text))
		if n, ok := v.Int(-128, 127); !ok || n != want {
			t.Errorf("%s is read as %d, %t", text, n, ok)
		}
	}
	for _, text := range []string{"128", "-129", "1.5", "1e400", "9223372036854775808", `"1"`, "null", "true"} {
		var s Scanner
		v, _ := s.Scan([]byte(text))
		if n, ok := v.Int(-128, 127); ok {
			t.Errorf("%s is read as %d", text, n)
		}
	}
}

// FuzzScan compares the scanner with encoding/json: both accept the same texts and read
// the same values.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5e3,true,null,"x\n\ud83d\ude00"]}`, `{"a":1,"a":2}`, "\"\xff\"", `[[],{}] x`, `"\ud800"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var s Scanner
		v, problems := s.Scan(text)
		grammatical := true
		for _, p := range problems {
			if p.Off < 0 || p.Off > len(text) {
				t.Fatalf("problem %+v in %d bytes", p, len(text))
			}
			if p.Reason <= Trailing {
				grammatical = false
			}
		}
		if len(problems) < maxProblems && grammatical != json.Valid(text) {
			t.Fatalf("%q: we find %v, encoding/json says valid is %t", text, problems, json.Valid(text))
		}
		if grammatical && len(problems) < maxProblems {
			compare(t, v, text)
		}
	})
}

// compare compares every string, member and element with encoding/json.
func compare(t *testing.T, v Value, text []byte) {
	t.Helper()
	var want any
	if err := json.Unmarshal(text, &want); err != nil {
		return // the number does not fit into a float64
	}
	if got := toAny(v); !reflect.DeepEqual(got, want) {
		t.Fatalf("%q is read as %#v, encoding/json reads %#v", text, got, want)
	}
}

func toAny(v Value) any {
	switch v.Kind() {
	case Object:
		out := map[string]any{}
		for m := range v.Members() {
			out[string(m.Name)] = toAny(m.Value)
		}
		return out
	case Array:
		out := []any{}
		for el := range v.Elements() {
			out = append(out, toAny(el))
		}
		return out
	case String:
		return v.Text()
	case Bool:
		return v.True()
	case Number:
		var f float64
		if json.Unmarshal(v.Raw, &f) != nil {
			return nil
		}
		return f
	default:
		return nil
	}
}

func BenchmarkScan(b *testing.B) {
	text := []byte(`{"event":{"data":{"stdout":"` + strings.Repeat("aGVsbG8K", 128) + `"}}}`)
	var s Scanner
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s.Scan(text)
	}
}
