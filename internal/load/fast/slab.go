//go:build linux && (amd64 || arm64)

package fast

// pageBits makes pages of 256 entries: growing copies nothing, and a run of 64
// streams takes one page.
const (
	pageBits = 8
	pageSize = 1 << pageBits
)

// none is the index of no entry.
const none = int32(-1)

// slab is entries that are found by index. What is given back is used again, the
// last one first, so that as many entries exist as were in use at one time. Entries
// hold no pointers: the collector never looks at them.
type slab[T any] struct {
	pages [][]T
	free  []int32
	used  int32 // entries that were ever taken
}

// at is the entry with an index.
func (s *slab[T]) at(i int32) *T { return &s.pages[i>>pageBits][i&(pageSize-1)] }

// take returns a free entry, which holds what its last user left.
func (s *slab[T]) take() int32 {
	if n := len(s.free); n > 0 {
		i := s.free[n-1]
		s.free = s.free[:n-1]
		return i
	}
	i := s.used
	if int(i>>pageBits) == len(s.pages) {
		s.pages = append(s.pages, make([]T, pageSize))
	}
	s.used++
	return i
}

// put gives an entry back.
func (s *slab[T]) put(i int32) { s.free = append(s.free, i) }

// live is how many entries are in use.
func (s *slab[T]) live() int { return int(s.used) - len(s.free) }
