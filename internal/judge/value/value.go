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

// extent is how much of a value a comparison is about.
type extent int

const (
	exact    extent = iota
	part            // an object may have more keys, and an array more elements, in any order
	elements        // an object may have more keys
)

// Equal compares got with want. path is the location of both, "" at the top.
func (c Comparison) Equal(path string, want, got any) string {
	return c.compare(exact, path, want, got)
}

// Has describes what got lacks of want: an object must have the wanted keys, and an array must
// have, for each wanted element, one that has it.
func (c Comparison) Has(path string, want, got any) string { return c.compare(part, path, want, got) }

// List is like Has, but an array must have exactly the wanted elements, in their order.
func (c Comparison) List(path string, want, got any) string {
	return c.compare(elements, path, want, got)
}

func (c Comparison) compare(e extent, path string, want, got any) string {
	switch want := c.plain(want).(type) {
	case map[string]any:
		obj, ok := got.(map[string]any)
		if !ok {
			return differ(path, want, got)
		}
		return c.keys(e, path, want, obj)
	case []any:
		list, ok := got.([]any)
		switch {
		case !ok, e == exact && len(list) != len(want):
			return differ(path, want, got)
		case e == part:
			return c.contained(path, want, list)
		case len(list) != len(want):
			return fmt.Sprintf("at %s: want %d elements, saw %d: %s", pathName(path), len(want), len(list), jsonText(got))
		}
		for i := range want {
			if why := c.compare(e, fmt.Sprintf("%s[%d]", path, i), want[i], list[i]); why != "" {
				return why
			}
		}
		return ""
	default:
		return c.scalar(path, want, got)
	}
}

func (c Comparison) contained(path string, want, list []any) string {
	for _, w := range want {
		if !slices.ContainsFunc(list, func(g any) bool { return c.Has(path, w, g) == "" }) {
			return fmt.Sprintf("at %s: want an element %s, saw %s", pathName(path), jsonText(w), jsonText(list))
		}
	}
	return ""
}

func (c Comparison) keys(e extent, path string, want, got map[string]any) string {
	for _, k := range slices.Sorted(maps.Keys(want)) {
		g, ok := got[k]
		if !ok {
			return fmt.Sprintf("at %s: want %s, saw no such key", child(path, k), jsonText(want[k]))
		}
		if why := c.compare(e, child(path, k), want[k], g); why != "" {
			return why
		}
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		if _, known := want[k]; e == exact && !known {
			return fmt.Sprintf("at %s: unexpected, saw %s", child(path, k), jsonText(got[k]))
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
