package selftest

import (
	"errors"
	"testing"
)

// Every fault is killed by a rule that it names and every variant is clean.
func TestSuitesNoticeEveryFaultAndBlameNoVariant(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the catalogue nine times")
	}
	r, err := Run(t.Context(), Options{Seed: 1, Step: func(_, _ int, name string) { t.Log(name) }})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Faults {
		if !f.Killed {
			t.Errorf("fault %s survived", f.ID)
		}
	}
	for _, v := range r.Variants {
		if !v.Clean {
			t.Errorf("variant %s was blamed: %v", v.ID, v.Failing)
		}
	}
	if len(r.Faults) < 4 || len(r.Variants) < 4 {
		t.Errorf("%d faults and %d variants, want at least 4 each", len(r.Faults), len(r.Variants))
	}
	if r.Exit != 0 || r.Score != 1 {
		t.Errorf("exit code %d, score %v, want 0 and 1", r.Exit, r.Score)
	}
}

// The rules that faults name are known as strings only; here they meet the catalogue.
func TestFaultsNameRulesThatExist(t *testing.T) {
	tester, err := newTester(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tester.check(); err != nil {
		t.Error(err)
	}
}

func TestUnknownFaultIsRefused(t *testing.T) {
	_, err := Run(t.Context(), Options{Faults: []string{"nonesuch"}})
	var unknown *UnknownError
	if !errors.As(err, &unknown) || unknown.Kind != "fault" {
		t.Errorf("got %v, want an UnknownError for a fault", err)
	}
}
