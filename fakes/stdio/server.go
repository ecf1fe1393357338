package stdio

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"assay/internal/base/crash"
)

// The optional features. Without FeatureWS, none of them is there; who mounts the
// surface sees to that.
const (
	FeatureWS      = "stdio.ws"
	FeaturePTY     = "stdio.pty"
	FeatureSession = "stdio.session"
	FeatureShared  = "stdio.shared" // needs FeatureSession
	FeaturePanes   = "stdio.panes"
	FeatureEOF     = "stdio.eof"
)

// Features lists the optional features.
func Features() []string {
	return []string{FeatureWS, FeaturePTY, FeatureSession, FeatureShared, FeaturePanes, FeatureEOF}
}

// stopGrace is how long Close waits for the clients' part of the closing handshake.
const stopGrace = time.Second

// Options configure a Server.
type Options struct {
	// Caller returns what starts the commands of a request.
	Caller func(r *http.Request) Start
	// AfterFunc calls f in its own goroutine after d on the gateway's own clock.
	AfterFunc func(d time.Duration, f func()) (stop func() bool)
	// Without lists the features that are not served.
	Without []string
	// Sink decorates the messages to each client; nil changes nothing.
	Sink   func(next Sink) Sink
	Policy Policy
}

// Policy is how sessions behave. The zero value is the reference.
type Policy struct {
	// Replay is how much output a named session keeps for later clients, in bytes; 0 is
	// 256 KiB, and less than that nothing.
	Replay int
	// ViewersType lets viewers send input.
	ViewersType bool
}

// Server serves attach requests.
type Server struct {
	options   Options
	controls  map[string]func(c *client, m control) error
	followers crash.Group // of panes
	handlers  crash.Group

	mu       sync.Mutex
	sessions map[string]*session // with an id
	clients  map[*client]struct{}
	closed   bool
}

var _ http.Handler = (*Server)(nil)

// New creates a server.
func New(o Options) *Server {
	s := &Server{options: o, sessions: map[string]*session{}, clients: map[*client]struct{}{}}
	if !s.has(FeatureSession) {
		s.options.Without = append(s.options.Without, FeatureShared)
	}
	s.controls = s.newControls()
	return s
}

// usage is the answer to a request that is no upgrade.
const usage = `stdio over WebSocket: send this request with Upgrade: websocket.

  /attach?cmd=COMMAND&arg=ARGUMENT&arg=...

Binary messages from the gateway are output: byte 0 is the stream (1 stdout, 2 stderr), the rest is raw.
Binary messages to the gateway are stdin. Text messages are JSON:
  {"type":"resize","cols":80,"rows":24}   {"type":"signal","signal":"SIGINT"}   {"type":"exit","code":0}
`

// ServeHTTP serves one attach request, until its connection is closed.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !isUpgrade(r) {
		WriteText(w, http.StatusOK, usage)
		return
	}
	c, err := s.admit(w, r)
	if err != nil {
		status := http.StatusInternalServerError
		var refusal *Refusal
		if errors.As(err, &refusal) {
			status = refusal.Status
		}
		WriteText(w, status, err.Error())
		return
	}
	defer s.forget(c)
	h := &hijacker{ResponseWriter: w}
	ws, err := websocket.Accept(h, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // the origin was checked in front of all surfaces
		OnPingReceived:     c.admitPing,
	})
	if err != nil {
		c.leave()
		if h.conn != nil {
			h.conn.abort()
			<-h.conn.ended
		}
		return
	}
	ws.SetReadLimit(maxMessage)
	if s.connected(c, ws, h.conn) {
		c.run()
		return
	}
	defer time.AfterFunc(stopGrace, h.conn.abort).Stop()
	c.closeAtStop()
	<-h.conn.ended
}

// WriteText answers with plain text.
func WriteText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the client may be gone
}

// admit checks a request and joins its session.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) (*client, error) {
	if err := checkHandshake(w, r); err != nil {
		return nil, err
	}
	q, err := s.parse(r)
	if err != nil {
		return nil, err
	}
	if q.session != "" {
		return s.attach(q, s.options.Caller(r))
	}
	session, err := s.newSession(q, s.options.Caller(r))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enter(session, q.role, true)
}

// attach joins the session that a request names, or creates it. It holds mu while a process starts, so that two requests create one.
func (s *Server) attach(q request, start Start) (*client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if session := s.sessions[q.session]; session != nil {
		return s.enter(session, q.role, false)
	}
	switch {
	case q.role == viewer || q.Cmd == "":
		return nil, refuse(http.StatusNotFound, "there is no session %s", q.session)
	case len(s.sessions) >= maxSessions:
		return nil, refuse(http.StatusServiceUnavailable, "there are %d sessions", maxSessions)
	}
	session, err := s.newSession(q, start)
	if err != nil {
		return nil, err
	}
	s.sessions[q.session] = session
	return s.enter(session, q.role, true)
}

// enter adds a client to a session, and begins to follow a new one. Called with mu held.
func (s *Server) enter(session *session, as role, created bool) (*client, error) {
	c, err := session.join(as)
	if created {
		session.run(session.opened[0])
	}
	switch {
	case err != nil:
		return nil, err
	case s.closed:
		c.leave()
		return nil, refuse(http.StatusServiceUnavailable, "the gateway stops")
	}
	s.clients[c] = struct{}{}
	s.handlers.Add(1)
	return c, nil
}

// forget forgets a client whose handler ends.
func (s *Server) forget(c *client) {
	defer s.handlers.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, c)
}

// connected gives a client its connection. It returns false when the server is closed.
func (s *Server) connected(c *client, ws *websocket.Conn, conn *calmConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.ws, c.conn, c.sink = ws, conn, Sink(socket{ws})
	if s.options.Sink != nil {
		c.sink = s.options.Sink(c.sink)
	}
	return !s.closed
}

// Close closes the connections of all clients with 1001, and returns when they are closed. Call Wait once the processes are gone.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	var open []*client
	for c := range s.clients {
		if c.ws != nil {
			open = append(open, c)
		}
	}
	s.mu.Unlock()
	for _, c := range open {
		crash.Go(func() {
			c.closeAtStop()
		})
	}
	stop := time.AfterFunc(stopGrace, func() {
		for _, c := range open {
			c.conn.abort()
		}
	}).Stop
	s.handlers.Wait()
	stop()
}

// Wait waits until nothing follows a process any more.
func (s *Server) Wait() { s.followers.Wait() }
