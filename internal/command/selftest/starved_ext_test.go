package selftest_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"assay/fakes/zoo"
	"assay/internal/command/selftest"
	"assay/internal/record/bundle"
	"assay/suites"
)

// Beside so many burners the runs are: far more than a shared machine has in nightly.
const fewBurners, manyBurners = 4, 80

// On a machine that is far too busy a run blames nothing that is right, and still finds what is wrong. In nightly every
// gateway has a run of everything on one set of axes.
func TestAStarvedRunBlamesOnlyWhatIsWrong(t *testing.T) {
	burners, selection := fewBurners, "process.exit.codes,process.list.running,connect.unary.not-found,axis:connect/json/1.1/identity"
	if os.Getenv("ASSAY_NIGHTLY") != "" {
		burners, selection = manyBurners, "axis:connect/json/1.1/identity"
	}
	if testing.Short() {
		t.Skip("keeps all processors busy")
	}
	selftest.StartBurners(t, burners)
	t.Run("beside burners", func(t *testing.T) {
		for name, o := range map[string]zoo.Options{
			"the reference":         {},
			"a shell that is slow":  {Variants: []string{"login-shell-slow"}},
			"exit codes are lost":   {Faults: []string{"exit-code-zeroed"}},
			"no stream has its end": {Faults: []string{"eos-dropped"}},
			"errors have HTTP 200":  {Faults: []string{"error-as-200"}},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				starve(t, o, selection)
			})
		}
	})
}

// starve runs scenarios against a gateway, and holds the causes against its fault.
func starve(t *testing.T, o zoo.Options, selection string) {
	t.Helper()
	out, err := tested(t, o, suites.Options{Profile: "connect", Select: selection})
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Faults) == 0 {
		for _, c := range out.Report.Causes {
			t.Errorf("%s is blamed: %s", c.Rule, c.Message)
		}
		return
	}
	var breaks []string
	for _, f := range zoo.Faults() {
		if f.ID == o.Faults[0] {
			breaks = f.Breaks
		}
	}
	found := slices.ContainsFunc(out.Report.Causes, func(c bundle.Cause) bool { return slices.Contains(breaks, c.Rule) })
	if !found {
		t.Errorf("%s is not found; causes %+v, notes %s", o.Faults[0], out.Report.Causes, strings.Join(out.Report.Notes, "; "))
	}
}
