package judge

import (
	"reflect"
	"slices"
	"testing"

	"assay/scenarios"
)

func TestEveryFieldOfAMatchIsJudgedOnce(t *testing.T) {
	var judged, known []string
	for _, f := range fields() {
		judged = append(judged, f.name)
	}
	for f := range reflect.TypeFor[scenarios.Match]().Fields() {
		known = append(known, f.Tag.Get("yaml"))
	}
	slices.Sort(judged)
	slices.Sort(known)
	if !slices.Equal(judged, known) {
		t.Errorf("judged are\n%q, the fields are\n%q", judged, known)
	}
}
