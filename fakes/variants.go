package fakes

import (
	"cmp"
	"slices"
)

// Variant is a gateway that differs in one legal way.
type Variant struct{ ID, Title, Source string }

// variantDecorator is a variant and how it is put in.
type variantDecorator struct {
	Variant
	install func(s *seams, seed uint64)
}

// zooVariants are the variants by id.
func zooVariants() []variantDecorator {
	all := slices.Concat(headVariants(), framingVariants(), messageVariants(), behaviourVariants(), connectionVariants(), choiceVariants())
	slices.SortFunc(all, func(a, b variantDecorator) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
