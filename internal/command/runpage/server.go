package runpage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"assay/internal/base/crash"
	"assay/internal/base/termsafe"
	"assay/reports/page"
)

const (
	// pace is the time between two messages to the readers.
	pace = 500 * time.Millisecond
	// inbox is how many messages a reader may be behind, and mostReaders how many there are.
	inbox, mostReaders = 16, 32
	// writeLimit is how long one message may take, and endLimit how long the last one may delay the end of the program.
	writeLimit, endLimit = 5 * time.Second, 500 * time.Millisecond
)

// ErrAddress means that the page must not be served on an address.
var ErrAddress = errors.New("want 127.0.0.1:PORT: the page is only for people on this machine")

// CheckAddress returns an error unless an address is HOST:PORT on a loopback interface.
func CheckAddress(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil || !loopback(host) {
		return ErrAddress
	}
	return nil
}

// loopback reports whether a host is this machine, and nobody else's name.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// Server shows a run. Its methods may be called by several goroutines, and on nil.
type Server struct {
	face     Face
	clean    func([]byte) []byte
	listener net.Listener
	server   *http.Server
	served   chan struct{} // closed when no connection is accepted any more
	quit     chan struct{} // closed by Close
	told     chan struct{} // closed when no reader is told anything any more
	readers  crash.Group

	mu    sync.Mutex
	state *state
	all   map[chan []byte]struct{}
	over  bool
	close sync.Once
}

// Listen serves the page on an address that CheckAddress accepts. Everything that is sent
// goes through clean first, if it is not nil.
func Listen(ctx context.Context, addr string, face Face, clean func([]byte) []byte) (*Server, error) {
	if err := CheckAddress(addr); err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if clean == nil {
		clean = func(p []byte) []byte { return p }
	}
	s := &Server{
		face: face, clean: clean, listener: l, state: newState(), all: map[chan []byte]struct{}{},
		served: make(chan struct{}), quit: make(chan struct{}), told: make(chan struct{}),
	}
	s.server = &http.Server{Handler: s.handler(), ReadHeaderTimeout: writeLimit, MaxHeaderBytes: 16 << 10}
	crash.Go(func() {
		defer close(s.served)
		_ = s.server.Serve(l) // ends by Close
	})
	crash.Go(s.tell)
	return s, nil
}

// URL returns the address of the page.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/" }

// Sentence sets the text below the title.
func (s *Server) Sentence(text string) {
	s.change(func(st *state) { st.sentence(termsafe.Text(text)) })
}

// Facts sets the values of all facts of the face.
func (s *Server) Facts(values ...string) { s.change(func(st *state) { st.facts(values) }) }

// Moment adds a value to each series of a chart of the face. NaN is none.
func (s *Server) Moment(chart string, x float64, values ...float64) {
	s.change(func(st *state) { st.moment(chart, append(moment{x}, values...)) })
}

// Entry adds a line to the list.
func (s *Server) Entry(e Entry) {
	e.Word, e.Text = termsafe.Text(e.Word), termsafe.Text(e.Text)
	s.change(func(st *state) { st.entry(e) })
}

// End shows how the run ended. Only the first call counts.
func (s *Server) End(v Verdict) {
	v.Word, v.Sentence = termsafe.Text(v.Word), termsafe.Text(v.Sentence)
	s.change(func(st *state) {
		if st.whole.Verdict == nil {
			st.end(v)
		}
	})
}

func (s *Server) change(how func(*state)) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	how(s.state)
}

// withoutVerdict is how a run ends that End was not called for.
var withoutVerdict = Verdict{Tone: page.Warn, Symbol: "?", Word: "Ended", Sentence: "The run ended without a verdict; the terminal says why."}

// Close tells the readers what they do not know yet, and stops the server. It waits only for
// those that read: half a second at most.
func (s *Server) Close() {
	if s == nil {
		return
	}
	s.close.Do(func() {
		s.End(withoutVerdict)
		close(s.quit)
		<-s.told
		ctx, cancel := context.WithTimeout(context.Background(), endLimit)
		defer cancel()
		if s.server.Shutdown(ctx) != nil { // some reader does not read
			_ = s.server.Close()
		}
		<-s.served
		s.readers.Wait() // a write fails when its connection is closed
	})
}

// tell sends what has changed to the readers, until Close.
func (s *Server) tell() {
	defer close(s.told)
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.flush()
		case <-s.quit:
			s.flush()
			s.dismiss()
			return
		}
	}
}

// flush sends what has changed. A reader whose inbox is full is dropped.
func (s *Server) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.state.take()
	if m == nil {
		return
	}
	text := s.event(m)
	for r := range s.all {
		select {
		case r <- text:
		default:
			s.drop(r)
		}
	}
}

// dismiss ends all readers, and lets no more in.
func (s *Server) dismiss() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for r := range s.all {
		s.drop(r)
	}
}

// drop ends a reader behind what is in its inbox. The caller holds the lock.
func (s *Server) drop(r chan []byte) {
	if _, ok := s.all[r]; ok {
		delete(s.all, r)
		close(r)
	}
}

// join returns the inbox of a new reader, which has the whole state; nil if there are too many.
func (s *Server) join() chan []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || len(s.all) >= mostReaders {
		return nil
	}
	r := make(chan []byte, inbox)
	r <- s.event(&s.state.whole)
	s.all[r] = struct{}{}
	s.readers.Add(1)
	return r
}

// event returns a message in the format of server-sent events.
func (s *Server) event(m *message) []byte {
	text, err := json.Marshal(m)
	if err != nil { // no value of a message can fail
		text = []byte("{}")
	}
	return fmt.Appendf(nil, "data: %s\n\n", s.clean(text))
}

// handler serves the page and its events, to those who asked for this machine by a name of
// this machine: a website that resolves its own name to 127.0.0.1 gets nothing.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /events", s.events)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer crash.Catch()
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if !loopback(strings.Trim(host, "[]")) {
			http.Error(w, "this page is only for 127.0.0.1", http.StatusMisdirectedRequest)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	d := document(&s.face, &s.state.whole)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", d.Policy()+"; frame-ancestors 'none'")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeLimit))
	_ = page.Write(cleaned{w, s.clean}, d) // the reader has gone
}

// cleaned is a response without secrets. The page is one write.
type cleaned struct {
	http.ResponseWriter
	clean func([]byte) []byte
}

// Write writes p without secrets.
func (c cleaned) Write(p []byte) (int, error) { return c.ResponseWriter.Write(c.clean(p)) }

func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	in := s.join()
	if in == nil {
		http.Error(w, "too many readers, or the run has ended", http.StatusServiceUnavailable)
		return
	}
	defer s.readers.Done()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(in)
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	for {
		select {
		case <-r.Context().Done():
			return
		case text, open := <-in:
			if !open {
				return
			}
			_ = control.SetWriteDeadline(time.Now().Add(writeLimit))
			if _, err := w.Write(text); err != nil {
				return
			}
			if err := control.Flush(); err != nil {
				return
			}
		}
	}
}
