package selftest

import (
	"fmt"
	"slices"

	"assay/fakes/zoo"
)

// SlowFaultError is a wanted fault that only a soak sees.
type SlowFaultError struct{ ID string }

// Error says how to see it.
func (e *SlowFaultError) Error() string {
	return fmt.Sprintf("the fault %s needs time, and no scenario sees it: start assay serve --fault %s, and run assay soak against it", e.ID, e.ID)
}

// selected returns the faults and variants to run.
func (t *tester) selected() ([]zoo.Fault, []zoo.Variant, error) {
	faults, variants := zoo.Faults(), zoo.Variants()
	if t.opts.Profile != "" {
		faults = slices.DeleteFunc(faults, func(f zoo.Fault) bool { return !t.touches(f) && !slices.Contains(t.opts.Faults, f.ID) })
	}
	if len(t.opts.Faults) == 0 && len(t.opts.Variants) == 0 {
		return faults, variants, nil
	}
	var names []string
	for _, f := range faults {
		names = append(names, f.ID)
	}
	for _, f := range zoo.SoakFaults() {
		if slices.Contains(t.opts.Faults, f.ID) {
			return nil, nil, &SlowFaultError{ID: f.ID}
		}
	}
	if err := known("fault", t.opts.Faults, names); err != nil {
		return nil, nil, err
	}
	names = names[:0]
	for _, v := range variants {
		names = append(names, v.ID)
	}
	if err := known("variant", t.opts.Variants, names); err != nil {
		return nil, nil, err
	}
	faults = slices.DeleteFunc(faults, func(f zoo.Fault) bool { return !slices.Contains(t.opts.Faults, f.ID) })
	variants = slices.DeleteFunc(variants, func(v zoo.Variant) bool { return !slices.Contains(t.opts.Variants, v.ID) })
	return faults, variants, nil
}

// share returns the faults and variants of a shard. Neighbours are alike, and take about as long, so a shard is every so
// many of them.
func (s Shard) share(faults []zoo.Fault, variants []zoo.Variant) ([]zoo.Fault, []zoo.Variant, error) {
	if s.Of == 0 {
		return faults, variants, nil
	}
	n, all := 0, len(faults)+len(variants)
	other := func() bool {
		n++
		return (n-s.Index)%s.Of != 0
	}
	faults = slices.DeleteFunc(faults, func(zoo.Fault) bool { return other() })
	variants = slices.DeleteFunc(variants, func(zoo.Variant) bool { return other() })
	if len(faults)+len(variants) == 0 {
		return nil, nil, &EmptyShardError{Gateways: all}
	}
	return faults, variants, nil
}

// Wanted returns the ids of the faults and variants that a self-test for a profile tries; "" is every profile.
func Wanted(profile string) (faults, variants []string, err error) {
	t, err := newTester(Options{Profile: profile})
	if err != nil {
		return nil, nil, err
	}
	f, v, err := t.selected()
	for _, one := range f {
		faults = append(faults, one.ID)
	}
	for _, one := range v {
		variants = append(variants, one.ID)
	}
	return faults, variants, err
}

// known returns a *zoo.UnknownError for a wanted name that does not exist.
func known(kind string, want, have []string) error {
	for _, w := range want {
		if !slices.Contains(have, w) {
			return &zoo.UnknownError{Kind: kind, ID: w, Known: have}
		}
	}
	return nil
}
