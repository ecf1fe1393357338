package controlplane

import (
	"maps"
	"net/http"
	"sync"
	"time"

	"assay/fakes/gateway"
	"assay/internal/base/crash"
)

// State is the state of a sandbox as the API shows it.
type State string

// The states. A sandbox that has ended is not shown.
const (
	Running State = "running"
	Paused  State = "paused"
	ended   State = "ended"
)

// Spec is a request for a sandbox.
type Spec struct {
	Template string
	Timeout  time.Duration
	Metadata map[string]string
	Envs     map[string]string
	// Secure requires a token of requests to the sandbox.
	Secure bool
	// AutoPause pauses the sandbox at its deadline instead of ending it, and AutoResume
	// resumes it when a request to it comes.
	AutoPause, AutoResume bool
}

// Info is a snapshot of a sandbox.
type Info struct {
	Spec
	ID, Token    string
	State        State
	Started, End time.Time
	Log          []LogEntry
}

// Sandbox is one sandbox. It ends once, by a deletion, at its deadline or with its
// plane, and is then not found any more.
type Sandbox struct {
	spec      Spec
	id, token string
	gateway   *gateway.Gateway
	max       time.Duration // from started to the deadline
	release   func()        // runs after the end

	mu      sync.Mutex
	state   State
	started time.Time // at creation or the last resumption
	end     time.Time // the deadline; of a paused sandbox the time of the pause
	stop    func() bool
	turn    int // counts the changes of the deadline: an earlier timer has no effect
	traffic map[*passage]struct{}
	log     []LogEntry
}

// run starts the time of a sandbox.
func (s *Sandbox) run(d time.Duration, how string) {
	s.state, s.started = Running, time.Now()
	s.until(s.started.Add(d))
	s.note(how)
}

// until sets the deadline, within the maximum. Called with mu held.
func (s *Sandbox) until(end time.Time) {
	if latest := s.started.Add(s.max); end.After(latest) {
		end = latest
	}
	s.halt()
	s.end = end
	turn := s.turn
	s.stop = time.AfterFunc(time.Until(end), func() {
		defer crash.Catch()
		s.expire(turn)
	}).Stop
}

// halt stops the timer of the deadline. Called with mu held.
func (s *Sandbox) halt() {
	s.turn++
	if s.stop != nil {
		s.stop()
	}
}

// expire ends or pauses the sandbox at a deadline that is still the current one.
func (s *Sandbox) expire(turn int) {
	s.mu.Lock()
	if s.turn != turn || s.state != Running {
		s.mu.Unlock()
		return
	}
	if s.spec.AutoPause {
		s.rest("paused at its deadline")
		s.mu.Unlock()
		return
	}
	s.finish()
	s.mu.Unlock()
	s.clear()
}

// rest pauses the sandbox. Its processes go on without connections. Called with mu held.
func (s *Sandbox) rest(how string) {
	s.halt()
	s.state, s.end = Paused, time.Now()
	s.note(how)
	s.cut()
}

// finish marks the end and cuts all connections. Called with mu held.
func (s *Sandbox) finish() {
	s.halt()
	s.state = ended
	s.cut()
}

// cut ends all requests to the sandbox. Called with mu held.
func (s *Sandbox) cut() {
	for p := range s.traffic {
		p.cut()
	}
	clear(s.traffic)
}

// clear ends the processes, and returns when nothing of the sandbox is left.
func (s *Sandbox) clear() {
	_ = s.gateway.Close() // only temporary files can remain, and nobody can do anything about those
	s.release()
}

// kill ends the sandbox; false means that it has ended before.
func (s *Sandbox) kill() bool {
	s.mu.Lock()
	if s.state == ended {
		s.mu.Unlock()
		return false
	}
	s.finish()
	s.mu.Unlock()
	s.clear()
	return true
}

// info returns a snapshot; ok is false after the end.
func (s *Sandbox) info() (i Info, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot(), s.state != ended
}

// snapshot is info with mu held.
func (s *Sandbox) snapshot() Info {
	i := Info{Spec: s.spec, ID: s.id, Token: s.token, State: s.state, Started: s.started.Round(0), End: s.end.Round(0), Log: s.log[:len(s.log):len(s.log)]}
	i.Metadata = maps.Clone(i.Metadata)
	return i
}

// running returns why a sandbox does not run, or nil. Called with mu held.
func (s *Sandbox) running() error {
	switch s.state {
	case Running:
		return nil
	case Paused:
		return failure(http.StatusConflict, "sandbox %q is paused: connect to it first", s.id)
	default:
		return notFound(s.id)
	}
}

// setTimeout sets the deadline, also to an earlier one.
func (s *Sandbox) setTimeout(d time.Duration) error {
	s.mu.Lock()
	if err := s.running(); err != nil {
		s.mu.Unlock()
		return err
	}
	if d > 0 {
		s.until(time.Now().Add(d))
		s.note("timeout set to " + d.String())
		s.mu.Unlock()
		return nil
	}
	turn := s.turn
	s.mu.Unlock()
	s.expire(turn) // now
	return nil
}

// extend moves the deadline away from now, never nearer.
func (s *Sandbox) extend(d time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.running()
	if err == nil {
		s.later(d)
	}
	return err
}

// later extends the time of a running sandbox. Called with mu held.
func (s *Sandbox) later(d time.Duration) {
	if end := time.Now().Add(d); end.After(s.end) {
		s.until(end)
	}
}

// connect resumes a paused sandbox, or extends the time of a running one.
func (s *Sandbox) connect(d time.Duration) (i Info, resumed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.state {
	case Running:
		s.later(d)
		return s.snapshot(), false, nil
	case Paused:
		s.run(d, "resumed")
		return s.snapshot(), true, nil
	default:
		return i, false, notFound(s.id)
	}
}

// pause cuts all connections and keeps the processes and files.
func (s *Sandbox) pause() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.state {
	case Running:
		s.rest("paused")
		return nil
	case Paused:
		return failure(http.StatusConflict, "sandbox %q is already paused", s.id)
	default:
		return notFound(s.id)
	}
}
