package osproc

import (
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"assay/fakes/virtual"
)

// Options configure a system. The zero value is the default.
type Options struct {
	// Home is the home directory of every user, and with it the directory where relative ones begin.
	// "" is the home that the host knows: the user's, and for a user whom it does not know that of this program's own user.
	Home string
}

// System starts real processes and can end them all. Make it with [New]. It is safe for concurrent use.
type System struct {
	options Options
	caught  chan os.Signal // where signals go that children shall not ignore

	mu       sync.Mutex
	live     map[*Process]struct{}  // not yet drained
	left     map[int]bool           // sessions whose leader has drained and that still have members; true for those of a terminal
	catching map[os.Signal]struct{} // what goes to caught
}

// New makes a system. It starts nothing and needs no closing while it has no processes.
func New(o Options) *System {
	s := &System{
		options: o, caught: make(chan os.Signal, 1),
		live: make(map[*Process]struct{}), left: make(map[int]bool), catching: make(map[os.Signal]struct{}),
	}
	s.restoreSignals(inheritedIgnores())
	return s
}

// Start starts a process and returns at once. Its error is always a [*virtual.SpawnError]: what package virtual refuses, in the same words,
// and what the host refuses (no memory, no descriptors). Everything that goes wrong later is an exit code and text on stderr.
// A running process costs up to four descriptors and four goroutines.
//
// PATH is the host's; HOME, USER and LOGNAME are the user's. Nothing else of this program's environment is handed on.
func (s *System) Start(spec virtual.Spec) (*Process, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	c, err := s.prepare(spec)
	if err != nil {
		return nil, err
	}
	s.restoreSignals(nil)
	p, err := s.spawn(spec, c)
	if err != nil {
		return nil, &virtual.SpawnError{Reason: err.Error()}
	}
	return p, nil
}

// KillAll ends every process of the system by SIGKILL, also those that an ended one has left behind in its session, and returns when they
// are gone. A process that is out of reach (it called setsid) loses its output: every Drained comes, when no Output blocks.
// Nothing prevents a Start afterwards, so the caller stops starting first.
func (s *System) KillAll() {
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.live))
	left := slices.Collect(maps.Keys(s.left))
	clear(s.left)
	s.mu.Unlock()

	var sessions []int
	for _, p := range all {
		p.killed()
		if p.sessionIsOurs() {
			sessions = append(sessions, int(p.pid))
		}
	}
	for _, id := range left {
		if !exists(id) {
			sessions = append(sessions, id)
		}
	}
	killSessions(sessions)
	for _, p := range all {
		<-p.exited
		p.letGo()
	}
}

func (s *System) add(p *Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[p] = struct{}{}
}

// remove forgets a drained process. Who still lives in its session is remembered for KillAll.
func (s *System) remove(p *Process) {
	members := sessionLives(int(p.pid), p.tty != nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, p)
	for id, terminal := range s.left {
		if !terminal && !groupLives(id) {
			delete(s.left, id)
		}
	}
	if members {
		s.left[int(p.pid)] = p.tty != nil
	}
}

// killGrace is how long a process that was killed through this package has for its last output while Output blocks. It is long against a
// delivery and short against what anybody waits for.
const killGrace = time.Second
