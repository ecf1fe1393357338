package engine

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"assay/internal/base/crash"
)

// mostIdle bounds the instances that make no progress while another worker takes the place of theirs, as a multiple of the
// number of workers. What only waits costs nothing here, but the target may limit how many streams it holds open. A run that
// keeps 80 instances waiting for 10 s takes half a minute for them with 3, and two minutes without.
const mostIdle = 3

// runShared runs slots on the worker pool. What would use a way that is open is put off. At the end the shortest slot of each
// such way tries it, and the rest runs if that ends well.
func (e *Engine) runShared(ctx context.Context, slots []*slot) {
	run := func(s *slot) { e.runOne(ctx, s) }
	var trials, rest []*slot
	tried := map[way]bool{}
	off := e.pool(slots, func(s *slot) bool { return e.env.breaker.open(s.ways) != nil }, run)
	slices.SortStableFunc(off, func(a, b *slot) int {
		cal := e.o.Run.Calibration
		return cmp.Or(byFirst(a.instance, b.instance), cmp.Compare(estimate(a.instance.Scenario, cal), estimate(b.instance.Scenario, cal)))
	})
	for _, s := range off {
		for _, w := range s.ways {
			if e.env.breaker.isOpen(w) && !tried[w] {
				tried[w], s.tries = true, true
			}
		}
		if s.tries {
			trials = append(trials, s)
		} else {
			rest = append(rest, s)
		}
	}
	e.pool(trials, nil, run)
	e.pool(rest, nil, run)
}

// pool runs slots on the workers, in their order, and returns those that it has put off.
func (e *Engine) pool(slots []*slot, putsOff func(*slot) bool, run func(*slot)) []*slot {
	jobs := e.o.Run.Jobs
	if jobs <= 0 {
		jobs = defaultJobs
	}
	q := &queue{slots: slices.Clone(slots), putsOff: putsOff}
	if jobs > 1 {
		q.idle = mostIdle * jobs
	}
	var workers crash.Group
	var work func()
	work = func() {
		for s := q.take(); s != nil; s = q.take() {
			var replaced atomic.Bool
			s.idles = sync.OnceFunc(func() {
				if q.lends() {
					replaced.Store(true)
					workers.Go(work)
				}
			})
			run(s)
			if replaced.Load() {
				q.back()
				return
			}
		}
	}
	for range min(jobs, len(slots)) {
		workers.Go(work)
	}
	workers.Wait()
	return q.off
}

// queue hands out slots to the workers.
type queue struct {
	mu      sync.Mutex
	slots   []*slot
	putsOff func(*slot) bool // nil puts none off
	off     []*slot
	idle    int // how many more instances may wait while their workers run others
}

// take returns the next slot that is not put off, nil when there is none.
func (q *queue) take() *slot {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.slots) > 0 {
		s := q.slots[0]
		q.slots = q.slots[1:]
		if q.putsOff == nil || !q.putsOff(s) {
			return s
		}
		q.off = append(q.off, s)
	}
	return nil
}

// lends reports whether one more worker may take the place of one whose instance waits.
func (q *queue) lends() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.idle <= 0 || len(q.slots) == 0 {
		return false
	}
	q.idle--
	return true
}

// back counts an instance as no longer waiting.
func (q *queue) back() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.idle++
}
