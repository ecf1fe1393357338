package virtual

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
)

var (
	// errDead ends a blocking call of a process that has ended: its goroutine unwinds.
	errDead = errors.New("process has ended while it waited")
	// errInterrupted ends a blocking call for another reason: a trapped signal, a context.
	errInterrupted = errors.New("interrupted")
)

// stop is what ends a blocking call early. nil channels never do.
type stop struct{ dead, intr <-chan struct{} }

// wait blocks until changed, dead or intr.
func (s stop) wait(changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-s.dead:
		return errDead
	case <-s.intr:
		return errInterrupted
	}
}

// noDelim is a read that does not end at a byte.
const noDelim = -1

// description is an open file. read returns at least one byte, at most limit, and ends behind the first delim when that is a byte; io.EOF at the end.
// What it returns is the caller's: nothing is allocated before there is something to return, so that a waiting process is small.
// write takes all of b or fails.
type description interface {
	read(s stop, limit, delim int) ([]byte, error)
	write(s stop, b []byte) error
	close()
}

// file is a reference-counted description, as several descriptors of several processes share it. A nil file is a closed descriptor.
type file struct {
	refs atomic.Int32
	desc description
}

func newFile(d description) *file {
	f := &file{desc: d}
	f.refs.Store(1)
	return f
}

func (f *file) dup() *file {
	if f != nil {
		f.refs.Add(1)
	}
	return f
}

func (f *file) close() {
	if f != nil && f.refs.Add(-1) == 0 {
		f.desc.close()
	}
}

// take cuts what one read returns from the front of data, without a copy.
func take(data []byte, limit, delim int) []byte {
	if len(data) > limit {
		data = data[:limit]
	}
	if delim >= 0 {
		if i := bytes.IndexByte(data, byte(delim)); i >= 0 {
			data = data[:i+1]
		}
	}
	return data
}

// null is /dev/null.
type null struct{}

func (null) read(stop, int, int) ([]byte, error) { return nil, io.EOF }
func (null) close()                              {}

// write fails for the dead, so that a loop which writes to nowhere can be killed.
func (null) write(s stop, _ []byte) error {
	select {
	case <-s.dead:
		return errDead
	default:
		return nil
	}
}

// zero is /dev/zero.
type zero struct{ null }

func (zero) read(s stop, limit, _ int) ([]byte, error) {
	select {
	case <-s.dead:
		return nil, errDead
	default:
		return make([]byte, min(limit, pipeSize)), nil
	}
}

// document is a here-document.
type document struct {
	null
	mu   sync.Mutex
	text []byte
}

func (d *document) read(_ stop, limit, delim int) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	got := take(d.text, limit, delim)
	if len(got) == 0 {
		return nil, io.EOF
	}
	d.text = d.text[len(got):]
	return got, nil
}

// maxCapture bounds what one $(…) may hold.
const maxCapture = 64 << 20

// capture collects the output of $(…). It is complete when the last holder has closed it.
type capture struct {
	null
	reader <-chan struct{} // closed when the shell that wants it has ended
	mu     sync.Mutex
	text   []byte
	closed chan struct{}
}

func (c *capture) write(s stop, b []byte) error {
	select {
	case <-c.reader:
		return syscall.EPIPE
	case <-s.dead:
		return errDead
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.text)+len(b) > maxCapture {
		return syscall.EPIPE
	}
	c.text = append(c.text, b...)
	return nil
}

func (c *capture) close() { close(c.closed) }
