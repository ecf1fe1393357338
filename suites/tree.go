package suites

import (
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/extensions/globals"
	"github.com/onsi/ginkgo/v2/formatter"
	"github.com/onsi/ginkgo/v2/types"

	"assay/internal/engine"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

const suiteName = "Assay"

// tree is the Ginkgo tree of one run: one container per area, one spec per scenario and axes.
// Ginkgo keeps its tree in globals, so a process has only one at a time; see oneTree.
type tree struct {
	session *session
	byText  map[string]scenarios.Instance
	suite   types.SuiteConfig
	report  types.ReporterConfig
	eng     *engine.Engine
}

// newTree builds the specs of the selected instances.
func newTree(s *session) *tree {
	globals.Reset()
	t := &tree{session: s, byText: map[string]scenarios.Instance{}, suite: types.NewDefaultSuiteConfig()}
	if s.opts.underGoTest {
		t.suite, t.report = ginkgo.GinkgoConfiguration()
	} else {
		t.report = types.NewDefaultReporterConfig()
		t.report.NoColor = true
		t.report.Verbose = true
		// The order of areas depends on the seed of the run, not on the clock.
		t.suite.RandomSeed = int64(s.opts.Seed & math.MaxInt64) //nolint:gosec // it fits
	}
	t.suite.Timeout = 24 * time.Hour // the engine sets the deadlines
	areas := []string{}
	specs := map[string][]scenarios.Instance{}
	for _, i := range s.instances {
		if specs[i.Scenario.Area] == nil {
			areas = append(areas, i.Scenario.Area)
		}
		specs[i.Scenario.Area] = append(specs[i.Scenario.Area], i)
	}
	for _, area := range areas {
		ginkgo.Describe(area, func() {
			for _, i := range specs[area] {
				t.spec(i)
			}
		})
	}
	return t
}

// spec adds the spec of one instance.
func (t *tree) spec(i scenarios.Instance) {
	text := i.Scenario.ID + " [" + i.Axes.String() + "]"
	t.byText[text] = i
	ginkgo.It(text, labels(i), func(_ ginkgo.SpecContext) {
		o := t.eng.Wait(i)
		verdicts := t.session.verdictsOf(i, o)
		for _, v := range verdicts {
			ginkgo.AddReportEntry(v.Rule, ginkgo.ReportEntryVisibilityFailureOrVerbose, entry(v))
		}
		present(i, verdicts)
	})
}

// labels lets `-ginkgo.label-filter` select like --select.
func labels(i scenarios.Instance) ginkgo.Labels {
	l := ginkgo.Labels{"area:" + i.Scenario.Area}
	for _, r := range i.Scenario.Rules {
		l = append(l, "rule:"+r)
	}
	for _, n := range i.Scenario.Needs {
		l = append(l, "feature:"+n)
	}
	return l
}

// entry formats one verdict as a report entry.
func entry(v bundle.Verdict) string {
	if v.Message == "" {
		return string(v.Conclusion)
	}
	return string(v.Conclusion) + ": " + v.Message
}

// present shows the verdicts as the state of the current spec.
func present(i scenarios.Instance, verdicts []bundle.Verdict) {
	worst, message := bundle.Pass, ""
	for _, v := range verdicts {
		if bundle.Worst(worst, v.Conclusion) != worst {
			worst, message = v.Conclusion, v.Rule+": "+v.Message
		}
	}
	switch worst {
	case bundle.Fail, bundle.Flaky, bundle.UnexpectedPass, bundle.Error, bundle.Inconclusive:
		ginkgo.Fail(fmt.Sprintf("%s: %s\n%s", worst, i.Scenario.Title, message), 1)
	case bundle.Unsupported, bundle.NotRun, bundle.KnownFailure:
		ginkgo.Skip(string(worst)+": "+message, 1)
	default: // passed, or an allowed breach
	}
}

// preview returns the instances whose specs Ginkgo will run, so that all of them can start before
// the first spec waits.
func (t *tree) preview() []scenarios.Instance {
	defer redirect(io.Discard)()
	var selected []scenarios.Instance
	for _, spec := range ginkgo.PreviewSpecs(suiteName, t.suite, t.report).SpecReports {
		if i, ok := t.byText[spec.LeafNodeText]; ok && spec.State != types.SpecStateSkipped {
			selected = append(selected, i)
		}
	}
	return selected
}

// present runs the specs: each waits for its scenario's observation.
func (t *tree) present(eng *engine.Engine) {
	t.eng = eng
	defer redirect(t.session.opts.Specs)()
	ginkgo.RunSpecs(verdictless{}, suiteName, t.suite, t.report)
}

// verdictless is the testing.T for Ginkgo, which does not affect the exit code.
type verdictless struct{}

func (verdictless) Fail() {}

// redirect sends Ginkgo's stdout to w and returns a function that undoes it.
func redirect(w io.Writer) (undo func()) {
	before := formatter.ColorableStdOut
	if w == os.Stdout {
		return func() {}
	}
	formatter.ColorableStdOut = w
	return func() { formatter.ColorableStdOut = before }
}
