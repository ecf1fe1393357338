package fakes

import (
	"sync"
	"sync/atomic"
	"time"

	"assay/fakes/virtual"
)

// pipeRest is how long a hasty reader leaves a piece of output in the pipe. It is
// long against the time between a last write and the exit behind it, and short
// against what a client waits for.
const pipeRest = 20 * time.Millisecond

// hastyReader is a reader of pipes that is stopped when its process exits: the
// last chunk that still stands in a pipe is lost then, however short it is. What
// has stood there for pipeRest has been read, so nothing is lost of a process that
// writes and then waits. A terminal is no pipe: nothing of it is lost.
type hastyReader struct {
	output
	clock clock
	chunk int // size of a chunk

	mu    sync.Mutex
	hasty bool // from here on; before, everything is passed on as it comes
	held  [virtual.PTY + 1][]byte
	stop  [virtual.PTY + 1]func() bool
}

// begin makes the reader hasty.
func (r *hastyReader) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hasty = true
}

func (r *hastyReader) write(s virtual.Stream, p []byte) {
	r.mu.Lock()
	if !r.hasty || s == virtual.PTY {
		r.mu.Unlock()
		r.output.write(s, p)
		return
	}
	defer r.mu.Unlock()
	if len(p) == 0 {
		return
	}
	if r.stop[s] != nil {
		r.stop[s]()
	}
	r.held[s] = append(r.held[s], p...)
	if n := (len(r.held[s]) - 1) / r.chunk * r.chunk; n > 0 {
		r.output.write(s, r.held[s][:n])
		r.held[s] = append([]byte(nil), r.held[s][n:]...)
	}
	r.stop[s] = r.clock.AfterFunc(pipeRest, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		rest := r.held[s]
		r.held[s] = nil
		if len(rest) > 0 {
			r.output.write(s, rest)
		}
	})
}

// finish forgets what is held. The output is finished first, for a writer that
// waits there has the lock.
func (r *hastyReader) finish() {
	r.output.finish()
	r.mu.Lock()
	defer r.mu.Unlock()
	for s, stop := range r.stop {
		if stop != nil {
			stop()
		}
		r.held[s] = nil
	}
}

// lateTerminal loses the first piece of a terminal's output, of a share of the
// terminals: nobody reads yet.
type lateTerminal struct {
	output
	lost  *share
	begun atomic.Bool
}

func (l *lateTerminal) write(s virtual.Stream, p []byte) {
	if s == virtual.PTY && !l.begun.Swap(true) && l.lost.strikes() {
		return
	}
	l.output.write(s, p)
}
