package account

// pageBits is the size of a page: 256 entries. Growing adds a page and copies nothing; a
// run of 64 streams needs one.
const (
	pageBits = 8
	pageSize = 1 << pageBits
)

// None is the index that stands for no entry.
const None = int32(-1)

// Slab is a set of entries with stable addresses, found by index. It reuses the entry that
// was freed last, so it holds only as many as were in use at one time.
type Slab[T any] struct {
	pages [][]T
	free  []int32
	used  int32 // entries ever taken
}

// At returns the entry with an index.
func (s *Slab[T]) At(i int32) *T { return &s.pages[i>>pageBits][i&(pageSize-1)] }

// Take returns the index of a free entry. The entry still has its old content.
func (s *Slab[T]) Take() int32 {
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

// Put frees an entry.
func (s *Slab[T]) Put(i int32) { s.free = append(s.free, i) }

// Used is the number of entries ever taken; every index is below it.
func (s *Slab[T]) Used() int32 { return s.used }

// Live is the number of entries in use.
func (s *Slab[T]) Live() int { return int(s.used) - len(s.free) }
