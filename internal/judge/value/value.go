package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/judge/phrase"
)

// Decode decodes exactly one JSON value; numbers keep their digits.
func Decode(p []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(p))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

// Comparison compares JSON values of a script with decoded ones. Key order, white space and the
// notation of numbers do not matter. Its methods return "" or a sentence with the location of
// the first difference.
type Comparison struct {
	// Expand replaces the variables in a string of the script.
	Expand func(string) string
}

// Equal compares got with want. path is the location of both, "" at the top.
func (c Comparison) Equal(path string, want, got any) string {
	switch want := c.plain(want).(type) {
	case map[string]any:
		obj, ok := got.(map[string]any)
		if !ok {
			return differ(path, want, got)
		}
		if why := c.keys(path, want, obj, c.Equal); why != "" {
			return why
		}
		for _, k := range slices.Sorted(maps.Keys(obj)) {
			if _, known := want[k]; !known {
				return fmt.Sprintf("at %s: unexpected, saw %s", child(path, k), jsonText(obj[k]))
			}
		}
		return ""
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return differ(path, want, got)
		}
		for i := range want {
			if why := c.Equal(fmt.Sprintf("%s[%d]", path, i), want[i], list[i]); why != "" {
				return why
			}
		}
		return ""
	default:
		return c.scalar(path, want, got)
	}
}

// Has describes what got lacks of want: an object must have the wanted keys, and an array must
// have, for each wanted element, one that has it.
func (c Comparison) Has(path string, want, got any) string {
	switch want := c.plain(want).(type) {
	case map[string]any:
		obj, ok := got.(map[string]any)
		if !ok {
			return differ(path, want, got)
		}
		return c.keys(path, want, obj, c.Has)
	case []any:
		list, ok := got.([]any)
		if !ok {
			return differ(path, want, got)
		}
		for _, w := range want {
			if !slices.ContainsFunc(list, func(g any) bool { return c.Has(path, w, g) == "" }) {
				return fmt.Sprintf("at %s: want an element %s, saw %s", pathName(path), jsonText(w), jsonText(got))
			}
		}
		return ""
	default:
		return c.scalar(path, want, got)
	}
}

// List is like Has, but an array must have exactly the wanted elements, in their order.
func (c Comparison) List(path string, want, got any) string {
	switch want := c.plain(want).(type) {
	case map[string]any:
		obj, ok := got.(map[string]any)
		if !ok {
			return differ(path, want, got)
		}
		return c.keys(path, want, obj, c.List)
	case []any:
		list, ok := got.([]any)
		switch {
		case !ok:
			return differ(path, want, got)
		case len(list) != len(want):
			return fmt.Sprintf("at %s: want %d elements, saw %d: %s", pathName(path), len(want), len(list), jsonText(got))
		}
		for i := range want {
			if why := c.List(fmt.Sprintf("%s[%d]", path, i), want[i], list[i]); why != "" {
				return why
			}
		}
		return ""
	default:
		return c.scalar(path, want, got)
	}
}

func (c Comparison) keys(path string, want, got map[string]any, compare func(string, any, any) string) string {
	for _, k := range slices.Sorted(maps.Keys(want)) {
		g, ok := got[k]
		if !ok {
			return fmt.Sprintf("at %s: want %s, saw no such key", child(path, k), jsonText(want[k]))
		}
		if why := compare(child(path, k), want[k], g); why != "" {
			return why
		}
	}
	return ""
}

// scalar compares values other than objects and arrays. A string that consists of one variable
// ("${p.pid}") equals a number with the same digits.
func (c Comparison) scalar(path string, want, got any) string {
	equal := false
	switch g := got.(type) {
	case nil:
		equal = want == nil
	case bool:
		equal = want == g
	case string:
		s, ok := want.(string)
		equal = ok && c.Expand(s) == g
	case json.Number:
		if s, ok := want.(string); ok {
			equal = strings.HasPrefix(s, "${") && strings.HasSuffix(s, "}") && sameNumber(c.Expand(s), g.String())
		} else {
			equal = sameNumber(numberText(want), g.String())
		}
	}
	if equal {
		return ""
	}
	if s, ok := want.(string); ok {
		want = c.Expand(s)
	}
	return differ(path, want, got)
}

// plain returns v; a map with keys of any type becomes a JSON object.
func (c Comparison) plain(v any) any {
	m, ok := v.(map[any]any)
	if !ok {
		return v
	}
	out := make(map[string]any, len(m))
	for k, e := range m {
		out[fmt.Sprint(k)] = e
	}
	return out
}

func numberText(v any) string {
	switch v.(type) {
	case int, int64, uint64, float64, int32, uint32, json.Number:
		return fmt.Sprint(v)
	}
	return ""
}

// sameNumber compares two numbers by value, as integers if both are, else as floating point.
func sameNumber(a, b string) bool {
	if x, err := strconv.ParseInt(a, 10, 64); err == nil {
		if y, err := strconv.ParseInt(b, 10, 64); err == nil {
			return x == y
		}
	}
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err1 == nil && err2 == nil && x == y
}

func differ(path string, want, got any) string {
	return fmt.Sprintf("at %s: want %s, saw %s", pathName(path), jsonText(want), jsonText(got))
}

func child(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func pathName(path string) string {
	if path == "" {
		return "the top"
	}
	return path
}

// jsonText returns v as compact JSON, truncated.
func jsonText(v any) string {
	p, err := call.Marshal(v)
	if err != nil {
		return phrase.Clip(fmt.Sprint(v))
	}
	const most = 80
	if len(p) > most {
		return strings.ToValidUTF8(string(p[:most]), "") + "…"
	}
	return string(p)
}
