package suites

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/scenarios"
)

// Shard is one of several parts into which a selection is split, so that they can run on several
// machines. The zero value is the whole selection.
type Shard struct {
	Index int // from 1
	Of    int
}

// maxShards is the maximum number of shards.
const maxShards = 1000

// ParseShard reads a shard from a text such as "2/3"; "" is the zero value.
func ParseShard(text string) (Shard, error) {
	if text == "" {
		return Shard{}, nil
	}
	index, of, _ := strings.Cut(text, "/")
	i, errIndex := strconv.Atoi(index)
	n, errOf := strconv.Atoi(of)
	if errIndex != nil || errOf != nil || i < 1 || i > n || n > maxShards {
		return Shard{}, fmt.Errorf("shard %q: want a number and how many there are, for example 2/3 (at most %d)", text, maxShards)
	}
	return Shard{i, n}, nil
}

// String returns the text that ParseShard reads.
func (s Shard) String() string {
	if s.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Of)
}

// split returns the instances of the shard, and the others. The shards of a selection are
// disjoint and together all of it. A scenario is in one shard with all of its axes. The split depends
// only on the scenarios and on the flags that skip some: the longest are dealt first, each to the
// shard with the least to do, so that the shards take about as long as each other.
func (s Shard) split(instances []scenarios.Instance, o Options) (mine, others []scenarios.Instance) {
	if s.Of == 0 {
		return instances, nil
	}
	owner := deal(costs(instances, o), s.Of)
	for _, i := range instances {
		if owner[i.Scenario.ID] == s.Index-1 {
			mine = append(mine, i)
		} else {
			others = append(others, i)
		}
	}
	return mine, others
}

// cost is a scenario with a figure for how long it takes.
type cost struct {
	id    string
	units int
}

// unitsPerSecond is how many runs of a quick scenario take a second, roughly.
const unitsPerSecond = 20

// costs returns the scenarios of the instances, the most expensive first.
func costs(instances []scenarios.Instance, o Options) []cost {
	units := map[string]int{}
	for _, i := range instances {
		one := max(1, i.Scenario.Repeat.Times)
		switch {
		case i.Scenario.Destructive && !o.Destructive, !i.Scenario.Slow.IsZero() && !o.Slow:
			one = 0 // it is skipped
		case !i.Scenario.Slow.IsZero():
			one += int(i.Scenario.Slow.Fixed.Seconds() * unitsPerSecond)
		}
		units[i.Scenario.ID] += one
	}
	var all []cost
	for id, n := range units {
		all = append(all, cost{id, n})
	}
	slices.SortFunc(all, func(a, b cost) int { return cmp.Or(cmp.Compare(b.units, a.units), cmp.Compare(a.id, b.id)) })
	return all
}

// deal returns the shard of each scenario, from 0.
func deal(all []cost, shards int) map[string]int {
	owner, load, held := map[string]int{}, make([]int, shards), make([]int, shards)
	for _, c := range all {
		least := 0
		for n := range shards {
			if cmp.Or(cmp.Compare(load[n], load[least]), cmp.Compare(held[n], held[least])) < 0 {
				least = n
			}
		}
		owner[c.id] = least
		load[least] += c.units
		held[least]++
	}
	return owner
}
