package virtual

import (
	"io"
	"sync"
	"syscall"
)

// pipeSize is the capacity of a pipe, as on Linux.
const pipeSize = 64 << 10

// keepBuffer is the largest empty buffer that a pipe keeps.
const keepBuffer = 4 << 10

// pipe is a pipe in memory. The zero value is ready to use.
type pipe struct {
	mu          sync.Mutex
	buf         []byte
	off         int // buf[off:] is unread
	readClosed  bool
	writeClosed bool
	changed     chan struct{} // created by a waiter, closed at a change
}

// waiter returns a channel that is closed at the next change. The caller holds mu.
func (p *pipe) waiter() <-chan struct{} {
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return p.changed
}

// notify wakes all waiters. The caller holds mu.
func (p *pipe) notify() {
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// write blocks while the pipe is full. It returns EPIPE without a reader, and ErrStdinClosed if the writing end is closed.
func (p *pipe) write(s stop, b []byte) error {
	for {
		p.mu.Lock()
		switch {
		case p.writeClosed:
			p.mu.Unlock()
			return ErrStdinClosed
		case p.readClosed:
			p.mu.Unlock()
			return syscall.EPIPE
		}
		if room := pipeSize - (len(p.buf) - p.off); room > 0 && len(b) > 0 {
			n := min(room, len(b))
			p.compact(n)
			p.buf = append(p.buf, b[:n]...)
			b = b[n:]
			p.notify()
		}
		if len(b) == 0 {
			p.mu.Unlock()
			return nil
		}
		changed := p.waiter()
		p.mu.Unlock()
		if err := s.wait(changed); err != nil {
			return err
		}
	}
}

// compact makes room for n more bytes without growing the buffer needlessly.
func (p *pipe) compact(n int) {
	if p.off > 0 && len(p.buf)+n > cap(p.buf) {
		p.buf = p.buf[:copy(p.buf, p.buf[p.off:])]
		p.off = 0
	}
}

func (p *pipe) read(s stop, limit, delim int) ([]byte, error) {
	for {
		p.mu.Lock()
		if got := take(p.buf[p.off:], limit, delim); len(got) > 0 {
			out := append([]byte(nil), got...)
			p.off += len(got)
			if p.off == len(p.buf) {
				p.off = 0
				p.buf = p.buf[:0]
				if cap(p.buf) > keepBuffer && p.writeClosed {
					p.buf = nil
				}
			}
			p.notify()
			p.mu.Unlock()
			return out, nil
		}
		if p.writeClosed {
			p.mu.Unlock()
			return nil, io.EOF
		}
		if cap(p.buf) > keepBuffer {
			p.buf = nil // about to be idle
		}
		changed := p.waiter()
		p.mu.Unlock()
		if err := s.wait(changed); err != nil {
			return nil, err
		}
	}
}

func (p *pipe) closeRead() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readClosed = true
	p.buf, p.off = nil, 0
	p.notify()
}

func (p *pipe) closeWrite() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writeClosed = true
	p.notify()
}

// pipeReader and pipeWriter are the two ends as open files.
type pipeReader struct{ p *pipe }

func (r pipeReader) read(s stop, limit, delim int) ([]byte, error) { return r.p.read(s, limit, delim) }
func (r pipeReader) write(stop, []byte) error                      { return syscall.EBADF }
func (r pipeReader) close()                                        { r.p.closeRead() }

type pipeWriter struct{ p *pipe }

func (w pipeWriter) read(stop, int, int) ([]byte, error) { return nil, syscall.EBADF }
func (w pipeWriter) write(s stop, b []byte) error        { return w.p.write(s, b) }
func (w pipeWriter) close()                              { w.p.closeWrite() }

func newPipe() (r, w *file) {
	p := &pipe{}
	return newFile(pipeReader{p}), newFile(pipeWriter{p})
}
