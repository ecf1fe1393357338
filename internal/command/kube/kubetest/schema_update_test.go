package kubetest

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the schema from the published one; needs the Go module proxy")

// published is the module with the schemas, and apis are its files with the kinds that we need.
const published = "k8s.io/kubernetes@v1.34.0"

var apis = map[string][]string{
	"api__v1_openapi.json":         {"io.k8s.api.core.v1.Secret", "io.k8s.api.core.v1.ConfigMap", "io.k8s.api.core.v1.Service"},
	"apis__apps__v1_openapi.json":  {"io.k8s.api.apps.v1.Deployment"},
	"apis__batch__v1_openapi.json": {"io.k8s.api.batch.v1.Job"},
}

// TestUpdate writes schema/kubernetes.json: of the published OpenAPI documents the definitions that
// the kinds can reach, without their prose, and with "additionalProperties": false in every
// object with named fields, as the API server is when it validates strictly.
func TestUpdate(t *testing.T) {
	t.Parallel()
	if !*update {
		t.Skip("only with -update")
	}
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", published).Output()
	if err != nil {
		t.Fatal(err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	defs := map[string]any{}
	var roots []any
	for _, file := range slices.Sorted(maps.Keys(apis)) {
		var doc struct {
			Components struct{ Schemas map[string]map[string]any }
		}
		read(t, filepath.Join(module.Dir, "api/openapi-spec/v3", file), &doc)
		for _, kind := range apis[file] {
			reach(doc.Components.Schemas, kind, defs)
			def := defs[kind].(map[string]any)
			identify(def)
			roots = append(roots, map[string]any{"$ref": "#/$defs/" + kind})
		}
	}
	text, err := json.MarshalIndent(map[string]any{
		"$schema":  "https://json-schema.org/draft/2020-12/schema",
		"$comment": "From api/openapi-spec/v3 of " + published + ", Apache-2.0 (LICENSE): the reachable definitions without their prose, made strict. Written by go test ./internal/command/kube/kubetest -run Update -update; do not edit.",
		"oneOf":    roots, "$defs": defs,
	}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	write(t, "schema/kubernetes.json", append(text, '\n'))
	licence, err := os.ReadFile(filepath.Join(module.Dir, "LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, "schema/LICENSE", licence)
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// reach copies a definition, and those that it refers to, into defs.
func reach(all map[string]map[string]any, name string, defs map[string]any) {
	if defs[name] != nil {
		return
	}
	defs[name] = map[string]any{} // a definition can refer to itself
	defs[name] = trim(all, all[name], defs)
}

// prose are the keywords that validate nothing.
var prose = []string{"description", "default"}

func trim(all map[string]map[string]any, schema map[string]any, defs map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range schema {
		if slices.Contains(prose, key) || strings.HasPrefix(key, "x-kubernetes-") && key != groupVersionKind {
			continue
		}
		out[key] = trimValue(all, key, value, defs)
	}
	if out["properties"] != nil {
		out["additionalProperties"] = false
	}
	return out
}

func trimValue(all map[string]map[string]any, key string, value any, defs map[string]any) any {
	switch v := value.(type) {
	case string:
		if name, ok := strings.CutPrefix(v, "#/components/schemas/"); ok && key == "$ref" {
			reach(all, name, defs)
			return "#/$defs/" + name
		}
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = trimValue(all, "", one, defs)
		}
		return out
	case map[string]any:
		if key != "properties" {
			return trim(all, v, defs)
		}
		out := map[string]any{}
		for name, one := range v { // a field can be called description
			out[name] = trim(all, one.(map[string]any), defs)
		}
		return out
	}
	return value
}

const groupVersionKind = "x-kubernetes-group-version-kind"

// identify requires the version and the kind of an object, which OpenAPI has in an extension, and
// its metadata.
func identify(def map[string]any) {
	gvk := def[groupVersionKind].([]any)[0].(map[string]any)
	delete(def, groupVersionKind)
	version := gvk["version"]
	if group := gvk["group"]; group != "" {
		version = group.(string) + "/" + version.(string)
	}
	fields := def["properties"].(map[string]any)
	fields["apiVersion"], fields["kind"] = map[string]any{"const": version}, map[string]any{"const": gvk["kind"]}
	required := []any{"apiVersion", "kind", "metadata"}
	if fields["spec"] != nil {
		required = append(required, "spec")
	}
	def["required"] = required
}
