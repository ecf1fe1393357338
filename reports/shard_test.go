package reports

import (
	"strings"
	"testing"

	"assay/internal/bundle"
)

func TestAShardWithNothingToTestIsNotCalledConformant(t *testing.T) {
	word, sentence := verdictText(&bundle.Report{Verdict: bundle.RunInconclusive, Profile: "full"})
	if word != "NOTHING TESTED" || !strings.Contains(sentence, "exit 0") {
		t.Errorf("%s %s", word, sentence)
	}
}
