package suites

import (
	"testing"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

func TestShardsAreDisjointAndTogetherEverything(t *testing.T) {
	cat, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, selection := range []string{"", "area:process-exit", "process.exit.codes"} {
		all, err := cat.Select(selection)
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range []int{1, 2, 3, 7, 50} {
			seen, owner := map[bundle.Planned]int{}, map[string]int{}
			for n := range of {
				mine, others := Shard{n + 1, of}.split(all, Options{})
				if len(mine)+len(others) != len(all) {
					t.Errorf("%q, shard %d of %d has %d, the others %d, of %d", selection, n+1, of, len(mine), len(others), len(all))
				}
				for _, p := range planned(mine) {
					seen[p]++
					if was, ok := owner[p.Scenario]; ok && was != n {
						t.Errorf("%s is in two shards", p.Scenario)
					}
					owner[p.Scenario] = n
				}
			}
			for _, p := range planned(all) {
				if seen[p] != 1 {
					t.Errorf("%v is in %d of %d shards", p, seen[p], of)
				}
			}
		}
	}
}

func TestShardsHaveAboutTheSameToDo(t *testing.T) {
	cat, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	all, err := cat.Select("")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{}, {Slow: true, Destructive: true}} {
		var loads []int
		for n := range 3 {
			mine, _ := Shard{n + 1, 3}.split(all, o)
			load := 0
			for _, c := range costs(mine, o) {
				load += c.units
			}
			loads = append(loads, load)
		}
		if least, most := min(loads[0], loads[1], loads[2]), max(loads[0], loads[1], loads[2]); float64(most) > 1.3*float64(least) {
			t.Errorf("the loads are %v", loads)
		}
	}
}

func TestAShardIsANumberAndHowManyThereAre(t *testing.T) {
	for text, want := range map[string]Shard{"": {}, "1/1": {1, 1}, "2/3": {2, 3}, "1000/1000": {1000, 1000}} {
		if got, err := ParseShard(text); err != nil || got != want || got.String() != text {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"0/3", "4/3", "-1/3", "2", "2/", "/3", "a/b", "1/1001", "1/3/5"} {
		if got, err := ParseShard(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}
