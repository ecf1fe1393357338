package canned

import (
	"bytes"
	"strconv"
	"time"
)

// step is one data event of a script.
type step struct {
	before time.Duration
	event  *Event
	first  uint64 // number of its first line
}

// script is a file with its list unrolled.
type script struct {
	file  *File
	steps []step // all, or those before the repeated ones
	again *step  // the first of the endlessly repeated ones, if any
}

func newScript(f *File) *script {
	s := &script{file: f}
	next := f.First
	for i := range f.Events {
		e := &f.Events[i]
		if e.Forever {
			s.again = &step{before: e.Interval, event: e, first: next}
			break
		}
		for range max(1, e.Times) {
			s.steps = append(s.steps, step{before: e.Interval, event: e, first: next})
			next += uint64(e.Lines)
		}
	}
	return s
}

// at returns data event k, from 0; ok is false after the last one.
func (s *script) at(k int) (st step, ok bool) {
	switch {
	case k < len(s.steps):
		return s.steps[k], true
	case s.again == nil:
		return step{}, false
	}
	st = *s.again
	st.first += uint64(k-len(s.steps)) * uint64(st.event.Lines)
	return st, true
}

// appendData appends the data of the event.
func (st step) appendData(dst []byte) []byte {
	switch e := st.event; {
	case e.Lines > 0:
		for n := range e.Lines {
			dst = strconv.AppendUint(dst, st.first+uint64(n), 10)
			dst = append(dst, '\n')
		}
	case e.Size > 0:
		dst = append(dst, bytes.Repeat([]byte{'x'}, e.Size-1)...)
		dst = append(dst, '\n')
	default:
		dst = append(dst, e.Text...)
	}
	return dst
}
