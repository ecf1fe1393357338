package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// allowed are the licences that may occur in the program, by SPDX identifier. All let it be
// distributed as a binary under any terms if their text comes with it. MPL-2.0 also wants the
// source of its files offered, which the path and version of an unchanged module do.
var allowed = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "Unlicense"}

// recognised is the share of a text in percent that must be known licences. The rest are
// copyright lines, and sentences on which licence covers which file: 15 % in the module with
// the most.
const recognised = 80

// spdx returns the licences of a part as an SPDX expression. Every licence file counts.
func (p *part) spdx() (string, error) {
	var ids []string
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(p.legal)) {
		if !isLicence.MatchString(name) {
			continue
		}
		found, err := classify(p.legal[name])
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", p.name, name, err))
		}
		ids = append(ids, found...)
	}
	if len(ids) == 0 && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("%s: no licence file: %s", p.name, mend))
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), " AND "), errors.Join(errs...)
}

// mend says what to do about a licence that cannot be accepted.
const mend = "use another module, or decide on its licence in tools/notice/licence.go"

// classify returns the licences that a text consists of.
func classify(text string) ([]string, error) {
	seen := licensecheck.Scan([]byte(text))
	var ids []string
	for _, m := range seen.Match {
		if !slices.Contains(allowed, m.ID) {
			return nil, fmt.Errorf("licence %s is not allowed: %s", m.ID, mend)
		}
		ids = append(ids, m.ID)
	}
	if seen.Percent < recognised || len(ids) == 0 {
		return nil, fmt.Errorf("unknown licence (%.0f %% of its text is recognised, want %d %%): %s", seen.Percent, recognised, mend)
	}
	return ids, nil
}
