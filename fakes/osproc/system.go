//go:build unix

package osproc

import (
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"assay/fakes/virtual"
	"assay/internal/base/machine"
)

// Options configure a system. The zero value is the default.
type Options struct {
	// Home is the home directory of every user, and the base of relative directories. "" is the user's home on the host, or for an unknown user
	// the home of this program's own user.
	Home string
}

// System starts real processes and can end all of them. Create it with [New]. It is safe for concurrent use.
type System struct {
	options Options
	files   *files
	caught  chan os.Signal // receives signals that children must not ignore

	mu       sync.Mutex
	live     map[*Process]struct{}  // not yet drained
	left     map[int]bool           // sessions with members after their leader has drained; true for those with a terminal
	catching map[os.Signal]struct{} // signals sent to caught
}

// New creates a system. Without processes it needs no closing.
func New(o Options) *System {
	s := &System{
		options: o, caught: make(chan os.Signal, 1),
		live: make(map[*Process]struct{}), left: make(map[int]bool), catching: make(map[os.Signal]struct{}),
	}
	s.files = &files{own: o.Home != "", home: func() string {
		_, home := s.account("")
		return home
	}}
	s.restoreSignals(inheritedIgnores())
	return s
}

// Start starts a process and returns at once. Its error is always a [*virtual.SpawnError]: the errors of package virtual, with the same text,
// and errors of the host (no memory, no descriptors). Later errors are an exit code and text on stderr. A running process uses up to four
// descriptors and four goroutines.
//
// PATH is the host's; HOME, USER and LOGNAME are the user's. Nothing else of this program's environment is passed on.
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
		return nil, &virtual.SpawnError{Reason: err.Error(), Exhausted: errors.Is(err, syscall.EAGAIN) || machine.Exhausted(err)}
	}
	return p, nil
}

// KillAll kills every process of the system, including those in the sessions of ended ones, and returns when they are gone. A process out of
// reach (after setsid) loses its output, so every Drained is closed unless an Output blocks. It does not prevent a later Start, so the caller
// must stop starting first.
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

// remove removes a drained process. KillAll still covers its session if that has members.
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

// killGrace is the time for the last output of a killed process while Output blocks: longer than a delivery, shorter than any timeout of a
// client.
const killGrace = time.Second
