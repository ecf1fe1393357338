package scenarios

import (
	"slices"

	"go.yaml.in/yaml/v4"
)

// features are the optional things that a script can need and a profile require, sorted.
var features = []string{
	"auth.token", "codec.json", "codec.proto", "compress.gzip", "control-plane", "filesystem", "health",
	"http.1", "http.h2-tls", "http.h2c", "metrics.process", "metrics.prometheus", "ndjson.commands",
	"process.close-stdin", "process.connect", "process.input", "process.keepalive", "process.list", "process.pty",
	"process.signal", "process.start", "process.stream-input", "process.tag", "process.update", "process.user",
	"protocol.connect", "protocol.grpc", "protocol.grpc-web", "rpc.get", "rpc.probe", "stdio.ws",
}

// Features lists every feature that a script can need, sorted.
func Features() []string { return slices.Clone(features) }

// axisFeatures is the feature that a value of an axis asks for.
var axisFeatures = map[string]string{
	"connect": "protocol.connect", "grpc": "protocol.grpc", "grpc-web": "protocol.grpc-web",
	"json": "codec.json", "proto": "codec.proto", "gzip": "compress.gzip",
	"1.1": "http.1", "h2c": "http.h2c", "h2-tls": "http.h2-tls",
}

// Needs lists the features without which the instance is unsupported, sorted: those that
// the script names, and those that its axes ask for. Protocol and codec count
// only where the script calls a procedure; an alias or a health check has neither.
func (i Instance) Needs() []string {
	ids := slices.Clone(i.Scenario.Needs)
	values := []string{i.Axes.HTTP, i.Axes.Compression}
	calls, follows := i.Scenario.callsRPC()
	if calls {
		values = append(values, i.Axes.Codec)
	}
	if follows {
		values = append(values, i.Axes.Protocol)
	}
	for _, v := range values {
		if id := axisFeatures[v]; id != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// callsRPC reports whether a step calls a procedure, and whether one does so in
// the protocol of the axes.
func (s *Scenario) callsRPC() (calls, follows bool) {
	s.walk(func(step *Step, _ string) {
		rpc := func(via string) bool { return via == "" || via == "process" }
		own := false
		switch {
		case step.Send != nil:
			calls = calls || step.Send.RPC != ""
			own = step.Send.RPC != "" && step.Send.Protocol == ""
		case step.Start != nil:
			own = rpc(step.Start.Via)
		case step.Connect != nil:
			own = rpc(step.Connect.Via)
		case step.Signal != nil:
			own = rpc(step.Signal.Via)
		case step.List != nil:
			own = rpc(step.List.Via)
		case step.Input != nil, step.CloseStdin != nil, step.Update != nil:
			own = true
		}
		calls, follows = calls || own, follows || own
	})
	return calls, follows
}

// checkFeature reports a feature that is not known, at the node that names it.
func checkFeature(d *document, n *yaml.Node, id string) {
	if !slices.Contains(features, id) {
		d.errorf(n, didYouMean(id, features), "there is no feature %q", id)
	}
}
