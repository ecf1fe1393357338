package history

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/record/bundle"
)

// Keep says which bundles stay: the newest Count of each group, or those of the last Age; the newest of each group
// always stays.
type Keep struct {
	Count int
	Age   time.Duration
}

// ParseKeep reads a number of runs, or an age such as 30d or 12h.
func ParseKeep(text string) (Keep, error) {
	bad := fmt.Errorf("keep %q: want a number of runs, such as 20, or an age, such as 30d or 12h", text)
	if n, err := strconv.Atoi(text); err == nil {
		if n < 1 {
			return Keep{}, bad
		}
		return Keep{Count: n}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 1 || n > 36_500 {
			return Keep{}, bad
		}
		return Keep{Age: time.Duration(n) * 24 * time.Hour}, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return Keep{}, bad
	}
	return Keep{Age: d}, nil
}

// Old returns the bundles of a history that need not be kept, oldest first. Those in a certificate are its evidence, and
// always stay.
func Old(h *bundle.History, k Keep, now time.Time) (paths []string) {
	type old struct {
		path string
		at   time.Time
	}
	var all []old
	for _, g := range h.Groups {
		for i, r := range g.Runs {
			left := len(g.Runs) - i // this one included
			if left > 1 && (k.Count > 0 && left > k.Count || k.Age > 0 && now.Sub(r.Started) > k.Age) && !bundle.IsEvidence(r.Path) {
				all = append(all, old{r.Path, r.Started})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b old) int { return a.at.Compare(b.at) })
	for _, o := range all {
		paths = append(paths, o.path)
	}
	return paths
}
