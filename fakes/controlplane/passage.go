package controlplane

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// errCut reports that a sandbox has ended or paused.
var errCut = errors.New("the sandbox does not run any more")

// passage is one request to a sandbox, or the connection that its handler took over.
// When the sandbox ends or pauses, the passage is cut: the client gets no more bytes,
// and its connection or HTTP/2 stream ends without an end of the response.
type passage struct {
	sandbox *Sandbox
	client  http.ResponseWriter
	cancel  context.CancelFunc

	mu    sync.Mutex
	over  bool     // cut
	taken net.Conn // once the handler has taken the connection over
	left  bool     // the handler has returned
}

// newPassage returns a passage and the request for the sandbox. The gateway of the
// sandbox sees a host without a dot, which it takes for its own.
func newPassage(s *Sandbox, w http.ResponseWriter, r *http.Request) (*passage, *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	r = r.WithContext(ctx)
	r.Host = s.id
	return &passage{sandbox: s, client: w, cancel: cancel}, r
}

// cut ends the request.
func (p *passage) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.cancel()
	switch {
	case p.taken != nil:
		p.taken.Close()
	case !p.left:
		control := http.NewResponseController(p.client) // a handler that reads or writes ends too
		_ = control.SetReadDeadline(time.Unix(1, 0))
		_ = control.SetWriteDeadline(time.Unix(1, 0))
	}
}

// leave ends the passage of a handler that has returned. After a cut it aborts the
// response, so that the client does not take what it has for the whole.
func (p *passage) leave() {
	p.mu.Lock()
	p.left = true
	over, taken := p.over, p.taken != nil
	p.mu.Unlock()
	p.cancel()
	if !taken {
		p.sandbox.forget(p)
	}
	if over && !taken {
		panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to cut a response
	}
}

// forget drops a passage that has ended.
func (s *Sandbox) forget(p *passage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.traffic, p)
}

// isCut reports whether the client gets no more bytes.
func (p *passage) isCut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over
}

// writer returns the response writer for the handler. Only if the connection can be
// taken over, it is a Hijacker.
func (p *passage) writer() http.ResponseWriter {
	w := &response{ResponseWriter: p.client, passage: p}
	if _, ok := p.client.(http.Hijacker); ok {
		return hijackable{w}
	}
	return w
}

// response drops what is written after the cut.
type response struct {
	http.ResponseWriter

	passage *passage
}

func (w *response) WriteHeader(status int) {
	if !w.passage.isCut() {
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *response) Write(b []byte) (int, error) {
	if w.passage.isCut() {
		return 0, errCut
	}
	return w.ResponseWriter.Write(b)
}

// Flush sends what was written. The next write finds out whether the client has gone.
func (w *response) Flush() { _ = w.FlushError() }

// FlushError sends what was written.
func (w *response) FlushError() error {
	if w.passage.isCut() {
		return errCut
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap returns the writer inside, for http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// hijackable is a response whose connection can be taken over.
type hijackable struct{ *response }

// Hijack gives the connection to the handler; the cut closes it.
func (w hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	p := w.passage
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return nil, nil, errCut
	}
	c, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	p.taken = c
	return takenConn{c, p}, rw, nil
}

// takenConn is a connection that the handler of a passage took over.
type takenConn struct {
	net.Conn

	passage *passage
}

// Close closes the connection and ends the passage.
func (c takenConn) Close() error {
	c.passage.sandbox.forget(c.passage)
	return c.Conn.Close()
}
