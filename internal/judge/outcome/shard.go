package outcome

import (
	"fmt"
	"strconv"
	"strings"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
)

// shardNotes returns a note about the part of the selection that a run has.
func shardNotes(run *bundle.Run) []string {
	if run.Shard == "" {
		return nil
	}
	index, of := partOf(run)
	if len(run.Planned) == 0 {
		return []string{fmt.Sprintf("shard %d of %d has nothing to run: the selection has fewer scenarios than shards", index, of)}
	}
	return []string{fmt.Sprintf("shard %d of %d: merge its report with those of the other shards", index, of)}
}

// partOf returns the number of the shard of a run, from 1, and the number of all; zeros for a run
// without shards.
func partOf(run *bundle.Run) (index, of int) {
	one, all, _ := strings.Cut(run.Shard, "/")
	index, errIndex := strconv.Atoi(one)
	of, errOf := strconv.Atoi(all)
	if errIndex != nil || errOf != nil {
		return 0, 0
	}
	return index, of
}

// unlikeShards says why two runs cannot be shards of one split by --shard; "" if they can.
func unlikeShards(a, b *bundle.Run) string {
	indexA, ofA := partOf(a)
	indexB, ofB := partOf(b)
	switch {
	case ofA == 0 && ofB == 0:
		return ""
	case ofA != ofB:
		return fmt.Sprintf("the shard is %q in one and %q in the other", phrase.Clip(a.Shard), phrase.Clip(b.Shard))
	case indexA == indexB:
		return "both are shard " + phrase.Clip(a.Shard)
	case a.Select != b.Select:
		return fmt.Sprintf("the selection is %q in one and %q in the other", phrase.Clip(a.Select), phrase.Clip(b.Select))
	}
	return ""
}

// maxShards limits the shards that missingShards lists.
const maxShards = 1000

// missingShards lists the shards of a run that are not there.
func missingShards(shards []Shard) (missing []string) {
	_, of := partOf(shards[0].Run)
	there := map[int]bool{}
	for _, s := range shards {
		index, _ := partOf(s.Run)
		there[index] = true
	}
	for i := 1; i <= min(of, maxShards); i++ {
		if !there[i] {
			missing = append(missing, fmt.Sprintf("%d/%d", i, of))
		}
	}
	return missing
}
