package reports

import (
	"slices"
	"strings"

	"assay/internal/record/bundle"
)

// axesText abbreviates several permutations: "connect/{json,proto}/1.1/identity" if
// they are all combinations of some values, otherwise a list.
func axesText(all []bundle.Axes) string {
	if len(all) == 0 {
		return ""
	}
	var values [4][]string
	distinct := map[bundle.Axes]bool{}
	for _, a := range all {
		distinct[a] = true
		for i, v := range []string{a.Protocol, a.Codec, a.HTTP, a.Compression} {
			if !slices.Contains(values[i], v) {
				values[i] = append(values[i], v)
			}
		}
	}
	combinations := 1
	for _, v := range values {
		combinations *= len(v)
	}
	if combinations != len(distinct) {
		names := make([]string, len(all))
		for i, a := range all {
			names[i] = a.String()
		}
		return clean(strings.Join(names, ", "))
	}
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = strings.Join(v, ",")
		if len(v) > 1 {
			parts[i] = "{" + parts[i] + "}"
		}
	}
	return clean(strings.Join(parts, "/"))
}
