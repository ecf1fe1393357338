package sdk_test

import (
	"os"
	"regexp"
	"testing"

	"assay/scenarios"
)

// A description that names a scenario which does not exist promises a proof that nobody makes.
func TestTheDescriptionOfTheSuiteNamesScenariosThatExist(t *testing.T) {
	text, err := os.ReadFile("../docs/sdk.md")
	if err != nil {
		t.Fatal(err)
	}
	catalogue, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	exists := map[string]bool{}
	for _, s := range catalogue.Scenarios {
		exists[s.ID] = true
	}
	ids := regexp.MustCompile("`((?:control|files|filesystem|process)\\.[a-z.0-9-]+)`").FindAllSubmatch(text, -1)
	if len(ids) < 40 {
		t.Fatalf("%d scenarios are named, want at least 40", len(ids))
	}
	for _, id := range ids {
		if !exists[string(id[1])] {
			t.Errorf("scenario %s does not exist", id[1])
		}
	}
}
