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
	told  bool     // it has failed a request
	fails uint8    // pauses in a row
	until int64    // the end of the present pause
}

// Failed notes the failure of a dial, or of a connection that ended before it took a request.
// Dials that fail in the same pause count once.
func (r *Redial) Failed(p *load.Plan, f *Failure, now int64) {
	r.last = f
	if now >= r.until {
		if r.fails < math.MaxUint8 {
			r.fails++
		}
		r.until = now + int64(p.Backoff(int64(r.fails), int(r.fails)))
	}
}

// Took notes that a connection took its first request.
func (r *Redial) Took() { *r = Redial{} }

// Pausing reports whether it is too early for another dial.
func (r *Redial) Pausing(now func() int64) bool { return r.fails > 0 && now() < r.until }

// Tell returns the last failure, for a request that it fails; nil if a connection has taken a
// request since. Each request gets its own, which it may change.
func (r *Redial) Tell() *Failure {
	if r.last == nil {
		return nil
	}
	r.told = true
	one := *r.last
	return &one
}

// Told reports whether a failure has failed a request since a connection took one.
func (r *Redial) Told() bool { return r.told }
