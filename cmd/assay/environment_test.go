package main

import (
	"bytes"
	"strings"
	"testing"

	"assay/internal/termsafe"
)

func TestOnlyVariablesThatNobodyReadsAreRejected(t *testing.T) {
	root := newRoot(stdio{in: strings.NewReader(""), out: termsafe.Writer{To: &bytes.Buffer{}}, err: termsafe.Writer{To: &bytes.Buffer{}}})
	for name, want := range map[string]string{
		"ASSAY_TIME_SCALE": "", "ASSAY_CONFIG": "", "ASSAY_TOKEN": "", "ASSAY_API_KEY": "", "ASSAY_RUN": "", "ASSAY_NIGHTLY": "", "ASSAY_TEST_BE_PROGRAM": "",
		"ASSAY_BUSY_ROUNDS": "", "ASSAY_SECRET_X_KEY": "", "ASSAYER": "", "PATH": "", "assay_jobs": "",
		"ASSAY_TOKNE":     `did you mean "ASSAY_TOKEN"?`,
		"ASSAY_TIMESCALE": `did you mean "ASSAY_TIME_SCALE"?`,
		"ASSAY_NIGHTLYY":  "belongs to no flag",
		"ASSAY_":          "belongs to no flag",
	} {
		err := checkEnvironment(root, []string{"HOME=/", name + "=a=b"})
		switch {
		case want == "" && err != nil:
			t.Errorf("%s is rejected: %v", name, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
}
