package reports

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// conforms validates a JSON document against a schema of testdata/schemas.
func conforms(t *testing.T, schema string, doc []byte) {
	t.Helper()
	path := filepath.Join("testdata", "schemas", schema)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	valid(t, path, text, doc)
}

// valid validates a JSON document against a schema.
func valid(t *testing.T, name string, schema, doc []byte) {
	t.Helper()
	of, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(name, of); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		t.Fatalf("not JSON: %v", err)
	}
	if err := compiled.Validate(v); err != nil {
		t.Errorf("%v\n%s", err, doc)
	}
}
