package main

import (
	"crypto/sha256"
	"encoding/hex"
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

// decided are texts that are no licence, or more than licences, by their SHA-256 digest, with what NOTICE says of them. They
// were read; a changed text must be read again.
var decided = map[string][]string{
	// modernc.org/sqlite: SQLite is in the public domain, for any use in any form.
	"8438c9c89b849131ead81d5435cb97fcf052df5b0b286dda8a2d4c29e6cb3fd0": {"LicenseRef-SQLite-Public-Domain"},
	// modernc.org/sqlite: a list of what is in the module, which is linked under these two, with prose in between.
	"b4366b9c27a9364633e015011a231913ed19bf1228f335bf617e50a6f7b168a6": {"BSD-3-Clause", "MIT"},
	// modernc.org/libc: the notices of Go, musl, go-netdb and nixpkgs, with prose in between.
	"f597097efe3d97021f89170746bd3a0fb9a8b6fb26b82043ed68a4e0283bee6c": {"BSD-2-Clause", "BSD-3-Clause", "MIT"},
	// modernc.org/memory: the address of a picture, which is not linked.
	"5ae5bee3072a841376451b48d8cfcec7188e10543926d5870828d36c8a750dc5": {},
}

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
	sum := sha256.Sum256([]byte(text))
	if ids, ok := decided[hex.EncodeToString(sum[:])]; ok {
		return ids, nil
	}
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
