package certify

import (
	"testing"

	"assay/internal/record/bundle"
)

// Another version of the program with the same catalogue may say what it saw in other words, but not decide otherwise.
func TestCertificatesOfTwoVersionsAreCompared(t *testing.T) {
	e := enough(t)
	made := Certificate(e, bundle.Product{Vendor: "Acme"}, nil)
	reworded, undone, renamed := *made, *made, *made
	reworded.Requirements = append([]bundle.Requirement{}, made.Requirements...)
	reworded.Requirements[0].Title, reworded.Requirements[0].Message = "Built from a commit", "of commit 1"
	undone.Requirements = append([]bundle.Requirement{}, made.Requirements...)
	undone.Requirements[0].OK = false
	renamed.Product.Vendor = "Other"
	renamed.Files = []bundle.FileDigest{{Name: "a"}}
	for name, c := range map[string]struct {
		of    *bundle.Certificate
		words bool
		want  string
	}{
		"the same":                    {made, true, ""},
		"other words":                 {&reworded, true, "requirements"},
		"other words, other versions": {&reworded, false, ""},
		"another result":              {&undone, false, "requirements"},
		"another product":             {&renamed, false, "product"},
	} {
		if got := differs(*made, *c.of, c.words); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	one := bundle.Build{Name: "assay", Version: "1", System: "linux/amd64"}
	other := one
	if other.System = "darwin/arm64"; !sameProgram(one, other) {
		t.Error("one version on two systems is one program")
	}
	if other.Version = "2"; sameProgram(one, other) {
		t.Error("two versions are one program")
	}
}
