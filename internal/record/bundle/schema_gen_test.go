package bundle

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"assay/internal/testkit/schemagen"
)

var update = flag.Bool("update", false, "rewrite the published schemas")

// published are the roots of the schemas.
var published = []schemagen.Schema{
	{Name: "bundle.manifest", Of: Manifest{}, Title: "manifest.json of an Assay bundle", Format: ManifestSchema},
	{Name: "bundle.run", Of: Run{}, Title: "run.json of an Assay bundle", Format: RunSchema},
	{Name: "bundle.event", Of: RunEvent{}, Title: "one line of events.jsonl of an Assay bundle", Format: EventSchema},
	{
		Name: "bundle.observation", Of: Observation{}, Title: "one line of observations.jsonl of an Assay bundle", Format: ObservationSchema,
		Values: map[reflect.Type]map[string]any{reflect.TypeFor[Wait](): {"type": "string"}},
	},
	{Name: "bundle.reproducer", Of: Reproducer{}, Title: "one line of reproducers.jsonl of an Assay bundle", Format: ReproducerSchema},
	{Name: "bundle.verdicts", Of: []Verdict{}, Title: "verdicts.json of an Assay bundle"},
	{Name: "bundle.report", Of: Report{}, Title: "result.json of an Assay bundle, and --format json of the commands that judge", Format: ReportSchema},
	{
		Name: "load", Of: LoadReport{}, Title: "load.json of an Assay bundle, and --format json of assay load", Format: LoadSchema,
		Values: map[reflect.Type]map[string]any{reflect.TypeFor[StreamOutcomes](): outcomesSchema()},
	},
	{Name: "history", Of: History{}, Title: "--format json of assay history", Format: HistorySchema},
	{Name: "lint", Of: LintReport{}, Title: "--format json of assay lint", Format: LintSchema},
	{Name: "matrix", Of: Matrix{}, Title: "--format json of assay report --matrix", Format: MatrixSchema},
	{
		Name: "soak", Of: SoakReport{}, Title: "soak.json of an Assay bundle, and --format json of assay soak", Format: SoakSchema,
		Values: map[reflect.Type]map[string]any{reflect.TypeFor[StreamOutcomes](): outcomesSchema()},
	},
	{Name: "certificate", Of: Certificate{}, Title: "certificate.json of a certificate of assay certify", Format: CertificateSchema},
	{Name: "product", Of: Product{}, Title: "PRODUCT.yaml of assay certify", Format: ProductSchema},
	{Name: "selftest", Of: SelftestReport{}, Title: "--format json of assay selftest", Format: SelftestSchema},
	{Name: "version", Of: Build{}, Title: "--format json of assay version", Format: BuildSchema},
	{Name: "bundle.verification", Of: Verification{}, Title: "--format json of assay verify", Format: VerificationSchema},
}

// outcomesSchema is the schema of StreamOutcomes, which has its own MarshalJSON.
func outcomesSchema() map[string]any {
	properties := map[string]any{}
	for _, name := range streamOutcomeNames() {
		properties[name] = map[string]any{"type": "integer", "minimum": 0}
	}
	names := streamOutcomeNames()
	return map[string]any{"type": "object", "properties": properties, "required": names[:], "additionalProperties": false}
}

// The published schemas match the types, so that neither changes without the other.
func TestThePublishedSchemasAreThoseOfTheTypes(t *testing.T) {
	src, err := schemagen.Read(".")
	must(t, err)
	if len(published) != len(SchemaNames()) {
		t.Errorf("%d schemas are published, %d are made", len(SchemaNames()), len(published))
	}
	for _, p := range published {
		text, err := src.Document(p)
		must(t, err)
		file := filepath.Join("schema", strings.TrimPrefix(p.Name, schemaPrefix)+".schema.json")
		if *update {
			must(t, os.WriteFile(file, text, 0o644))
			continue
		}
		is, err := Schema(p.Name)
		must(t, err)
		if string(is) != string(text) {
			t.Errorf("%s does not match its type: run go test ./internal/record/bundle -run Schemas -update", file)
		}
	}
}
