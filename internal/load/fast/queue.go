//go:build linux && (amd64 || arm64)

package fast

// queue is a first-in first-out list that uses its memory again.
type queue[T any] struct {
	items []T
	head  int
}

func (q *queue[T]) len() int { return len(q.items) - q.head }

func (q *queue[T]) push(v T) {
	if q.head > 0 && len(q.items) == cap(q.items) && q.head >= len(q.items)/2 {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, v)
}

// pop takes the first; there must be one.
func (q *queue[T]) pop() T {
	var zero T
	v := q.items[q.head]
	q.items[q.head] = zero
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return v
}

// timer is something that is to be done at a time.
type timer struct {
	at     int64
	stream int32 // whose part it is; none: a stream is to begin
	number int64 // of the stream
}

// timers is a heap of timers, the next one first. Only streams that are killed or
// hung up on, and places that wait, have one: deadlines are looked at in passing.
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

// pop takes the next; there must be one.
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
