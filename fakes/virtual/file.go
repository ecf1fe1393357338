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
	// errDead ends a blocking call of an ended process, so that its goroutine unwinds.
	errDead = errors.New("process has ended while it waited")
	// errInterrupted ends a blocking call for another reason: a trapped signal, a context.
	errInterrupted = errors.New("interrupted")
)

// stop ends a blocking call early. nil channels never do.
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

// noDelim is a read without a delimiter.
const noDelim = -1

// description is an open file. read returns at least one byte, at most limit, and ends after the first delim, if that is a byte; io.EOF at the end. The
// result belongs to the caller; it is allocated only when there is data, so that a waiting process is small. write writes all of b or fails.
type description interface {
	read(s stop, limit, delim int) ([]byte, error)
	write(s stop, b []byte) error
	close()
}

// file is a reference-counted description, shared by several descriptors of several processes. A nil file is a closed descriptor.
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

// take returns the bytes of one read from the front of data, without a copy.
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

// write fails for an ended process, so that a loop that writes to /dev/null can be killed.
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

// capture collects the output of $(…). It is complete when its last holder closes it.
type capture struct {
	null
	reader <-chan struct{} // closed when the reading shell has ended
	mu     sync.Mutex
	text   []byte
	over   bool // the output is too long
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
	if c.over = c.over || len(c.text)+len(b) > maxValue; c.over {
		return syscall.EPIPE
	}
	c.text = append(c.text, b...)
	return nil
}

// whole returns the output after the close, or errNoMemory.
func (c *capture) whole() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return nil, errNoMemory
	}
	return c.text, nil
}

func (c *capture) close() { close(c.closed) }
