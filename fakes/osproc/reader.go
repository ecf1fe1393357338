//go:build unix

package osproc

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"assay/fakes/virtual"
)

// capacity exceeds the buffer of a pipe (64 KiB) or a terminal (about 68 KiB): after the end of a process, its remaining output is within this
// many bytes.
const capacity = 128 << 10

// reader passes one stream to Output.
type reader struct {
	f       *os.File
	stream  virtual.Stream
	deliver func(s virtual.Stream, p []byte)
	size    int

	done chan struct{} // at the end of the stream

	mu      sync.Mutex
	flushed chan struct{} // closed when the bytes available at a flush have been delivered; nil without a flush
	last    bool          // the flush ends the stream
}

func newReader(f *os.File, stream virtual.Stream, deliver func(s virtual.Stream, p []byte), size int) *reader {
	if deliver == nil {
		deliver = func(virtual.Stream, []byte) {}
	}
	return &reader{f: f, stream: stream, deliver: deliver, size: size, done: make(chan struct{})}
}

// run reads to the end: EOF of a pipe, EIO of a terminal that no process holds any more, or our close.
func (r *reader) run() {
	defer close(r.done)
	defer func() { _ = r.f.Close() }() // a hangup may have closed it
	buf := make([]byte, r.size)
	for {
		n, err := r.f.Read(buf)
		if n > 0 {
			r.deliver(r.stream, buf[:n])
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			if r.catchUp(buf) {
				return
			}
		case err != nil:
			return
		}
	}
}

// flush makes the reader deliver the available bytes and, with last, end. The returned channel is closed when that is done.
func (r *reader) flush(last bool) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.flushed == nil {
		r.flushed = make(chan struct{})
	}
	r.last = r.last || last
	_ = r.f.SetReadDeadline(time.Unix(1, 0)) // a closed file: done is closed, or will be
	return r.flushed
}

// grace waits up to killGrace for a flush. The wait has steps, so that a pause of the machine uses up only one of them.
func (r *reader) grace(flushed <-chan struct{}) {
	const steps = 20
	tick := time.NewTicker(killGrace / steps)
	defer tick.Stop()
	for range steps {
		select {
		case <-flushed:
			return
		case <-r.done:
			return
		case <-tick.C:
		}
	}
}

// catchUp handles a flush: it reads without waiting, at most capacity. over reports that the stream has ended.
func (r *reader) catchUp(buf []byte) (over bool) {
	r.mu.Lock()
	flushed, last := r.flushed, r.last
	r.flushed = nil
	_ = r.f.SetReadDeadline(time.Time{})
	r.mu.Unlock()
	if flushed != nil {
		defer close(flushed)
	}
	for total := 0; total < capacity; {
		n, err := r.readNow(buf)
		if n > 0 {
			total += n
			r.deliver(r.stream, buf[:n])
		}
		if errors.Is(err, syscall.EAGAIN) {
			return last
		}
		if err != nil {
			return true
		}
	}
	return last
}

// readNow is a non-blocking read: EAGAIN without data, io.EOF at the end.
func (r *reader) readNow(buf []byte) (n int, err error) {
	raw, err := r.f.SyscallConn()
	if err != nil {
		return 0, err
	}
	closed := raw.Read(func(fd uintptr) bool {
		for {
			n, err = syscall.Read(int(fd), buf)
			if !errors.Is(err, syscall.EINTR) {
				return true
			}
		}
	})
	switch {
	case closed != nil:
		return 0, closed
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}
