package judge

import (
	"maps"
	"slices"
	"strings"

	"assay/internal/bundle"
	"assay/internal/envd/call"
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
	for i := range s.Expect {
		if c := &s.Expect[i]; slices.Contains(provedBy(s, c), v.Rule) {
			add(names, c.Subjects[x.Name].Fields())
		}
	}
	v.Evidence.Fields = slices.Sorted(maps.Keys(names))
	if v.Symptom != "" && !names["content-type"] && refusesCodec(x) {
		v.Symptom = bundle.SymptomCodec
	}
}

// refusesCodec reports whether the content type of a Connect call was refused. Only that of an uncompressed request is:
// the status is also that of an unknown encoding.
func refusesCodec(x *bundle.Exchange) bool {
	request := &bundle.Response{Headers: x.Request.Headers}
	return isRPC(x) && protocol(x) == call.Connect && status(x) == 415 && requestType(x) != "" &&
		len(request.Get("Content-Encoding")) == 0 && len(request.Get("Connect-Content-Encoding")) == 0
}

func add(names map[string]bool, more []string) {
	for _, name := range more {
		names[strings.ToLower(name)] = true
	}
}
