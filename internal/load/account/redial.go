package account

import (
	"math"

	"assay/internal/load"
)

// Redial paces the dials of a set of HTTP/2 connections. Over HTTP/1.1 each failed dial fails its
// stream, and the pause after a failed stream paces the next one. Over HTTP/2 the streams wait
// for another connection instead, so that without a pause of its own a gateway that takes one
// connection and refuses the next would be dialled as fast as it refuses. The zero value is
// ready.
type Redial struct {
	last  *Failure // nil since a connection took a request
	fails uint8    // pauses in a row
	until int64    // the end of the present pause
}

// Failed notes the failure of a dial, or of a connection that ended before it took a request. It
// reports whether that is the first since a connection took one. Dials that fail in the same
// pause count once.
func (r *Redial) Failed(p *load.Plan, f *Failure, now int64) (first bool) {
	first = r.last == nil
	r.last = f
	if now >= r.until {
		if r.fails < math.MaxUint8 {
			r.fails++
		}
		r.until = now + int64(p.Backoff(int64(r.fails), int(r.fails)))
	}
	return first
}

// Took notes that a connection took its first request.
func (r *Redial) Took() { *r = Redial{} }

// Pausing reports whether it is too early for another dial.
func (r *Redial) Pausing(now func() int64) bool { return r.fails > 0 && now() < r.until }

// Failure returns the last failure, nil if a connection has taken a request since. Each caller
// gets its own, which it may change.
func (r *Redial) Failure() *Failure {
	if r.last == nil {
		return nil
	}
	one := *r.last
	return &one
}
