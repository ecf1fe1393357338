package load

import _ "embed"

//go:embed schema/load.schema.json
var reportSchema []byte

// SchemaName is the name of the report's schema among all that are published.
const SchemaName = "load"

// ReportSchema is the JSON Schema (draft 2020-12) of load.json and of --format json.
// It is made from Report, whose comments are its descriptions.
func ReportSchema() []byte { return reportSchema }
