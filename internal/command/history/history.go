package history

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"

	"assay/internal/base/safefile"
	"assay/internal/record/bundle"
)

// Options say what a history is about.
type Options struct {
	// Paths are bundles, and folders with bundles.
	Paths []string
	// Index is the file of the index; "" keeps none. Rebuild builds it again.
	Index   string
	Rebuild bool
	// Version is the program's.
	Version string
}

// Load reads the bundles, through the index: one that has not changed is not read again. Folders that are no whole
// bundles are skipped, and said. An index that turns out to be damaged is built again.
func Load(ctx context.Context, o Options) (runs []Run, left []Skip, err error) {
	dirs, err := findAll(o.Paths)
	if err != nil {
		return nil, nil, err
	}
	runs, left, err = o.load(ctx, dirs)
	if errors.Is(err, errDamaged) && o.Index != "" {
		o.Rebuild = true
		runs, left, err = o.load(ctx, dirs)
	}
	return runs, left, err
}

// findAll returns the absolute directories of the bundles at some paths and below them, each once.
func findAll(paths []string) (all []string, err error) {
	seen := map[string]bool{}
	for _, path := range paths {
		dirs, err := find(path)
		if err != nil {
			return nil, err
		}
		for _, dir := range dirs {
			dir, err := filepath.Abs(dir)
			if err != nil {
				return nil, err
			}
			if !seen[dir] {
				seen[dir] = true
				all = append(all, dir)
			}
		}
	}
	return all, nil
}

// load reads the bundles in directories.
func (o *Options) load(ctx context.Context, dirs []string) (runs []Run, left []Skip, err error) {
	x, err := openIndex(ctx, o.Index, o.Rebuild)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, x.close()) }()
	exist := map[string]bool{}
	for _, dir := range dirs {
		exist[dir] = true
		r, skip, err := x.known(ctx, dir)
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case safefile.NoDescriptors(skip):
			return nil, nil, skip
		case err != nil:
			return nil, nil, err
		case skip != nil:
			left = append(left, skipped(dir, skip))
		default:
			runs = append(runs, *r)
		}
	}
	return runs, left, x.keep(ctx, exist)
}

// known returns the run of a bundle, from the index if it is there unchanged. skip says why there is none; an error is
// one of the index, or of this machine.
func (x *index) known(ctx context.Context, dir string) (r *Run, skip, err error) {
	digest, skip := bundle.Sealed(dir)
	if skip != nil {
		return nil, skip, nil
	}
	if r, err := x.get(ctx, dir, digest); err != nil || r != nil {
		return r, nil, err
	}
	if r, skip = read(dir); skip != nil {
		return nil, skip, nil
	}
	return r, nil, x.put(ctx, r)
}

// Of returns what changed over the runs. It is pure.
func Of(runs []Run, left []Skip, version string) *bundle.History {
	h := &bundle.History{Schema: bundle.HistorySchema, Tool: bundle.Tool{Name: "assay", Version: version}, Groups: []bundle.HistoryGroup{}}
	for _, s := range left {
		h.Skipped = append(h.Skipped, bundle.HistorySkip{Path: s.Path, Why: s.Why})
	}
	groups := map[[3]string][]Run{}
	for _, r := range runs {
		k := [3]string{string(r.Kind), r.Target, r.Profile}
		groups[k] = append(groups[k], r)
	}
	for _, k := range slices.SortedFunc(maps.Keys(groups), func(a, b [3]string) int { return slices.Compare(a[:], b[:]) }) {
		all := groups[k]
		slices.SortStableFunc(all, func(a, b Run) int {
			return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Path, b.Path))
		})
		h.Groups = append(h.Groups, group(all))
	}
	return h
}

// group returns what changed over runs of one kind, in the order of time.
func group(runs []Run) bundle.HistoryGroup {
	first := &runs[0]
	g := bundle.HistoryGroup{Kind: first.Kind, Target: first.Target, Profile: first.Profile, Changes: []bundle.HistoryChange{}}
	for i := range runs {
		r := &runs[i]
		g.Runs = append(g.Runs, bundle.HistoryRun{Path: r.Path, Run: r.ID, Started: r.Started, Version: r.Version, Verdict: r.Verdict})
	}
	rules(&g, runs)
	trends(&g, runs)
	slices.SortStableFunc(g.Changes, func(a, b bundle.HistoryChange) int {
		return cmp.Or(cmp.Compare(b.Since, a.Since), cmp.Compare(a.Name, b.Name))
	})
	return g
}

// letters are the letters of verdicts in a row of runs.
func letter(verdict string) byte {
	switch bundle.Conclusion(verdict) { //nolint:exhaustive // the others are not judged
	case bundle.Pass, bundle.Deviation, bundle.KnownFailure:
		return '.'
	case bundle.Fail, bundle.UnexpectedPass:
		return 'F'
	case bundle.Advisory:
		return 'a'
	case bundle.Flaky:
		return 'f'
	}
	return '-'
}

// leastFlips is how often the verdict of a flaky rule changes, at least.
const leastFlips = 3
