package engine

import (
	"slices"
	"sync"
)

// queue hands out slots to the workers, in their order. Slots that mostly wait have workers of
// their own, so that they do not keep the others idle; the other workers take them only when nothing else is left. Until an iteration has ended in time on a
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

// take returns the next slot, nil when there is none. For a worker that is only for slots that
// wait, it returns one of those.
func (q *queue) take(waiting bool) *slot {
	q.mu.Lock()
	defer q.mu.Unlock()
	next := slices.IndexFunc(q.slots, func(s *slot) bool { return s.waits == waiting && (s.canary || !q.crowded(s)) })
	if next < 0 {
		next = slices.IndexFunc(q.slots, func(s *slot) bool { return s.waits || !waiting })
	}
	if next < 0 {
		return nil
	}
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
