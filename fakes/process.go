package fakes

import (
	"fmt"
	"sync"
	"syscall"
	"time"

	"assay/fakes/virtual"
	envd "assay/internal/envd/process"
)

// spec is what a client asked to be run.
type spec struct {
	config  *envd.ProcessConfig // as requested; List shows it unchanged
	command string              // what GET /commands shows
	tag     *string
	user    string
	sandbox string // for the wrapper's {sandbox}
	input   bool   // stdin is open
	pty     *virtual.Size
	// limit is how long it may run in real time, 0 for ever.
	limit time.Duration
}

// cause says who ended a process.
type cause int

const (
	byItself cause = iota
	byKill         // SIGKILL or /kill through the gateway
	byDeadline
)

// ending is how a process ended, in the words of an end event.
type ending struct {
	code   int32
	exited bool
	status string
	err    string // "" is absent
	at     time.Time
}

// endingOf translates a status the way Go's os.ProcessState prints it, which is
// what the real daemon sends.
func endingOf(st virtual.Status) ending {
	if st.Signal != 0 {
		text := "signal: " + st.Signal.String()
		return ending{code: -1, status: text, err: text}
	}
	text := fmt.Sprintf("exit status %d", st.Code)
	e := ending{code: int32(st.Code), exited: true, status: text}
	if st.Code != 0 {
		e.err = text
	}
	return e
}

// process is one entry of the table.
type process struct {
	spec
	pid     uint32
	serial  uint64 // order of starts: the younger of two processes with one tag is meant
	started time.Time
	run     sandboxProcess
	stdin   stdinPump
	hub     *hub
	out     output
	// reader, when set, can be told to lose the last chunk.
	reader *hastyReader

	// abandon is closed when nobody waits for its output to be drained any
	// more, but only for the process itself to be dead.
	abandon chan struct{}
	letGo   sync.Once

	// mu guards what follows. It is taken inside the table's lock, never around it.
	mu       sync.Mutex
	live     bool
	cause    cause
	termed   bool // SIGTERM was sent through the gateway
	result   *ending
	stopTime func() bool // of the time limit
	stopKeep func() bool // of the retention
}

// abandonOutput stops the wait for whoever else holds the output.
func (p *process) abandonOutput() { p.letGo.Do(func() { close(p.abandon) }) }

// ending is how p ended, or nil while its end event is not known.
func (p *process) ending() *ending {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.result
}

// isLive reports whether p is in the table of live processes.
func (p *process) isLive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.live
}

// endedBy says who ended p.
func (p *process) endedBy() cause {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cause
}

// finalStatus is the status that the books and the end event agree on: a kill
// that was accepted is how the process died, even if it was about to exit.
func (p *process) finalStatus() virtual.Status {
	if p.endedBy() != byItself {
		return virtual.Status{Signal: syscall.SIGKILL}
	}
	return p.run.Status()
}
