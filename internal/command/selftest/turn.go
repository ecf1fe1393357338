package selftest

import (
	"fmt"
	"hash/fnv"

	"assay/scenarios"
)

// A pair is a variant and a scenario. In one turn a variant runs one in this many of its pairs.
//
// The reference gateway runs the whole catalogue on all axes in 9 s of CPU time, so each scenario once against each of 57
// variants takes about 300 s: an eighth takes about 40 s. To detect the faults takes 20 s. What else each fault breaks takes
// 1500 s, and is for the nights.
const variantShare = 8

// due returns the instances of the pairs of a gateway that run in a turn, each on one set of axes.
//
// Each pair has a slot, which is a hash of its two ids modulo share, and runs in the turns in which slot+turn is a multiple
// of share. In share consecutive turns slot+turn takes every value modulo share once, so every pair runs exactly once.
// The turns of a pair are share apart, and turn/share grows by one from each to the next. That number, plus a constant of
// the pair, counts through the sets of axes: in share*n consecutive turns a pair with n sets of axes runs exactly once on each.
func due(gateway string, all []scenarios.Instance, turn, share uint) []scenarios.Instance {
	axes := map[*scenarios.Scenario][]scenarios.Instance{}
	for _, i := range all {
		axes[i.Scenario] = append(axes[i.Scenario], i)
	}
	var out []scenarios.Instance
	for _, i := range all {
		on := axes[i.Scenario]
		if i != on[0] {
			continue
		}
		h := fnv.New32a()
		_, _ = fmt.Fprintf(h, "%s %s", gateway, i.Scenario.ID)
		if pair := uint(h.Sum32()); (pair+turn)%share == 0 {
			out = append(out, on[(pair/share+turn/share)%uint(len(on))])
		}
	}
	return out
}
