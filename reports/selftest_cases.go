package reports

import (
	"fmt"
	"io"
	"strings"
	"time"

	"assay/internal/record/bundle"
)

// selftestSuites returns a suite of the faults and one of the variants. A fault that survived, or
// whose report points elsewhere, and a blamed variant are failures.
func selftestSuites(r *bundle.SelftestReport) []junitSuite {
	faults, variants := junitSuite{Name: "selftest.faults"}, junitSuite{Name: "selftest.variants"}
	for _, s := range []*junitSuite{&faults, &variants} {
		s.Time = seconds(0)
	}
	for i := range r.Faults {
		faults.put(faultCase(&r.Faults[i]))
	}
	for i := range r.Variants {
		variants.put(variantCase(&r.Variants[i]))
	}
	return []junitSuite{faults, variants}
}

// put appends a case and counts it.
func (s *junitSuite) put(c junitCase) {
	s.Cases = append(s.Cases, c)
	s.add(c.counts())
}

func faultCase(f *bundle.FaultResult) junitCase {
	c := junitCase{Name: line(f.ID), Class: "selftest.faults", Time: seconds(0)}
	var detail []string
	if f.Title != "" {
		detail = append(detail, f.Title)
	}
	detail = append(detail, "breaks "+strings.Join(f.Breaks, ", "))
	if f.Source != "" {
		detail = append(detail, "from "+f.Source)
	}
	switch {
	case !f.Killed:
		if f.Saw != "" {
			detail = append(detail, "saw "+f.Saw)
		}
		c.Failure = loadProblem("survived", "no scenario detected it", detail)
	case f.Misblamed():
		for _, b := range f.Blame {
			if !b.Attached {
				detail = append(detail, b.Rule+": "+b.Message)
			}
		}
		c.Failure = loadProblem("misblamed", fmt.Sprintf("%s, %s", plural(len(f.Causes), "cause"), plural(f.Unattached, "unrelated broken rule")), detail)
	default:
		c.output("killed by " + line(strings.Join(f.By, ", ")))
	}
	return c
}

func variantCase(v *bundle.VariantResult) junitCase {
	c := junitCase{Name: line(v.ID), Class: "selftest.variants", Time: seconds(0)}
	switch {
	case !v.Clean:
		c.Failure = loadProblem("blamed", "a legal variant was blamed", v.Failing)
	case len(v.Once) > 0:
		c.output("failed once, passed when run alone: " + line(strings.Join(v.Once, ", ")))
	}
	return c
}

// SelftestJUnit writes the result of a self-test as JUnit XML: a testcase for each fault, which fails
// when the fault survived or its report points elsewhere, and one for each variant.
func SelftestJUnit(w io.Writer, r *bundle.SelftestReport) error {
	return writeJUnit(w, selftestSuites(r), time.Time{}, 0)
}

// ctrfSelftest is what extra has of a self-test, of a fault and of a variant.
type (
	ctrfSelftest struct {
		Schema string  `json:"schema"`
		Score  float64 `json:"score"`
		Exit   int     `json:"exit"`
	}
	ctrfFault struct {
		Breaks []string `json:"breaks"`
		By     []string `json:"by"`
		Source string   `json:"source,omitempty"`
		Causes []string `json:"causes,omitempty"`
	}
)

// SelftestCTRF writes the result of a self-test in the Common Test Report Format, with the
// tests that JUnit has. It has no times.
func SelftestCTRF(w io.Writer, r *bundle.SelftestReport) error {
	doc := newCTRF(bundle.Tool{Name: "assay"}, "", time.Time{}, 0)
	for i, s := range selftestSuites(r) {
		for n, c := range s.Cases {
			t := ctrfCase(c)
			if i == 0 {
				f := &r.Faults[n]
				t.Extra = ctrfFault{Breaks: list(f.Breaks), By: list(f.By), Source: f.Source, Causes: f.Causes}
			}
			doc.add(t)
		}
	}
	doc.Results.Summary.Extra = ctrfSelftest{bundle.SelftestSchema, r.Score, r.Exit}
	return writeJSON(w, doc)
}
