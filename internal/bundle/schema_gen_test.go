package bundle

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the published schemas anew")

// published are the roots of the schemas.
var published = map[string]struct {
	of     any
	title  string
	schema string // of the member "schema"
}{
	"bundle.manifest":     {Manifest{}, "manifest.json of an Assay bundle", ManifestSchema},
	"bundle.run":          {Run{}, "run.json of an Assay bundle", RunSchema},
	"bundle.event":        {RunEvent{}, "one line of events.jsonl of an Assay bundle", EventSchema},
	"bundle.observation":  {Observation{}, "one line of observations.jsonl of an Assay bundle", ObservationSchema},
	"bundle.reproducer":   {Reproducer{}, "one line of reproducers.jsonl of an Assay bundle", ReproducerSchema},
	"bundle.verdicts":     {[]Verdict{}, "verdicts.json of an Assay bundle", ""},
	"bundle.report":       {Report{}, "result.json of an Assay bundle, and --format json of the commands that judge", ReportSchema},
	"bundle.verification": {Verification{}, "--format json of assay verify", VerificationSchema},
}

// The published schemas are those of the types, so that neither changes without the other.
func TestThePublishedSchemasAreThoseOfTheTypes(t *testing.T) {
	src := readSource(t)
	for _, name := range SchemaNames() {
		text := src.schema(t, name)
		file := filepath.Join("schema", strings.TrimPrefix(name, schemaPrefix)+".schema.json")
		if *update {
			must(t, os.WriteFile(file, text, 0o644))
			continue
		}
		is, err := Schema(name)
		must(t, err)
		if string(is) != string(text) {
			t.Errorf("%s is not that of the type: run go test ./internal/bundle -run Schemas -update", file)
		}
	}
}

// source is what the package's text says of its types.
type source struct {
	docs  map[string]string   // of Type and Type.Field
	enums map[string][]string // of types of string
}

func readSource(t *testing.T) *source {
	t.Helper()
	s := &source{docs: map[string]string{}, enums: map[string][]string{}}
	files, err := filepath.Glob("*.go")
	must(t, err)
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		must(t, err)
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && !strings.HasSuffix(file, "_test.go") {
				for _, spec := range g.Specs {
					s.read(g, spec)
				}
			}
		}
	}
	return s
}

func (s *source) read(g *ast.GenDecl, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		name := spec.Name.Name
		s.docs[name] = said(g.Doc, spec.Doc)
		if st, ok := spec.Type.(*ast.StructType); ok {
			for _, f := range st.Fields.List {
				for _, n := range f.Names {
					s.docs[name+"."+n.Name] = said(f.Doc, f.Comment)
				}
			}
		}
	case *ast.ValueSpec:
		kind, ok := spec.Type.(*ast.Ident)
		if !ok || g.Tok != token.CONST {
			return
		}
		for _, v := range spec.Values {
			if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, _ := strconv.Unquote(lit.Value)
				s.enums[kind.Name] = append(s.enums[kind.Name], text)
			}
		}
	}
}

func said(groups ...*ast.CommentGroup) string {
	var words []string
	for _, g := range groups {
		words = append(words, strings.Fields(g.Text())...)
	}
	return strings.Join(words, " ")
}

// schema is a whole schema document.
func (s *source) schema(t *testing.T, name string) []byte {
	t.Helper()
	p := published[name]
	m := &maker{source: s, defs: map[string]any{}, t: t}
	root := m.of(reflect.TypeOf(p.of))
	doc := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:assay:schema:" + name, "title": p.title, "$defs": m.defs,
	}
	for k, v := range root {
		doc[k] = v
	}
	if p.schema != "" {
		def := m.defs[reflect.TypeOf(p.of).Name()].(map[string]any)
		def["properties"].(map[string]any)["schema"] = map[string]any{"const": p.schema}
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	must(t, err)
	return append(text, '\n')
}

// maker makes the schemas of types.
type maker struct {
	*source
	defs map[string]any
	t    *testing.T
}

func (m *maker) of(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case reflect.TypeFor[[]byte]():
		return map[string]any{"type": "string", "contentEncoding": "base64"}
	}
	switch t.Kind() {
	case reflect.Struct:
		m.define(t)
		return map[string]any{"$ref": "#/$defs/" + t.Name()}
	case reflect.Pointer:
		return m.of(t.Elem())
	case reflect.Slice:
		return map[string]any{"type": "array", "items": m.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": m.of(t.Elem())}
	case reflect.String:
		if values := m.enums[t.Name()]; len(values) > 0 {
			return map[string]any{"type": "string", "enum": values}
		}
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}
	default:
		m.t.Fatalf("no schema for %s", t)
		return nil
	}
}

func (m *maker) define(t reflect.Type) {
	if m.defs[t.Name()] != nil {
		return
	}
	properties, required := map[string]any{}, []string{}
	def := map[string]any{"type": "object", "description": m.docs[t.Name()], "properties": properties}
	m.defs[t.Name()] = def // before its fields, which may be of its own type
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		value := m.of(f.Type)
		if options == "" {
			required = append(required, name)
			if k := f.Type.Kind(); k == reflect.Slice || k == reflect.Map || k == reflect.Pointer {
				value = map[string]any{"oneOf": []any{value, map[string]any{"type": "null"}}}
			}
		}
		if doc := m.docs[t.Name()+"."+f.Name]; doc != "" {
			value["description"] = doc
		}
		properties[name] = value
	}
	if len(required) > 0 {
		def["required"] = required
	}
}
