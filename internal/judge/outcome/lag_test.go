package outcome

import (
	"strings"
	"testing"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
)

func TestTheRunSaysOnceThatItsDriverWasLate(t *testing.T) {
	held := bundle.Verdict{Conclusion: bundle.Inconclusive, Message: "no end; the time limit was 1s, and " + phrase.RanLate + " by up to 2s"}
	other := bundle.Verdict{Conclusion: bundle.Inconclusive, Message: "no end"}
	run := &bundle.Run{DriverLag: 2e9}
	for name, tc := range map[string]struct {
		verdicts []bundle.Verdict
		want     string
	}{
		"not for lag": {[]bundle.Verdict{other}, ""},
		"two for lag": {[]bundle.Verdict{held, other, held}, "2 of the verdicts are inconclusive because this driver itself ran late, by up to 2s: "},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(Report(run, nil, nil, tc.verdicts).Notes, "; ")
			if got == "" != (tc.want == "") || !strings.HasPrefix(got, tc.want) {
				t.Errorf("notes %q, want %q", got, tc.want)
			}
		})
	}
}
