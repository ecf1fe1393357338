package schemagen

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Schema is what a published schema is made of.
type Schema struct {
	// Name is the last part of its $id, and Title says which file or output it is of.
	Name, Title string
	// Of is a value of the type.
	Of any
	// Format is what the member "schema" of the type holds; "" for none.
	Format string
	// Values are the schemas of types that write their JSON themselves.
	Values map[reflect.Type]map[string]any
}

// Source is what packages say of their types, by "package.Type" and "package.Type.Field".
type Source struct {
	docs  map[string]string
	enums map[string][]string // of types of string: their constants
}

// Read reads the packages in the directories.
func Read(dirs ...string) (*Source, error) {
	s := &Source{docs: map[string]string{}, enums: map[string][]string{}}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			s.readFile(f)
		}
	}
	return s, nil
}

func (s *Source) readFile(f *ast.File) {
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok {
			for _, spec := range g.Specs {
				s.readSpec(f.Name.Name, g, spec)
			}
		}
	}
}

func (s *Source) readSpec(pkg string, g *ast.GenDecl, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		name := pkg + "." + spec.Name.Name
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
				if text, err := strconv.Unquote(lit.Value); err == nil {
					s.enums[pkg+"."+kind.Name] = append(s.enums[pkg+"."+kind.Name], text)
				}
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

// Document is a whole schema document (draft 2020-12), indented.
func (s *Source) Document(p Schema) ([]byte, error) {
	m := &maker{Source: s, values: p.Values, defs: map[string]any{}}
	of := reflect.TypeOf(p.Of)
	root := m.of(of)
	doc := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:assay:schema:" + p.Name, "title": p.Title, "$defs": m.defs,
	}
	maps.Copy(doc, root)
	if p.Format != "" {
		if def, ok := m.defs[of.Name()].(map[string]any); ok {
			def["properties"].(map[string]any)["schema"] = map[string]any{"const": p.Format} //nolint:forcetypeassert // made by define
		}
	}
	if len(m.errs) > 0 {
		return nil, errors.Join(m.errs...)
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	return append(text, '\n'), err
}

// maker makes the schemas of types.
type maker struct {
	*Source

	values map[reflect.Type]map[string]any
	defs   map[string]any
	errs   []error
}

// key is what the source calls a type.
func key(t reflect.Type) string { return path.Base(t.PkgPath()) + "." + t.Name() }

func (m *maker) of(t reflect.Type) map[string]any {
	if v, ok := m.values[t]; ok {
		return maps.Clone(v)
	}
	switch t {
	case reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case reflect.TypeFor[[]byte]():
		return map[string]any{"type": "string", "contentEncoding": "base64"}
	}
	switch t.Kind() { //nolint:exhaustive // the others have no JSON, or none that is needed
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
		if values := m.enums[key(t)]; len(values) > 0 {
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
	}
	m.errs = append(m.errs, fmt.Errorf("no schema for %s", t))
	return nil
}

func (m *maker) define(t reflect.Type) {
	if m.defs[t.Name()] != nil {
		return
	}
	properties, required := map[string]any{}, []string{}
	def := map[string]any{"type": "object", "description": m.docs[key(t)], "properties": properties}
	m.defs[t.Name()] = def // before its fields, which may be of its own type
	for f := range t.Fields() {
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
		if doc := m.docs[key(t)+"."+f.Name]; doc != "" {
			value["description"] = doc
		}
		properties[name] = value
	}
	if len(required) > 0 {
		def["required"] = required
	}
}
