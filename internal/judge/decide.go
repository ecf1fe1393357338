package judge

import (
	"maps"
	"slices"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// decide adds to the evidence of a verdict the names of the header fields that decide. A call in a codec that the
// target does not know has the symptom of that, whatever was expected of it.
func decide(v *bundle.Verdict, s *scenarios.Scenario, o *bundle.Observation) {
	if v.Evidence == nil {
		return
	}
	x := exchangeAt(o, *v.Evidence)
	if x == nil {
		return
	}
	names := map[string]bool{}
	s.EachStep(func(st *scenarios.Step) {
		if st.At == x.Step {
			add(names, st.Fields())
		}
	})
	for c := range bundle.Each(s.Expect) {
		if slices.Contains(provedBy(s, c), v.Rule) {
			add(names, c.Subjects[x.Name].Fields())
		}
	}
	v.Evidence.Fields = slices.Sorted(maps.Keys(names))
	if v.Symptom != "" && !names["content-type"] && refusesCodec(s, x) {
		v.Symptom = bundle.SymptomCodec
	}
}

// refusesCodec reports whether the content type of a Connect call was refused. HTTP 415 also answers an unknown encoding,
// so a compressed request counts only if the scenario needs a target that knows its encoding.
func refusesCodec(s *scenarios.Scenario, x *bundle.Exchange) bool {
	request := &bundle.Response{Headers: x.Request.Headers}
	encodings := append(request.Get("Content-Encoding"), request.Get("Connect-Content-Encoding")...)
	unknown := slices.ContainsFunc(encodings, func(e string) bool { return !slices.Contains(s.Needs, "compress."+e) })
	return isRPC(x) && protocol(x) == call.Connect && status(x) == 415 && requestType(x) != "" && !unknown
}

func add(names map[string]bool, more []string) {
	for _, name := range more {
		names[strings.ToLower(name)] = true
	}
}
