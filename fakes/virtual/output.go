package virtual

import (
	"sync"
	"sync/atomic"
	"syscall"
)

// output passes the output of a process tree to the callback. It is drained when its open files are closed and the process has ended.
type output struct {
	deliver func(s Stream, p []byte)
	mu      [2]sync.Mutex // one per stream: order within a stream, none between them
	holders atomic.Int32
	drained chan struct{}
}

// newOutput creates an output held by the process and by files open files.
func newOutput(deliver func(s Stream, p []byte), files int32) *output {
	if deliver == nil {
		deliver = func(Stream, []byte) {}
	}
	o := &output{deliver: deliver, drained: make(chan struct{})}
	o.holders.Store(files + 1)
	return o
}

func (o *output) release() {
	if o.holders.Add(-1) == 0 {
		close(o.drained)
	}
}

// hold adds a holder; false if the output has already drained.
func (o *output) hold() bool {
	for {
		n := o.holders.Load()
		if n == 0 {
			return false
		}
		if o.holders.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// sink is stdout or stderr as an open file. A writer holds a reference, so the stream cannot drain during a delivery.
type sink struct {
	out    *output
	stream Stream
}

func (k sink) read(stop, int, int) ([]byte, error) { return nil, syscall.EBADF }

func (k sink) write(s stop, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	mu := &k.out.mu[k.stream-Stdout]
	mu.Lock()
	defer mu.Unlock()
	select {
	case <-s.dead: // killed while it waited for its turn
		return errDead
	default:
	}
	k.out.deliver(k.stream, b)
	return nil
}

func (k sink) close() { k.out.release() }
