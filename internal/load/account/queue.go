package account

// Queue is a first-in, first-out list that reuses its memory.
type Queue[T any] struct {
	items []T
	head  int
}

// Len is the number of items.
func (q *Queue[T]) Len() int { return len(q.items) - q.head }

// Peek returns the first item; there must be one.
func (q *Queue[T]) Peek() T { return q.items[q.head] }

// Last returns the last item; there must be one.
func (q *Queue[T]) Last() T { return q.items[len(q.items)-1] }

// Push appends an item.
func (q *Queue[T]) Push(v T) {
	if q.head > 0 && len(q.items) == cap(q.items) && q.head >= len(q.items)/2 {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, v)
}

// Pop removes and returns the first item; there must be one.
func (q *Queue[T]) Pop() T {
	var zero T
	v := q.items[q.head]
	q.items[q.head] = zero
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return v
}

// timer is an action that is due at a time: to kill or hang up on a stream, or to begin one.
type timer struct {
	at     int64
	stream int32 // the stream; None begins a stream
	number int64 // of the stream
	fails  uint8 // the failures at the place of a stream that is to begin; see Stream.fails
}

// timers is a heap of timers, the next one first. Deadlines have no timers: Scan finds them.
type timers []timer

// push adds a timer.
func (h *timers) push(t timer) {
	q := append(*h, t)
	i := len(q) - 1
	for i > 0 {
		up := (i - 1) / 2
		if q[up].at <= t.at {
			break
		}
		q[i] = q[up]
		i = up
	}
	q[i] = t
	*h = q
}

// pop removes and returns the next timer; there must be one.
func (h *timers) pop() timer {
	q := *h
	first := q[0]
	n := len(q) - 1
	last := q[n]
	q = q[:n]
	i := 0
	for {
		down := 2*i + 1
		if down >= n {
			break
		}
		if down+1 < n && q[down+1].at < q[down].at {
			down++
		}
		if q[down].at >= last.at {
			break
		}
		q[i] = q[down]
		i = down
	}
	if n > 0 {
		q[i] = last
	}
	*h = q
	return first
}
