package scenarios

import (
	"cmp"
	"slices"

	"go.yaml.in/yaml/v4"

	"assay/internal/envd/call"
	"assay/internal/record/surface"
	"assay/internal/target"
	"assay/internal/target/transport"
)

// axisFeatures maps the values of the axes to the features that they need. Identity needs none.
var axisFeatures = map[string]string{
	call.Connect: "protocol.connect", call.GRPC: "protocol.grpc", call.GRPCWeb: "protocol.grpc-web",
	call.JSON: "codec.json", call.Proto: "codec.proto", call.Gzip: "compress.gzip",
	transport.HTTP1: "http.1", transport.H2C: "http.h2c", transport.H2TLS: "http.h2-tls",
}

// AxisFeature returns the feature that a value of an axis ("grpc", "h2c") needs, or "".
func AxisFeature(value string) string { return axisFeatures[value] }

// Needs lists the features without which the instance is unsupported, sorted: those that
// the script names, and those that its axes need. Protocol and codec count only if the
// script calls a procedure; an alias or a health check has neither.
func (i Instance) Needs() []string {
	ids := slices.Clone(i.Scenario.Needs)
	values := []string{i.Axes.HTTP, i.Axes.Compression}
	i.Scenario.EachStep(func(step *Step) {
		c, _ := step.Call()
		if c.RPC {
			values = append(values, i.Axes.Codec)
		}
		if c.RPC && !c.OwnProtocol {
			values = append(values, i.Axes.Protocol)
		}
	})
	for _, v := range values {
		if id := AxisFeature(v); id != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Features lists every feature on which the instance can depend, sorted: Needs, and what single
// steps use beyond the axes. Of the two kinds of HTTP/2, the URL decides which one a step means.
func (i Instance) Features() []string {
	ids := i.Needs()
	i.Scenario.EachStep(func(s *Step) {
		if s.Send != nil && s.Send.Protocol != "" {
			ids = append(ids, AxisFeature(s.Send.Protocol))
		}
		if s.Open != nil && s.Open.HTTP != "" {
			ids = append(ids, AxisFeature(transport.HTTP1), AxisFeature(transport.H2C), AxisFeature(transport.H2TLS))
		}
		if id := s.Feature(); id != "" {
			ids = append(ids, id)
		}
	})
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Feature returns the feature of a gateway without which the step makes no sense, "" for a step
// that any server can be sent.
func (s *Step) Feature() string {
	_, socket := s.Socket()
	_, called := s.Call()
	id := ""
	switch {
	case socket != nil:
		id = surface.Stdio
	case s.Scrape != nil:
		id = surface.Metrics
	case s.Send != nil && s.Send.Surface != surface.Process: // below the path of processes is any service
		id = s.Send.Surface
	case s.Send != nil:
	case s.Start != nil:
		id = cmp.Or(s.Start.Via, surface.Process)
	case called:
		id = surface.Process
	}
	return surface.Of(id).Feature
}

// checkFeature reports an unknown feature, at the node that names it.
func checkFeature(d *document, n *yaml.Node, id string) {
	if features := target.Features(); !slices.Contains(features, id) {
		d.checkf(CheckUnknownFeature, n, didYouMean(id, features), "there is no feature %q", id)
	}
}
