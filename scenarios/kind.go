package scenarios

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"assay/internal/record/bundle"
)

// ConfigName is the name of the file with flags that every command reads.
const ConfigName = "assay.yaml"

// The fields that tell the kinds of mappings apart.
var (
	planFields    = []string{"classes", "stages", "streams", "rate", "arrivals"}
	profileFields = []string{"require", "deviations", "levels", "metrics", "paths"}
	scriptFields  = []string{"send", "steps", "expect", "rules", "needs", "sweep", "axes"}
)

// kindOf returns what a file is, by its contents and, where they leave it open, by its name.
func kindOf(file string, root *yaml.Node) bundle.LintKind {
	base, folder := path.Base(filepath.ToSlash(file)), path.Base(path.Dir(filepath.ToSlash(file)))
	switch {
	case root == nil:
		return bundle.LintUnknown
	case base == ConfigName:
		return bundle.LintConfig
	case root.Kind == yaml.SequenceNode:
		return kindOfList(base, root)
	case root.Kind != yaml.MappingNode:
		return bundle.LintUnknown
	}
	keys := keysOf(root)
	named := slices.Contains(keys, "id")
	switch {
	case folder == profilesFolder && named:
		return bundle.LintProfile
	case named && hasAny(keys, scriptFields), hasAny(keys, []string{"send", "steps"}) && hasAny(keys, []string{"expect", "rules"}):
		return bundle.LintScript
	case slices.Contains(keys, "classes"):
		return bundle.LintPlan
	case named && hasAny(keys, profileFields):
		return bundle.LintProfile
	case named && slices.Contains(keys, "title"):
		return bundle.LintScript
	}
	return bundle.LintUnknown
}

func hasAny(keys, fields []string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return slices.Contains(fields, k) })
}

// kindOfList distinguishes a list of known failures from a list of rules. An empty one excuses
// nothing, as the first list of a conformant target.
func kindOfList(base string, root *yaml.Node) bundle.LintKind {
	var keys []string
	for _, entry := range root.Content {
		keys = append(keys, keysOf(entry)...)
	}
	has := func(key string) bool { return slices.Contains(keys, key) }
	switch {
	case has("pattern"), has("expires"):
		return bundle.LintKnown
	case base == "rules.yaml", has("id") && (has("level") || has("text") || has("source")):
		return bundle.LintRules
	case len(root.Content) == 0:
		return bundle.LintKnown
	}
	return bundle.LintUnknown
}

// keysOf lists the keys of a mapping.
func keysOf(n *yaml.Node) []string {
	var keys []string
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			keys = append(keys, strings.TrimSpace(n.Content[i].Value))
		}
	}
	return keys
}
