package zoo

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"assay/internal/base/crash"
)

// frontLikes returns gateways that are the reference behind something that answers for it, refuses, delays or does nothing.
func frontLikes() []like {
	return []like{
		{"answers-after-20s", "a gateway that is very far away, or very busy", []deviation{{Deviation{
			ID:    "answers-after-20s",
			Title: "Every request waits for 20 s before it is served",
		}, delayed(20 * time.Second)}}},
		{"answers-after-300ms", "a gateway that is far away", []deviation{{Deviation{
			ID:    "answers-after-300ms",
			Title: "Every request waits for 300 ms before it is served",
		}, delayed(300 * time.Millisecond)}}},
		{"catch-all-json", "a server that has an answer to everything", []deviation{{Deviation{
			ID:    "every-path-json",
			Title: "Every request gets HTTP 200 with an empty JSON object",
		}, answersAll("application/json", "{}")}}},
		{"catch-all-page", "a web application, whose pages find their way themselves", []deviation{{Deviation{
			ID:    "every-path-page",
			Title: "Every request gets HTTP 200 with the same page",
		}, answersAll("text/html; charset=utf-8", page)}}},
		{"limit-5", "a gateway that limits its clients to almost nothing", []deviation{{Deviation{
			ID:    "limit-5",
			Title: "More than 5 requests a second get HTTP 429 with Retry-After",
		}, limitRequests(5, 5)}}},
		{"limit-25", "a gateway that limits its clients", []deviation{{Deviation{
			ID:    "limit-25",
			Title: "More than 25 requests a second get HTTP 429 with Retry-After",
		}, limitRequests(25, 25)}}},
		{"mute-stdio", "a gateway whose proxy upgrades connections, and passes nothing on", []deviation{{Deviation{
			ID:    "stdio-mute",
			Title: "After an accepted handshake, nothing is read or sent",
			Rules: []string{"stdio.session.delivers"},
		}, muteSockets}}},
		{"never-accepts", "a server that is stuck", []deviation{{Deviation{
			ID:    "never-accepts",
			Title: "Connections open, because the kernel opens them, and nothing is read or sent",
		}, onServer(func(_ *http.Server, l net.Listener) net.Listener {
			return &deafListener{Listener: l, closed: make(chan struct{})}
		})}}},
		{"page-beside", "a gateway beside a web application, and without any surface but processes", append(bareSurfaces(), deviation{Deviation{
			ID:    "unknown-path-page",
			Title: "Every request for an unknown path or procedure gets HTTP 200 with the same page",
		}, onPolicy(notFoundBy(answer("text/html; charset=utf-8", page)))})},
		{"proxy-502", "a gateway behind a proxy that loses it now and then", []deviation{{Deviation{
			ID:    "proxy-502",
			Title: "One request in 40 gets HTTP 502 with a page",
			Rules: []string{"run.front-answers"},
		}, loseToProxy}}},
	}
}

// page is a page for people.
const page = "<!doctype html>\n<html><head><title>Welcome</title></head><body><div id=\"root\"></div></body></html>\n"

// answersAll gives every request the same answer.
func answersAll(contentType, body string) func(*build) {
	return onFront(func(http.Handler) http.Handler { return answer(contentType, body) })
}

func answer(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body) // the client may be gone
	}
}

// delayed serves every request after d.
func delayed(d time.Duration) func(*build) {
	return func(b *build) {
		closed := make(chan struct{})
		whenClosed(b, func() error { close(closed); return nil })
		onAnswer(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			wait := time.NewTimer(d)
			defer wait.Stop()
			select {
			case <-wait.C:
				next.ServeHTTP(w, r)
			case <-r.Context().Done():
			case <-closed:
			}
		})(b)
	}
}

// lostRequests is the number of requests of which a proxy loses one.
const lostRequests = 40

// loseToProxy answers a share of the requests like a proxy that does not reach the gateway.
func loseToProxy(b *build) {
	lost := newShare(1, lostRequests, b.seed)
	onAnswer(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if !lost.strikes() {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n")
	})(b)
}

// deafListener never accepts a connection.
type deafListener struct {
	net.Listener
	once   sync.Once
	closed chan struct{}
}

func (l *deafListener) Accept() (net.Conn, error) {
	<-l.closed
	return nil, net.ErrClosed
}

func (l *deafListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// muteSockets accepts handshakes like the reference, which then believes that its client has gone.
func muteSockets(b *build) {
	closed := make(chan struct{})
	whenClosed(b, func() error { close(closed); return nil })
	onAttach(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		m := &muteWriter{writer: writer{w}}
		next.ServeHTTP(m, r)
		if m.client == nil {
			return
		}
		defer m.client.Close()
		gone := make(chan struct{})
		crash.Go(func() {
			defer close(gone)
			_, _ = io.Copy(io.Discard, m.client)
		})
		select {
		case <-gone:
		case <-closed:
		}
	})(b)
}

// muteWriter is a response writer that keeps the connection behind its head.
type muteWriter struct {
	writer
	client net.Conn
}

// Hijack returns a connection whose client has gone.
func (m *muteWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	var err error
	if m.client, _, err = http.NewResponseController(m.ResponseWriter).Hijack(); err != nil {
		return nil, nil, err
	}
	c, gone := net.Pipe()
	_ = gone.Close()
	return c, bufio.NewReadWriter(bufio.NewReader(c), bufio.NewWriter(c)), nil
}
