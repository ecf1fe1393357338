package transport

import (
	"fmt"
	"sync/atomic"

	"assay/internal/record/bundle"
)

// Memory is the memory that a run may use for what targets send: all recorders of the run
// share it. It counts bytes that are kept, not bytes that are received. A nil Memory has no
// limit. It is safe for concurrent use.
type Memory struct {
	limit  int64
	used   atomic.Int64
	unread atomic.Int64 // responses that were left unread
}

// NewMemory returns a Memory of that many bytes.
func NewMemory(limit int64) *Memory { return &Memory{limit: limit} }

// Limit returns the size in bytes; 0 is no limit.
func (m *Memory) Limit() int64 {
	if m == nil {
		return 0
	}
	return m.limit
}

// Take takes n bytes, or none and returns false if fewer are left.
func (m *Memory) Take(n int64) bool {
	if m == nil {
		return true
	}
	if m.used.Add(n) <= m.limit {
		return true
	}
	m.used.Add(-n)
	return false
}

// Hold takes n bytes even if fewer are left: they are in use already.
func (m *Memory) Hold(n int64) {
	if m != nil {
		m.used.Add(n)
	}
}

// Give returns n bytes.
func (m *Memory) Give(n int64) { m.Hold(-n) }

// unreadToHurry is the number of unread responses after which later ones are read less far.
const unreadToHurry = 3

// extent returns how far a response is read now.
func (m *Memory) extent() extent {
	if m != nil && m.unread.Load() >= unreadToHurry {
		return shortest
	}
	return farthest
}

// ownMemory is how much every exchange and every connection may keep besides the Memory of
// the run, so that a target that fills the memory in one scenario does not disturb the others.
const ownMemory = 64 << 10

// account counts what an exchange or a connection keeps. The mutex of the connection guards it.
type account struct {
	recorder *Recorder
	kept     int64
	working  int64 // of kept: the buffers of decoders
}

// take takes n bytes, or returns false if the run has no more memory.
func (a *account) take(n int) bool {
	if a == nil {
		return true
	}
	over := max(0, a.kept+int64(n)-max(a.kept, ownMemory))
	if !a.recorder.take(over) {
		return false
	}
	a.kept += int64(n)
	return true
}

// work makes sure that n bytes are taken for the buffers of decoders.
func (a *account) work(n int) bool {
	more := int64(n) - a.working
	if more <= 0 {
		return true
	}
	if !a.take(int(more)) {
		return false
	}
	a.working += more
	return true
}

// rest returns what the buffers had taken.
func (a *account) rest() {
	a.recorder.give(max(0, min(a.working, a.kept-ownMemory)))
	a.kept -= a.working
	a.working = 0
}

// take takes n bytes of the run's memory until Finish.
func (r *Recorder) take(n int64) bool {
	if !r.memory.Take(n) {
		return false
	}
	r.taken.Add(n)
	return true
}

func (r *Recorder) give(n int64) {
	r.memory.Give(n)
	r.taken.Add(-n)
}

// keep takes n bytes for the record of the exchange. If the run has no more memory, it stops
// reading the response and returns false.
func (x *Exchange) keep(n int) bool {
	if x.take(n) {
		return true
	}
	x.leaveUnread(x.recorder.outOfMemory())
	return false
}

// work is keep for the buffers of decoders: n is the size of all of them.
func (x *Exchange) work(n int) bool {
	if x.account.work(n) {
		return true
	}
	x.leaveUnread(x.recorder.outOfMemory())
	return false
}

func (r *Recorder) outOfMemory() string {
	return fmt.Sprintf("the memory for records (%s) is used up", bundle.Megabytes(r.memory.Limit()))
}

// leaveUnread ends the exchange and stops reading its response. why completes the sentence
// "Assay stopped reading the response: ".
func (x *Exchange) leaveUnread(why string) {
	if x.over || x.rec.Unread != "" {
		return
	}
	x.rec.Unread = why
	if m := x.recorder.memory; m != nil {
		m.unread.Add(1)
	}
	x.end(bundle.OutcomeAborted, "Assay stopped reading the response: "+why)
	if x.conn != nil {
		x.conn.proto.stop(x)
	}
}
