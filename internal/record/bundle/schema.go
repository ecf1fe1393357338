package bundle

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

//go:embed schema/*.schema.json
var schemaFiles embed.FS

// schemaPrefix is the prefix of these names among all published schemas.
const schemaPrefix = "bundle."

// SchemaNames lists the published schemas of a bundle's files, sorted. They are generated
// from the types of this package, whose comments are the descriptions.
func SchemaNames() []string {
	return []string{
		"bundle.event", "bundle.manifest", "bundle.observation", "bundle.report", "bundle.reproducer", "bundle.run",
		"bundle.verdicts", "bundle.verification", "certificate", "history", "lint", "load", "matrix", "product", "selftest", "soak", "version",
	}
}

// Schema returns the published JSON Schema (draft 2020-12) of that name.
func Schema(name string) ([]byte, error) {
	if !slices.Contains(SchemaNames(), name) {
		return nil, fmt.Errorf("no schema %q; the schemas are %s", name, strings.Join(SchemaNames(), ", "))
	}
	return schemaFiles.ReadFile("schema/" + strings.TrimPrefix(name, schemaPrefix) + ".schema.json")
}

// compiledSchemas are compiled once, at the first use.
var compiledSchemas = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	all := map[string]*jsonschema.Schema{}
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
		id := "urn:assay:schema:" + name
		if err := compiler.AddResource(id, document); err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
		if all[name], err = compiler.Compile(id); err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
	}
	return all, nil
})

// Conforms validates a JSON document that may come from anybody against a published schema.
func Conforms(name string, text []byte) error { return conforms(name, text, maxValues) }

// conforms validates one JSON value, of at most limit values in all, against a published
// schema. The error has a JSON pointer and the reason.
func conforms(name string, text []byte, limit int) error {
	all, err := compiledSchemas()
	if err != nil {
		return err
	}
	if n := values(text); n > limit {
		return fmt.Errorf("has up to %d JSON values; the limit is %d", n, limit)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	err = all[name].Validate(value)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	for len(invalid.Causes) > 0 {
		invalid = invalid.Causes[0]
	}
	return fmt.Errorf("at /%s: %s", strings.Join(invalid.InstanceLocation, "/"), clip(invalid.ErrorKind.LocalizedString(message.NewPrinter(language.English))))
}
