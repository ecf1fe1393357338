package engine

import (
	"cmp"
	"slices"
	"strings"

	"assay/internal/engine/render"
	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/target/transport"
	"assay/scenarios"
)

// plainAxes are the axes that every target is expected to have, and the defaults of
// axes that a script does not pin.
var plainAxes = bundle.Axes{Protocol: call.Connect, Codec: call.JSON, HTTP: transport.HTTP1, Compression: call.Identity}

// axesOf returns the axes on which an instance runs. An axis at its default that the
// script does not pin takes its value from by, else from the way that reaches the
// target. HTTP/2 runs over TLS if the target does.
func axesOf(i scenarios.Instance, by bundle.Axes, t *target.Target) bundle.Axes {
	a, way := i.Axes, t.Way()
	pinned := pins(i.Scenario)
	for _, axis := range []struct {
		value            *string
		pinned, standard string
		by, instead      string
	}{
		{&a.Protocol, pinned.Protocol, plainAxes.Protocol, by.Protocol, way.Protocol},
		{&a.Codec, pinned.Codec, plainAxes.Codec, by.Codec, way.Codec},
		{&a.HTTP, pinned.HTTP, plainAxes.HTTP, by.HTTP, way.HTTP},
		{&a.Compression, pinned.Compression, plainAxes.Compression, by.Compression, way.Compression},
	} {
		if axis.pinned == "" && *axis.value == axis.standard {
			*axis.value = cmp.Or(axis.by, axis.instead)
		}
	}
	if a.HTTP == transport.H2C {
		a.HTTP = t.Transport("h2").HTTP
	}
	return a
}

// pins returns the axes that a script fixes: those that it lists, and those on which
// its steps depend. A rule about the Connect protocol cannot be tested over another
// protocol; literal bytes are JSON, and on a raw connection they are HTTP/1.1.
func pins(s *scenarios.Scenario) bundle.Axes {
	first := func(values []string) string {
		if len(values) == 0 {
			return ""
		}
		return values[0]
	}
	a := bundle.Axes{
		Protocol: first(s.Axes.Protocol), Codec: first(s.Axes.Codec),
		HTTP: first(s.Axes.HTTP), Compression: first(s.Axes.Compression),
	}
	if a.Protocol == "" && slices.ContainsFunc(s.Rules, func(rule string) bool { return strings.HasPrefix(rule, "connect.") }) {
		a.Protocol = call.Connect
	}
	s.EachStep(func(st *scenarios.Step) {
		switch {
		case st.Open != nil && st.Open.HTTP == "" && a.HTTP == "":
			a.HTTP = transport.HTTP1
		case st.Send != nil && a.HTTP == "" && speaksHTTP1(st.Send):
			a.HTTP = transport.HTTP1
		case st.Send != nil && a.Codec == "" && st.Send.RPC != "" && literal(st.Send.Body):
			a.Codec = call.JSON
		}
	})
	return a
}

// speaksHTTP1 reports whether a send depends on parts of HTTP/1.1 that HTTP/2 lacks.
func speaksHTTP1(s *scenarios.Send) bool {
	if s.Framing == render.FramingNone {
		return true
	}
	for name := range s.Headers {
		if slices.Contains([]string{"connection", "transfer-encoding"}, strings.ToLower(name)) {
			return true
		}
	}
	return false
}

// literal reports whether a payload is given as literal bytes instead of messages.
func literal(segments []scenarios.Segment) bool {
	return slices.ContainsFunc(segments, func(s scenarios.Segment) bool {
		switch {
		case s.Chunk != nil:
			return literal(s.Chunk.Of)
		case s.Envelope != nil:
			return s.Envelope.Message == nil && (s.Envelope.JSON != nil || s.Envelope.Text != "" || s.Envelope.Hex != "")
		}
		return !s.IsZero()
	})
}

// needed returns the features that an instance needs: those that it names, and those
// that single steps require beyond the axes.
func needed(i scenarios.Instance, h2 string) []string {
	ids := i.Needs()
	i.Scenario.EachStep(func(st *scenarios.Step) {
		switch {
		case st.Send != nil && st.Send.Protocol != "":
			ids = append(ids, scenarios.AxisFeature(st.Send.Protocol))
		case st.Open != nil && st.Open.HTTP == "h2":
			ids = append(ids, scenarios.AxisFeature(h2))
		case st.Open != nil && st.Open.HTTP != "":
			ids = append(ids, scenarios.AxisFeature(st.Open.HTTP))
		}
	})
	slices.Sort(ids)
	return slices.Compact(ids)
}

// missing returns the features that an instance needs and the target lacks, sorted. A
// feature whose probe got no response is not missing: the first instances try it, see breaker. Nor is an
// unprobed feature that every target is expected to have.
func missing(i scenarios.Instance, features map[string]bundle.Feature, h2 string) []string {
	granted := []string{scenarios.AxisFeature(plainAxes.Protocol), scenarios.AxisFeature(plainAxes.Codec), scenarios.AxisFeature(plainAxes.HTTP)}
	ids := slices.DeleteFunc(needed(i, h2), func(id string) bool {
		switch features[id].State {
		case bundle.FeaturePresent, bundle.FeatureUnknown:
			return true
		case bundle.FeatureAbsent:
			return false
		}
		return slices.Contains(granted, id)
	})
	if len(ids) == 0 && i.Axes.Protocol == call.GRPC && i.Axes.HTTP == transport.HTTP1 {
		return []string{scenarios.AxisFeature(call.GRPC) + " over HTTP/1.1, which does not exist"}
	}
	return ids
}
