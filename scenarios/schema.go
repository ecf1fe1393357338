package scenarios

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed schema/*.schema.json
var schemaFiles embed.FS

// SchemaNames lists the published schemas, sorted.
func SchemaNames() []string {
	return []string{"diff", "known", "plan", "profile", "rules", "scenario"}
}

// Schema returns the published JSON Schema (draft 2020-12) with the name.
func Schema(name string) ([]byte, error) {
	text, err := schemaFiles.ReadFile("schema/" + name + ".schema.json")
	if err != nil {
		hint := asSentence(didYouMean(name, SchemaNames()))
		return nil, fmt.Errorf("there is no schema %q; there are %s%s", name, strings.Join(SchemaNames(), ", "), hint)
	}
	return text, nil
}

// schema is a published schema in two forms: compiled, for checks, and as a document, for
// the titles and lists of fields in messages.
type schema struct {
	id       string
	document any
	compiled *jsonschema.Schema
}

// compiledSchemas are compiled once, at the first use.
var compiledSchemas = sync.OnceValues(func() (map[string]*schema, error) {
	all := map[string]*schema{}
	compiler := jsonschema.NewCompiler()
	for _, name := range SchemaNames() {
		text, err := Schema(name)
		if err != nil {
			return nil, err
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
		s := &schema{id: "urn:assay:schema:" + name, document: document}
		if err := compiler.AddResource(s.id, document); err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
		if s.compiled, err = compiler.Compile(s.id); err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
		all[name] = s
	}
	return all, nil
})

// part returns the part of the schema document at a schema URL, or nil.
func (s *schema) part(url string) map[string]any {
	_, pointer, _ := strings.Cut(url, "#")
	at := s.document
	for _, token := range strings.Split(pointer, "/") {
		if token == "" {
			continue
		}
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch v := at.(type) {
		case map[string]any:
			at = v[token]
		case []any:
			var i int
			if _, err := fmt.Sscanf(token, "%d", &i); err != nil || i < 0 || i >= len(v) {
				return nil
			}
			at = v[i]
		default:
			return nil
		}
	}
	object, _ := at.(map[string]any)
	return object
}

// fields lists the properties of the part, sorted.
func (s *schema) fields(url string) []string {
	properties, _ := s.part(url)["properties"].(map[string]any)
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// titleOr returns the title of the part ("a span of time"), or the fallback.
func (s *schema) titleOr(url, fallback string) string {
	if t, ok := s.part(url)["title"].(string); ok {
		return t
	}
	return fallback
}

// examples returns a hint with the examples of the part, or "".
func (s *schema) examples(url string) string {
	list, _ := s.part(url)["examples"].([]any)
	var words []string
	for _, e := range list {
		words = append(words, fmt.Sprint(e))
	}
	if len(words) == 0 {
		return ""
	}
	return "for example " + strings.Join(words, ", ")
}
