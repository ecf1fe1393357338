package reproduce

import (
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"assay/internal/target/transport"
)

// parts are the bytes that a recording sends at once, and after the request.
type parts struct {
	first []byte
	rest  []arrival
	end   bool // the peer closes the connection afterwards
}

// recording is a connection whose peer sends recorded bytes, whatever it receives.
// The recorded pauses advance the clock, so that playing them takes no time.
type recording struct {
	clock *transport.Clock
	left  parts
	last  time.Duration // time of the previous piece
	asked chan struct{} // closed when the requests have been sent
	told  chan struct{} // closed when every byte has been read and decoded
	gone  chan struct{} // closed by Close

	tell, leave sync.Once
}

func newRecording(clock *transport.Clock, p parts) *recording {
	p.rest = slices.Clone(p.rest)
	r := &recording{clock: clock, left: p, asked: make(chan struct{}), told: make(chan struct{}), gone: make(chan struct{})}
	if len(p.rest) > 0 {
		r.last = p.rest[0].after
	}
	return r
}

// Read returns the next piece. The reader has decoded all previous pieces by then.
func (r *recording) Read(p []byte) (int, error) {
	if len(r.left.first) > 0 {
		n := copy(p, r.left.first)
		r.left.first = r.left.first[n:]
		return n, nil
	}
	select {
	case <-r.asked:
	case <-r.gone:
		return 0, net.ErrClosed
	}
	for len(r.left.rest) > 0 {
		next := &r.left.rest[0]
		if len(next.data) == 0 {
			r.left.rest = r.left.rest[1:]
			continue
		}
		r.clock.Advance(next.after - r.last)
		r.last = next.after
		n := copy(p, next.data)
		next.data = next.data[n:]
		return n, nil
	}
	r.tell.Do(func() { close(r.told) })
	if r.left.end {
		return 0, io.EOF
	}
	<-r.gone
	return 0, net.ErrClosed
}

func (r *recording) Write(p []byte) (int, error) { return len(p), nil }

func (r *recording) Close() error {
	r.leave.Do(func() { close(r.gone) })
	return nil
}

func (r *recording) LocalAddr() net.Addr              { return recorded{} }
func (r *recording) RemoteAddr() net.Addr             { return recorded{} }
func (r *recording) SetDeadline(time.Time) error      { return nil }
func (r *recording) SetReadDeadline(time.Time) error  { return nil }
func (r *recording) SetWriteDeadline(time.Time) error { return nil }

// recorded is the address of a peer that is a recording.
type recorded struct{}

func (recorded) Network() string { return "recorded" }
func (recorded) String() string  { return "recorded" }
