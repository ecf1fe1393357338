package zoo

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"assay/fakes/gateway"
	"assay/internal/base/crash"
)

// restartPause is how long a supervisor takes to start a gateway again: longer than a busy machine takes to look whether it
// still listens.
const restartPause = time.Second

// life is one process of a gateway that dies. At its end its listener, its connections and its commands are gone at once, and with
// them what it knew.
type life struct {
	boxes func() []gateway.Sandbox
	// again starts the next life at an address; nil: nobody does.
	again func(address string) (*gateway.Gateway, error)

	mu      sync.Mutex
	server  *http.Server // nil: another server calls ServeHTTP
	address string
	sockets []net.Conn // those that the server does not close, because they became WebSockets
	over    bool
	closed  bool // no next life begins
	next    *gateway.Gateway
}

// mortal returns the life of a gateway.
func mortal(b *build) *life {
	if b.life != nil {
		return b.life
	}
	l := &life{boxes: sandboxesOf(b)}
	b.life = l
	onServer(l.begin)(b)
	whenClosed(b, l.close)
	return l
}

// supervised starts a gateway that died again, at the same address.
func supervised(b *build) {
	o := b.from
	mortal(b).again = func(address string) (*gateway.Gateway, error) {
		o.Listen = address
		return Start(context.Background(), o)
	}
}

func (l *life) begin(s *http.Server, listener net.Listener) net.Listener {
	l.server, l.address = s, listener.Addr().String()
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateHijacked {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.sockets = append(l.sockets, c)
		}
	}
	return listener
}

// end ends the process of the gateway.
func (l *life) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	l.over = true
	if l.server != nil {
		_ = l.server.Close() // what cannot be closed is closed
	}
	for _, c := range l.sockets {
		_ = c.Close()
	}
	for _, box := range l.boxes() {
		box.KillAll()
	}
	if l.again != nil {
		time.AfterFunc(restartPause, l.restart)
	}
}

// restart begins the next life. Another program may have the port for a moment.
func (l *life) restart() {
	defer crash.Catch()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	var err error
	if l.next, err = l.again(l.address); err != nil {
		time.AfterFunc(restartPause, l.restart)
	}
}

// close closes the lives after this one.
func (l *life) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.next == nil {
		return nil
	}
	return l.next.Close()
}
