package fakes

import (
	"fmt"
	"strings"
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

// newSeams puts the named faults and variants together.
func newSeams(faults, variants []string) (*seams, error) {
	s := &seams{}
	installFault, faultIDs := map[string]func(*seams){}, []string{}
	for _, f := range zooFaults() {
		installFault[f.ID] = f.install
		faultIDs = append(faultIDs, f.ID)
	}
	installVariant, variantIDs := map[string]func(*seams){}, []string{}
	for _, v := range zooVariants() {
		installVariant[v.ID] = v.install
		variantIDs = append(variantIDs, v.ID)
	}
	for _, id := range faults {
		if installFault[id] == nil {
			return nil, fmt.Errorf("unknown fault %q: the faults are %s", id, strings.Join(faultIDs, ", "))
		}
		installFault[id](s)
	}
	for _, id := range variants {
		if installVariant[id] == nil {
			return nil, fmt.Errorf("unknown variant %q: the variants are %s", id, strings.Join(variantIDs, ", "))
		}
		installVariant[id](s)
	}
	return s, nil
}
