package outcome

import (
	"slices"
	"testing"

	"assay/internal/record/bundle"
)

func TestARunOnABusyMachineSaysSo(t *testing.T) {
	for want, m := range map[string]*bundle.Machine{
		"": {Ready: 2.4, Pressure: 0.9},
		"this machine was busy: up to 6 threads were ready for each processor":                                                                             {Ready: 6.2},
		"this machine was busy: up to 6 threads were ready for each processor, CPU pressure 97 %, 4 % went to other machines, and the target ran here too": {Ready: 6, Pressure: 0.97, Steal: 0.04, Shared: true},
	} {
		if got := Report(&bundle.Run{Machine: m}, nil, nil, nil).Notes; want == "" && len(got) > 0 || want != "" && !slices.Equal(got, []string{want}) {
			t.Errorf("%+v: %q, want %q", m, got, want)
		}
	}
}
