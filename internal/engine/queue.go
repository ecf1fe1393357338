package engine

import (
	"slices"
	"sync"
)

// queue hands out slots to the workers, in their order. Until an iteration has ended in time on a
// way of calling the target, at most half of the workers try it as long as there is anything
// else to do: if it is dead, the others do not wait for it at the same time. Canaries keep their
// turn, since other slots wait for them.
type queue struct {
	fuse *fuse
	most int // workers on one way that is not proven

	mu      sync.Mutex
	slots   []*slot
	running map[string]int // by way
}

func newQueue(slots []*slot, f *fuse, workers int) *queue {
	return &queue{fuse: f, most: max(1, workers/2), slots: slices.Clone(slots), running: make(map[string]int)}
}

// take returns the next slot, nil when there is none.
func (q *queue) take() *slot {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.slots) == 0 {
		return nil
	}
	next := max(0, slices.IndexFunc(q.slots, func(s *slot) bool { return s.canary || !q.crowded(s) }))
	s := q.slots[next]
	q.slots = slices.Delete(q.slots, next, next+1)
	q.count(s, 1)
	return s
}

// done counts a slot that take returned as no longer running.
func (q *queue) done(s *slot) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.count(s, -1)
}

// crowded reports whether enough workers try a way that a slot uses.
func (q *queue) crowded(s *slot) bool {
	return slices.ContainsFunc(waysOf(s.run.Axes)[1:], func(way string) bool {
		return q.running[way] >= q.most && !q.fuse.isProven(way)
	})
}

func (q *queue) count(s *slot, n int) {
	for _, way := range waysOf(s.run.Axes) {
		q.running[way] += n
	}
}
