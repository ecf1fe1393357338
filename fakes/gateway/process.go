package gateway

import (
	"fmt"
	"sync"
	"syscall"
	"time"

	"assay/fakes/virtual"
	envd "assay/internal/envd/process"
)

// Spec is a request to run a command.
type Spec struct {
	Config  *envd.ProcessConfig // as requested; List shows it
	Command string              // what GET /commands shows
	Tag     *string
	User    string
	Sandbox string        // replaces {sandbox} in Options.Wrap
	Stdin   bool          // stdin is open
	PTY     *virtual.Size // nil: no terminal
	// Limit is how long the process may run in real time; 0 is no limit.
	Limit time.Duration
	// Raw publishes output as it was written, not line by line.
	Raw bool
	// Patience is how long the process waits for readers that take nothing; 0 is the default.
	Patience time.Duration
	// Before holds words in front of the command: a program that finally execs the
	// command.
	Before []string
}

// cause is the reason why a process ended.
type cause int

const (
	byItself cause = iota
	byKill         // SIGKILL or /kill through the gateway
	byDeadline
)

// Ending is the content of an end event.
type Ending struct {
	Code   int32
	Exited bool
	Status string
	Err    string // "" is absent
	At     time.Time
}

// EndingOf formats a status like Go's os.ProcessState, as the real daemon does.
func EndingOf(st virtual.Status) Ending {
	if st.Signal != 0 {
		text := "signal: " + st.Signal.String()
		return Ending{Code: -1, Status: text, Err: text}
	}
	text := fmt.Sprintf("exit status %d", st.Code)
	e := Ending{Code: int32(st.Code), Exited: true, Status: text}
	if st.Code != 0 {
		e.Err = text
	}
	return e
}

// Process is one entry of the table.
type Process struct {
	Spec
	PID     uint32
	serial  uint64 // order of starts: a tag selects the youngest process that has it
	started time.Time
	run     Run
	input   Input
	hub     *hub
	out     Output

	// abandon is closed when nothing waits for the output to drain any more; only the
	// process itself must still die.
	abandon chan struct{}
	letGo   sync.Once

	// mu guards the fields below. It may be locked under the table's lock, never the
	// other way round.
	mu       sync.Mutex
	live     bool
	cause    cause
	sent     uint64 // signals that were sent through the gateway: bit n is signal n
	result   *Ending
	stopTime func() bool // stops the time limit
}

// Abandon stops the wait for other holders of the output.
func (p *Process) Abandon() { p.letGo.Do(func() { close(p.abandon) }) }

// Abandoned is closed by Abandon.
func (p *Process) Abandoned() <-chan struct{} { return p.abandon }

// Drained is closed when no process holds the output of p any more.
func (p *Process) Drained() <-chan struct{} { return p.run.Drained() }

// ending returns how p ended, or nil while its end event is unknown.
func (p *Process) ending() *Ending {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.result
}

// isLive reports whether p is in the table of live processes.
func (p *Process) isLive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.live
}

// endedBy returns the reason why p ended.
func (p *Process) endedBy() cause {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cause
}

// Killed reports whether the gateway ended p: by SIGKILL, /kill or a deadline.
func (p *Process) Killed() bool { return p.endedBy() != byItself }

// Status returns the status in the books and in the end event: after an accepted kill,
// the process died of it, even if it was about to exit.
func (p *Process) Status() virtual.Status {
	if p.Killed() {
		return virtual.Status{Signal: syscall.SIGKILL}
	}
	return p.run.Status()
}
