package zoo

import (
	"sync"
	"time"

	"assay/fakes/gateway"
	"assay/fakes/virtual"
)

// pipeRest is how long a hasty reader leaves output in the pipe. It is longer than
// the time between a last write and the exit after it, and shorter than the
// patience of a client.
const pipeRest = 20 * time.Millisecond

// hastyReader is a reader of pipes that stops when its process exits: the last
// chunk in a pipe is then lost, however short it is. After pipeRest, output has
// been read, so a process that writes and then waits loses nothing. A terminal is
// not a pipe and loses nothing.
type hastyReader struct {
	gateway.Output
	chunk int    // size of a chunk
	over  func() // called when the output is finished; may be nil

	mu    sync.Mutex
	hasty bool // false: output passes at once
	held  [virtual.PTY + 1][]byte
	stop  [virtual.PTY + 1]func() bool
}

// begin makes the reader hasty.
func (r *hastyReader) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hasty = true
}

func (r *hastyReader) Write(s virtual.Stream, p []byte) {
	r.mu.Lock()
	if !r.hasty || s == virtual.PTY {
		r.mu.Unlock()
		r.Output.Write(s, p)
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
		r.Output.Write(s, r.held[s][:n])
		r.held[s] = append([]byte(nil), r.held[s][n:]...)
	}
	r.stop[s] = time.AfterFunc(pipeRest, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		rest := r.held[s]
		r.held[s] = nil
		if len(rest) > 0 {
			r.Output.Write(s, rest)
		}
	}).Stop
}

// Finish drops the held output. It finishes the inner output first, because a
// writer that waits there holds the lock.
func (r *hastyReader) Finish() {
	r.Output.Finish()
	if r.over != nil {
		r.over()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for s, stop := range r.stop {
		if stop != nil {
			stop()
		}
		r.held[s] = nil
	}
}

// termChunk is the size of the daemon's reads; after 1 in lossyTerms SIGTERMs it
// loses the last chunk.
const (
	termChunk  = 32 << 10
	lossyTerms = 5
)

// loseAfterTerm does not wait for the output of a terminated process, and stops
// reading at the exit after 1 in lossyTerms SIGTERMs.
func loseAfterTerm(b *build) {
	readers := &readers{of: map[*gateway.Process]*hastyReader{}}
	onProcessOutput(readers.add)(b)
	lossy := newShare(1, lossyTerms, b.seed)
	onTable(func(next gateway.Table) gateway.Table { return hasty{next, lossy, readers} })(b)
}

// readers holds the readers of the running processes.
type readers struct {
	mu sync.Mutex
	of map[*gateway.Process]*hastyReader
}

func (r *readers) add(p *gateway.Process, next gateway.Output) gateway.Output {
	h := &hastyReader{Output: next, chunk: termChunk, over: func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.of, p)
	}}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of[p] = h
	return h
}

// hasten makes the reader of a process hasty, unless it has finished.
func (r *readers) hasten(p *gateway.Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.of[p]; h != nil {
		h.begin()
	}
}

// hasty does not wait for the output of a terminated process.
type hasty struct {
	gateway.Table
	lossy   *share
	readers *readers
}

func (h hasty) Terminate(s gateway.Selector) error {
	p, err := h.Find(s)
	if err != nil {
		return err
	}
	if h.lossy.strikes() {
		h.readers.hasten(p) // before the signal, because its trap may write at once
	}
	if err := h.Table.Terminate(s); err != nil {
		return err
	}
	p.Abandon()
	return nil
}
