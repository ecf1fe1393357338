package load

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"assay/internal/schemagen"
)

// The published schema is that of the type, and a report without anything conforms.
func TestThePublishedSchemaIsThatOfTheReport(t *testing.T) {
	src, err := schemagen.Read(".", "../bundle")
	if err != nil {
		t.Fatal(err)
	}
	text, err := src.Document(schemagen.Schema{
		Name: SchemaName, Of: Report{}, Title: "load.json of an Assay bundle, and --format json of assay load", Format: Schema,
		Values: map[reflect.Type]map[string]any{reflect.TypeFor[Outcomes](): outcomesSchema()},
	})
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("schema/load.schema.json", text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(text, ReportSchema()) {
		t.Error("schema/load.schema.json is not that of the type: run go test ./internal/load -run Schema -update")
	}
	report, err := json.Marshal(Report{
		Schema: Schema, Verdict: Pass, Thresholds: []ThresholdResult{}, Examples: []Example{}, Metrics: MetricsInfo{Violations: []string{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := conforms(t, report); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{`"assay.load/v1"`, `"pass"`, `"stall"`, `"killed"`} {
		if conforms(t, bytes.Replace(report, []byte(wrong), []byte(`"x"`), 1)) == nil {
			t.Errorf("a report without %s conforms", wrong)
		}
	}
}

// outcomesSchema is that of Outcomes, which writes its own JSON.
func outcomesSchema() map[string]any {
	properties := map[string]any{}
	for _, name := range outcomeNames() {
		properties[name] = map[string]any{"type": "integer", "minimum": 0}
	}
	names := outcomeNames()
	return map[string]any{"type": "object", "properties": properties, "required": names[:], "additionalProperties": false}
}

func conforms(t *testing.T, text []byte) error {
	t.Helper()
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(ReportSchema()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("load", schema); err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return compiler.MustCompile("load").Validate(value)
}
