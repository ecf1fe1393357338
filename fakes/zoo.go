package fakes

import (
	"fmt"
	"strings"

	"assay/fakes/strict"
)

// Faults lists the faults, sorted by id.
func Faults() []Fault {
	zoo := zooFaults()
	out := make([]Fault, len(zoo))
	for i, f := range zoo {
		out[i] = f.Fault
	}
	return out
}

// Variants lists the variants, sorted by id.
func Variants() []Variant {
	zoo := zooVariants()
	out := make([]Variant, len(zoo))
	for i, v := range zoo {
		out[i] = v.Variant
	}
	return out
}

// newSeams puts together what the options name: the gateway that is to be
// imitated first, which may change the options, then faults and variants around it.
func newSeams(o *Options) (*seams, error) {
	s := &seams{policy: strict.DefaultPolicy()}
	if err := installLike(s, o); err != nil {
		return nil, err
	}
	return s, s.install(o.Faults, o.Variants, o.Seed)
}

// install puts in faults and variants by id.
func (s *seams) install(faults, variants []string, seed uint64) error {
	installFault, faultIDs := map[string]func(*seams, uint64){}, []string{}
	for _, f := range zooFaults() {
		installFault[f.ID] = f.install
		faultIDs = append(faultIDs, f.ID)
	}
	installVariant, variantIDs := map[string]func(*seams, uint64){}, []string{}
	for _, v := range zooVariants() {
		installVariant[v.ID] = v.install
		variantIDs = append(variantIDs, v.ID)
	}
	for _, id := range faults {
		if installFault[id] == nil {
			return fmt.Errorf("unknown fault %q: the faults are %s", id, strings.Join(faultIDs, ", "))
		}
		installFault[id](s, seed)
	}
	for _, id := range variants {
		if installVariant[id] == nil {
			return fmt.Errorf("unknown variant %q: the variants are %s", id, strings.Join(variantIDs, ", "))
		}
		installVariant[id](s, seed)
	}
	return nil
}
