package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// DidYouMean is didYouMean for the words of other packages.
func DidYouMean(word string, candidates []string) string { return didYouMean(word, candidates) }

// didYouMean returns a question with the nearest candidate, or "" if none is similar.
func didYouMean(word string, candidates []string) string {
	near := nearest(word, candidates, 1)
	if len(near) == 0 {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", near[0])
}

// asSentence formats a hint to follow another sentence; "" stays "".
func asSentence(hint string) string {
	if hint == "" {
		return ""
	}
	return ". " + hint
}

// nearest returns up to n candidates within an edit distance of a third of the length of
// word (at least 2, and less than the length), the closest first, then in alphabetical order.
func nearest(word string, candidates []string, n int) []string {
	limit := min(max(2, len(word)/3), len(word)-1)
	found := map[string]int{} // their distances
	for _, c := range candidates {
		d := editDistance(strings.ToLower(word), strings.ToLower(c), limit)
		if strings.HasPrefix(c, word) && len(word) >= 3 {
			d = min(d, limit)
		}
		if d <= limit {
			found[c] = d
		}
	}
	out := slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		return cmp.Or(cmp.Compare(found[a], found[b]), cmp.Compare(a, b))
	})
	return out[:min(n, len(out))]
}

// editDistance returns the Levenshtein distance over bytes, with a swap of neighbours
// counted once. It does not compare words whose lengths differ by more than limit.
func editDistance(a, b string, limit int) int {
	if max(len(a)-len(b), len(b)-len(a)) > limit {
		return limit + 1
	}
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
