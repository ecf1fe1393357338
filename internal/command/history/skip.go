package history

import (
	"slices"
	"time"

	"assay/internal/record/bundle"
)

// Skip is a bundle that was left out, with the reason.
type Skip struct {
	Path, Why string
	// The others say which run it is of. Started is zero if that is not known.
	Kind            bundle.Kind
	Target, Profile string
	Started         time.Time
}

// skipped returns the Skip of a directory.
func skipped(dir string, why error) Skip {
	s := Skip{Path: dir, Why: why.Error()}
	if m := bundle.Heading(dir); m != nil {
		s.Kind, s.Target, s.Profile, s.Started = m.Kind, targetOf(m), m.Profile, m.Started
	}
	return s
}

// Unsure returns the bundles that were left out and may be the newest run of their group: what changed with them is not
// known. A bundle of an unknown run may be.
func Unsure(runs []Run, skipped []Skip) []Skip {
	return slices.DeleteFunc(slices.Clone(skipped), func(s Skip) bool {
		return !s.Started.IsZero() && slices.ContainsFunc(runs, func(r Run) bool {
			return r.Kind == s.Kind && r.Target == s.Target && r.Profile == s.Profile && r.Started.After(s.Started)
		})
	})
}
