package stdio

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"assay/internal/base/crash"
)

// The bounds of sessions.
const (
	// detachTime is how long a named session remains without a client, on the gateway's own clock.
	detachTime = 60 * time.Second
	// replaySize is the output that a named session keeps for later clients.
	replaySize  = 256 << 10
	maxSessions = 1024 // with a name
	maxClients  = 64   // of a session
	maxPanes    = 16   // open in a session
	maxOpened   = 127  // in the life of a session: byte 0 of their messages is at most 254
)

// The reasons why a message is refused.
var (
	errViewer   = errors.New("a viewer sends no input")
	errTakeover = errors.New("another client is the driver now: this one is a viewer")
)

// session is one or more processes and their clients. An anonymous one, without an id, ends with its only client.
type session struct {
	server *Server
	id     string
	start  Start
	feed   *feed

	// mu may be locked under the server's, never the other way round.
	mu      sync.Mutex
	panes   map[string]*pane // that run
	opened  []*pane          // all, in order
	clients map[*client]struct{}
	driver  *client
	over    bool        // the first process has ended
	timers  int         // how many were started: an old one does nothing
	stop    func() bool // stops the last one
}

// newSession starts the first process of a session.
func (s *Server) newSession(q request, start Start) (*session, error) {
	p, err := start(q.Command)
	if err != nil {
		return nil, err
	}
	keep := 0
	if q.session != "" {
		keep = max(0, cmp.Or(s.options.Policy.Replay, replaySize))
	}
	ss := &session{server: s, id: q.session, start: start, feed: newFeed(keep), panes: map[string]*pane{}, clients: map[*client]struct{}{}}
	ss.add(newPane(ss, mainPane, 0, p, q.PTY != nil))
	return ss, nil
}

// add adds a pane.
func (s *session) add(p *pane) {
	s.panes[p.name] = p
	s.opened = append(s.opened, p)
}

// run begins to follow a pane.
func (s *session) run(p *pane) {
	s.server.followers.Add(1)
	crash.Go(p.run)
}

// join adds a client, which reads what is kept and all that follows.
func (s *session) join(as role) (*client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.clients) >= maxClients {
		return nil, refuse(http.StatusServiceUnavailable, "the session has %d clients", maxClients)
	}
	c := &client{server: s.server, session: s, role: as, reader: s.feed.join(), gone: make(chan struct{}), notice: make(chan error, 1)}
	for _, p := range s.opened[1:] {
		if p.openedAt < c.reader.next && (p.closedAt < 0 || p.closedAt >= c.reader.next) {
			c.prefix = append(c.prefix, p.openedText())
		}
	}
	s.clients[c] = struct{}{}
	if s.stop != nil {
		s.stop()
	}
	if as == driver {
		s.takeOver(c)
	}
	return c, nil
}

// takeOver makes c the driver; the present one becomes a viewer. Called with mu held.
func (s *session) takeOver(c *client) {
	if old := s.driver; old != nil {
		old.role = viewer
		old.notice <- errTakeover // has room: it happens once
	}
	s.driver = c
}

// leave removes a client. With the last one, an anonymous session ends, and the time of another begins.
func (s *session) leave(c *client) {
	s.mu.Lock()
	delete(s.clients, c)
	if s.driver == c {
		s.driver = nil
	}
	s.feed.leave(c.reader)
	last := len(s.clients) == 0
	if last && s.id != "" {
		s.timers++
		serial := s.timers
		s.stop = s.server.options.AfterFunc(detachTime, func() { s.expire(serial) })
	}
	s.mu.Unlock()
	if last && s.id == "" {
		s.hangUp()
	}
}

// expire ends a session that has had no client for detachTime.
func (s *session) expire(serial int) {
	s.server.mu.Lock()
	s.mu.Lock()
	due := s.timers == serial && len(s.clients) == 0
	if due {
		s.forget()
	}
	s.mu.Unlock()
	s.server.mu.Unlock()
	if due {
		s.hangUp()
	}
}

// forget frees the id of the session. Called with the server's mu held.
func (s *session) forget() {
	if s.server.sessions[s.id] == s {
		delete(s.server.sessions, s.id)
	}
}

// hangUp tells all processes that the clients are gone.
func (s *session) hangUp() {
	s.mu.Lock()
	running := make([]*pane, 0, len(s.panes))
	for _, p := range s.panes {
		running = append(running, p)
	}
	s.mu.Unlock()
	for _, p := range running {
		p.hangUp()
	}
}

// ended records the end of a pane. The end of the first, and lost output of any, is the end of the session.
func (s *session) ended(p *pane, e ending) {
	s.mu.Lock()
	if s.panes[p.name] == p {
		delete(s.panes, p.name)
	}
	if p.number > 0 && e.err == nil {
		p.closedAt = s.feed.add(message{data: encode(closedText{"closed", p.name, e.code})})
		s.mu.Unlock()
		return
	}
	s.over = true
	s.feed.end(e)
	s.mu.Unlock()
	if e.err != nil { // nobody can read it to its end
		s.server.mu.Lock()
		s.forget()
		s.server.mu.Unlock()
	}
	s.hangUp()
}

// openedText is the message about a new pane.
func (p *pane) openedText() message {
	return message{data: encode(openedText{"opened", p.name, p.stream(false), p.stream(true)})}
}

// open starts another process.
func (s *session) open(name string, c Command) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
		return nil
	case !isName(name):
		return fmt.Errorf("pane %s", badName)
	case s.panes[name] != nil:
		return fmt.Errorf("pane %s is open", quoted(name))
	case len(s.panes) >= maxPanes || len(s.opened) >= maxOpened:
		return fmt.Errorf("at most %d panes may be open, and %d in the life of a session", maxPanes, maxOpened)
	}
	process, err := s.start(c)
	if err != nil {
		return err
	}
	p := newPane(s, name, len(s.opened), process, c.PTY != nil)
	s.add(p)
	p.openedAt = s.feed.add(p.openedText())
	s.run(p)
	return nil
}

// pane returns a running pane; nil when the session is over.
func (s *session) pane(name string) (*pane, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.panes[name]
	if p == nil && !s.over {
		return nil, fmt.Errorf("no pane %s", quoted(name))
	}
	if s.over {
		return nil, nil
	}
	return p, nil
}

// mayInput reports whether a client may send input.
func (s *session) mayInput(c *client) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.role != viewer || s.server.options.Policy.ViewersType
}

// has reports whether a feature is served.
func (s *Server) has(f string) bool { return !slices.Contains(s.options.Without, f) }
