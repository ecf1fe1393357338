package scenarios

import (
	"slices"

	"go.yaml.in/yaml/v4"
)

// features are the optional things that a script can need and a profile require, sorted.
var features = []string{
	"codec.json", "codec.proto", "compress.gzip", "health", "http.1", "metrics.prometheus", "ndjson.commands",
	"process.close-stdin", "process.connect", "process.input", "process.keepalive", "process.list", "process.pty",
	"process.signal", "process.start", "process.stream-input", "process.tag", "process.update", "process.user",
	"protocol.connect",
}

// Features lists every feature that a script can need, sorted.
func Features() []string { return slices.Clone(features) }

// checkFeature reports a feature that is not known, at the node that names it.
func checkFeature(d *document, n *yaml.Node, id string) {
	if !slices.Contains(features, id) {
		d.errorf(n, didYouMean(id, features), "there is no feature %q", id)
	}
}
