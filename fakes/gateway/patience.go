package gateway

import (
	"io"
	"net/http"
	"sync"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"assay/fakes/strict"
	"assay/internal/crash"
)

// bodyIdle is how long a request may send nothing of its body. A body that is a stream of messages may pause for as long as a connection may be idle.
const bodyIdle = 30 * time.Second

// impatient ends the requests whose body stops.
type impatient struct {
	next    http.Handler
	idle    time.Duration
	streams map[string]bool // paths whose body is a stream of messages
}

// newImpatient returns the handler in front of the surfaces.
func newImpatient(next http.Handler, services ...protoreflect.ServiceDescriptor) impatient {
	h := impatient{next: next, idle: bodyIdle, streams: map[string]bool{}}
	for _, s := range services {
		for i := range s.Methods().Len() {
			if m := s.Methods().Get(i); m.IsStreamingClient() {
				h.streams["/"+string(s.FullName())+"/"+string(m.Name())] = true
			}
		}
	}
	return h
}

func (h impatient) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	closeAmbiguous(w, r)
	if r.Body == nil || r.Body == http.NoBody {
		h.next.ServeHTTP(w, r)
		return
	}
	idle := h.idle
	if h.streams[r.URL.Path] {
		idle = idleTimeout
	}
	// A timer that has fired is not waited for, and a ResponseWriter of HTTP/2 panics once its handler has returned.
	var mu sync.Mutex
	over := false
	expire := func() {
		defer crash.Catch()
		mu.Lock()
		defer mu.Unlock()
		if !over {
			_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) // a connection has deadlines
		}
	}
	body := &timedBody{ReadCloser: r.Body, idle: idle, timer: time.AfterFunc(idle, expire)}
	body.timer.Stop()
	r.Body = body
	defer func() {
		mu.Lock()
		over = true
		mu.Unlock()
		if body.timer.Stop(); !body.ended {
			strict.LimitRest(w) // the server reads the rest
		}
	}()
	h.next.ServeHTTP(w, r)
}

// timedBody runs a timer while a read waits.
type timedBody struct {
	io.ReadCloser
	idle  time.Duration
	timer *time.Timer
	ended bool
}

func (b *timedBody) Read(p []byte) (int, error) {
	b.timer.Reset(b.idle)
	n, err := b.ReadCloser.Read(p)
	b.timer.Stop()
	b.ended = b.ended || err != nil
	return n, err
}
