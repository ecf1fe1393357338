package engine

import (
	"sync"

	"assay/internal/base/machine"
)

// shortage notes that this machine ran out of a resource, which holds up everything that runs
// at that time. The zero value is ready.
type shortage struct {
	mu    sync.Mutex
	times int
	last  string
}

// note notes err if it comes from a lack of a resource.
func (s *shortage) note(err error) {
	if !machine.Exhausted(err) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times++
	s.last = err.Error()
}

// since returns the number of shortages so far, and the last one if there were more than
// before.
func (s *shortage) since(before int) (times int, last string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.times == before {
		return before, ""
	}
	return s.times, s.last
}
