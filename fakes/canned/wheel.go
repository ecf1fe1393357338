package canned

import "math/bits"

// A slot of the wheel is 65.5 µs: shorter than the spacing of 10,000 evenly
// spread events a second, so that they stay spread. One turn is 1.07 s; a later event
// passes its slot once or more.
const (
	slotBits  = 16 // nanoseconds of a slot, as a power of two
	wheelBits = 14
	slots     = 1 << wheelBits
	slotMask  = slots - 1
)

// wheel holds the streams that wait for their next event, by its time.
type wheel struct {
	slot [slots]*stream
	used [slots / 64]uint64 // a bit for each nonempty slot
	next int64              // the first unprocessed slot, counted from time 0
	held int
}

// add inserts a stream at s.due, in nanoseconds; an overdue one is due at the next turn.
func (w *wheel) add(s *stream) {
	at := max(s.due>>slotBits+1, w.next) // no event is early
	i := at & slotMask
	s.slot = int32(i) + 1
	s.before, s.after = nil, w.slot[i]
	if s.after != nil {
		s.after.before = s
	}
	w.slot[i] = s
	w.used[i/64] |= 1 << (i % 64)
	w.held++
}

// remove removes a stream, if present.
func (w *wheel) remove(s *stream) {
	if s.slot == 0 {
		return
	}
	i := s.slot - 1
	if s.before != nil {
		s.before.after = s.after
	} else if w.slot[i] = s.after; s.after == nil {
		w.used[i/64] &^= 1 << (i % 64)
	}
	if s.after != nil {
		s.after.before = s.before
	}
	s.slot, s.before, s.after = 0, nil, nil
	w.held--
}

// turn removes the streams that are due at now and appends them to due.
func (w *wheel) turn(now int64, due []*stream) []*stream {
	end := now>>slotBits + 1
	if end-w.next > slots {
		w.next = end - slots
	}
	for ; w.next < end; w.next++ {
		i := w.next & slotMask
		word := w.used[i/64] >> (i % 64)
		if word == 0 { // skip the rest of the word
			w.next = min(end, w.next+64-i%64) - 1
			continue
		}
		if word&1 == 0 {
			continue
		}
		for s := w.slot[i]; s != nil; {
			following := s.after
			if s.due <= now {
				w.remove(s)
				due = append(due, s)
			}
			s = following
		}
	}
	return due
}

// wait returns the time until the next stream may be due, in nanoseconds; -1 if the wheel is empty.
func (w *wheel) wait(now int64) int64 {
	if w.held == 0 {
		return -1
	}
	for n := int64(0); n < slots; {
		i := (w.next + n) & slotMask
		if word := w.used[i/64] >> (i % 64); word != 0 {
			n += int64(bits.TrailingZeros64(word))
			return max(0, (w.next+n)<<slotBits-now)
		}
		n += 64 - i%64
	}
	return slots << slotBits
}
