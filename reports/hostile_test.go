package reports

import (
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"assay/internal/bundle"
)

// infect appends hostile text to every string below v, and puts one wherever there is none. It
// leaves strings that name one of a few values alone unless all is set.
func infect(v reflect.Value, all bool, depth int) {
	if depth > 12 || !v.CanSet() || v.Type() == reflect.TypeFor[time.Time]() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		if all || v.Type() == reflect.TypeFor[string]() && !strings.HasPrefix(v.String(), "assay.") {
			v.SetString(v.String() + hostileText)
		}
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		infect(v.Elem(), all, depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			infect(v.Field(i), all, depth+1)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(append(v.Bytes(), hostileText...))
			return
		}
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		}
		for i := range v.Len() {
			infect(v.Index(i), all, depth+1)
		}
	case reflect.Map:
		infected := reflect.MakeMap(v.Type())
		for _, k := range append(v.MapKeys(), reflect.New(v.Type().Key()).Elem()) {
			key, value := reflect.New(k.Type()).Elem(), reflect.New(v.Type().Elem()).Elem()
			key.Set(k)
			if old := v.MapIndex(k); old.IsValid() {
				value.Set(old)
			}
			infect(key, all, depth+1)
			infect(value, all, depth+1)
			infected.SetMapIndex(key, value)
		}
		v.Set(infected)
	default:
	}
}

// ours are the colours that drawings have.
var ours = regexp.MustCompile("\x1b\\[(0|1|2|1;31|32|33|1;35|36)m")

// Whatever string of a record is hostile, its drawings consist of text and of our colours, and
// without colours of text alone.
func TestNoRecordMakesATerminalObey(t *testing.T) {
	t.Parallel()
	draws := map[string]func(all bool) func(io.Writer, Style) error{
		"a run": func(all bool) func(io.Writer, Style) error {
			r := caused()
			infect(reflect.ValueOf(r).Elem(), all, 0)
			return func(w io.Writer, s Style) error { return Conform().Render(w, FormatTerminal, r, s) }
		},
		"a run without causes": func(all bool) func(io.Writer, Style) error {
			r := failing()
			infect(reflect.ValueOf(r).Elem(), all, 0)
			return func(w io.Writer, s Style) error { return Conform().Render(w, FormatTerminal, r, s) }
		},
		"a page of a run": func(all bool) func(io.Writer, Style) error {
			r := failing()
			infect(reflect.ValueOf(r).Elem(), all, 0)
			return func(w io.Writer, _ Style) error { return Conform().Render(w, FormatMarkdown, r, Style{}) }
		},
		"a load run": func(all bool) func(io.Writer, Style) error {
			r := loaded()
			infect(reflect.ValueOf(r).Elem(), all, 0)
			return func(w io.Writer, s Style) error { return Load().Render(w, FormatTerminal, r, s) }
		},
		"a page of a load run": func(all bool) func(io.Writer, Style) error {
			r := loaded()
			infect(reflect.ValueOf(r).Elem(), all, 0)
			return func(w io.Writer, s Style) error { return Load().Render(w, FormatMarkdown, r, s) }
		},
		"a comparison": func(all bool) func(io.Writer, Style) error {
			d := changed()
			infect(reflect.ValueOf(d).Elem(), all, 0)
			return func(w io.Writer, s Style) error { return Diff().Render(w, FormatTerminal, d, s) }
		},
		"a page of a comparison": func(all bool) func(io.Writer, Style) error {
			d := changed()
			infect(reflect.ValueOf(d).Elem(), all, 0)
			return func(w io.Writer, _ Style) error { return Diff().Render(w, FormatMarkdown, d, Style{}) }
		},
		"an observation": func(all bool) func(io.Writer, Style) error {
			o, v := brokenStream(), brokenVerdicts()
			infect(reflect.ValueOf(o).Elem(), all, 0)
			infect(reflect.ValueOf(&v).Elem(), all, 0)
			return func(w io.Writer, s Style) error { return Transcript(w, o, v, s) }
		},
		"a verification": func(all bool) func(io.Writer, Style) error {
			v := &bundle.Verification{}
			infect(reflect.ValueOf(v).Elem(), all, 0)
			return func(w io.Writer, s Style) error { return Verification(w, v, s) }
		},
		"a diagnosis": func(all bool) func(io.Writer, Style) error {
			r := &bundle.DoctorReport{}
			infect(reflect.ValueOf(r).Elem(), all, 0)
			return func(w io.Writer, s Style) error { return Doctor(w, r, s) }
		},
	}
	for name, draw := range draws {
		for _, all := range []bool{false, true} {
			for _, s := range []Style{{}, {Color: true}, {Color: true, Verbose: true, Width: 120}} {
				t.Run(fmt.Sprintf("%s, %v, %+v", name, all, s), func(t *testing.T) {
					var b strings.Builder
					if err := draw(all)(&b, s); err != nil {
						t.Fatal(err)
					}
					text := b.String()
					if s.Color {
						text = ours.ReplaceAllString(text, "")
					}
					if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
						t.Errorf("a terminal would obey %q", text[i:min(len(text), i+40)])
					}
					if !strings.Contains(text, "x1b") {
						t.Error("nothing hostile was drawn")
					}
				})
			}
		}
	}
}
