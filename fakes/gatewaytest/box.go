package gatewaytest

import (
	"context"
	"sync"
	"syscall"

	"assay/fakes/virtual"
	"assay/internal/base/crash"
)

// Box is a sandbox whose processes do what a test tells them to.
type Box struct {
	mu    sync.Mutex
	last  uint32
	procs []*Process
	// Program, when set, runs as every process; its result is the exit code.
	Program func(p *Process) int
}

// Process ends when its program returns, when it is told to, or by a signal.
type Process struct {
	Spec    virtual.Spec
	pid     uint32
	mu      sync.Mutex
	status  virtual.Status
	over    bool
	holders int // & children that hold the output
	// OnSignal, when set, runs instead of a death by a signal.
	OnSignal func(syscall.Signal)
	exited   chan struct{}
	drained  chan struct{}
}

// Start starts a process; the directory /missing does not exist, and in /full there is no memory.
func (b *Box) Start(spec virtual.Spec) (*Process, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if spec.Dir == "/missing" {
		return nil, &virtual.SpawnError{Reason: "cwd '/missing' does not exist"}
	}
	if spec.Dir == "/full" {
		return nil, &virtual.SpawnError{Reason: "cannot allocate memory", Exhausted: true}
	}
	b.last++
	p := &Process{Spec: spec, pid: b.last, exited: make(chan struct{}), drained: make(chan struct{})}
	b.procs = append(b.procs, p)
	if b.Program != nil {
		crash.Go(func() { p.Exit(virtual.Status{Code: b.Program(p)}) })
	}
	return p, nil
}

// KillAll kills every process.
func (b *Box) KillAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.procs {
		p.Exit(virtual.Status{Signal: syscall.SIGKILL})
	}
}

// At returns the n-th started process.
func (b *Box) At(n int) *Process {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.procs[n]
}

// Print writes to stdout.
func (p *Process) Print(text string) { p.Spec.Output(virtual.Stdout, []byte(text)) }

// Exit ends the process; the first end counts.
func (p *Process) Exit(st virtual.Status) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return false
	}
	p.over, p.status = true, st
	close(p.exited)
	if p.holders == 0 {
		close(p.drained)
	}
	return true
}

// Hold lets n & children hold the output after the exit.
func (p *Process) Hold(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holders = n
}

// LetGo simulates the exit of the last holder of the output.
func (p *Process) LetGo() { close(p.drained) }

// PID returns the number of the process in its box.
func (p *Process) PID() uint32 { return p.pid }

// Exited is closed at the exit.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Drained is closed when no process holds the output any more.
func (p *Process) Drained() <-chan struct{} { return p.drained }

// Status returns how the process ended.
func (p *Process) Status() virtual.Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// Write drops input.
func (p *Process) Write(context.Context, []byte) error { return nil }

// CloseStdin does nothing.
func (p *Process) CloseStdin() {}

// Resize fails: there is no terminal.
func (p *Process) Resize(virtual.Size) error { return virtual.ErrNoTerminal }

// Signal ends the process, or runs OnSignal.
func (p *Process) Signal(sig syscall.Signal) error {
	if p.OnSignal != nil && sig == syscall.SIGTERM {
		p.OnSignal(sig)
		return nil
	}
	if !p.Exit(virtual.Status{Signal: sig}) {
		return virtual.ErrEnded
	}
	return nil
}
