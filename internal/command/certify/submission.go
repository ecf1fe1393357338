package certify

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// submissions is the folder of a registry that holds all certificates.
const submissions = "certified"

// Place returns the folder of a submission: certified/PROFILE/VERSION/vendor-product. The version is that of Assay, whose
// catalogue says what was required.
func Place(c *bundle.Certificate) string {
	return strings.Join([]string{submissions, c.Profile, c.Build.Version, Slug(c.Product.Vendor) + "-" + Slug(c.Product.Product)}, "/")
}

// Submitted checks what a registry asks for besides a valid certificate: the place, a signature, a built-in profile,
// and a product of the vendor's own.
func Submitted(dir string, v *bundle.Verification) {
	c, _, err := readCertificate(dir)
	abs, err2 := filepath.Abs(dir)
	if err := errors.Join(err, err2); err != nil {
		v.Add(bundle.ProblemUnreadable, "", err.Error())
		return
	}
	parts := strings.Split(filepath.ToSlash(abs), "/")
	if place := Place(c); !strings.HasSuffix("/"+strings.Join(parts, "/"), "/"+place) {
		v.Add(bundle.ProblemPlace, "", fmt.Sprintf("it is in %s: a submission of this certificate belongs in %s", dir, place))
	}
	if c.Signer == nil {
		v.Add(bundle.ProblemSignature, UnsignedFile, "it is not signed: a submission needs a signature (assay certify --key)")
	}
	if !slices.Contains(scenarios.ProfileNames(), c.Profile) {
		v.Add(bundle.ProblemCatalogue, ProfileFile, fmt.Sprintf("the profile %s is the vendor's own: a submission needs one of %s", clip(c.Profile), strings.Join(scenarios.ProfileNames(), ", ")))
	}
	if c.Target.Embedded {
		v.Add(bundle.ProblemRequired, "", "it certifies the reference gateway of Assay, and no product")
	}
}
