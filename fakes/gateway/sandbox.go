package gateway

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"assay/fakes/tree"
	"assay/fakes/virtual"
	"assay/internal/base/crash"
)

// Sandbox is where commands run: a *virtual.System, or real processes of an
// osproc.System.
type Sandbox interface {
	Start(spec virtual.Spec) (Run, error)
	KillAll()
	// Files returns the files of the sandbox; nil if it has none to serve.
	Files() tree.Tree
}

// Run is one process of a sandbox; see virtual.Process for its methods.
type Run interface {
	Input
	PID() uint32
	Exited() <-chan struct{}
	Drained() <-chan struct{}
	Status() virtual.Status
	Signal(sig syscall.Signal) error
	// Resize gives the terminal of the process another size;
	// virtual.ErrNoTerminal when it has none.
	Resize(to virtual.Size) error
}

// afterExit runs fn on a goroutine of its own once p has exited. A virtual process
// starts that goroutine at its exit, so that it has no other one while it runs.
func afterExit(p Run, fn func()) {
	if v, ok := p.(interface{ AfterExit(fn func()) }); ok {
		v.AfterExit(fn)
		return
	}
	crash.Go(func() {
		<-p.Exited()
		fn()
	})
}

// Input carries input to a process. Write blocks while the pipe is full,
// until ctx is done.
type Input interface {
	Write(ctx context.Context, b []byte) error
	CloseStdin()
}

// virtualSandbox adapts a *virtual.System to Sandbox.
type virtualSandbox struct{ *virtual.System }

var _ Sandbox = virtualSandbox{}

func (s virtualSandbox) Start(spec virtual.Spec) (Run, error) {
	p, err := s.System.Start(spec)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// newSandbox creates the sandbox that the options describe. remove removes its
// temporary files; call it once all its processes have ended.
func newSandbox(o Options) (box Sandbox, remove func() error, err error) {
	keep := func() error { return nil }
	if o.Processes != ProcessesOS {
		return virtualSandbox{virtual.New(virtual.Options{FirstPID: o.FirstPID})}, keep, nil
	}
	if !realProcesses {
		return nil, nil, errors.New("real processes need Linux, macOS or another Unix: this system has virtual ones only")
	}
	home, remove := o.Home, keep
	if home == "" {
		home, err = os.MkdirTemp("", "assay-home-")
		remove = func() error { return os.RemoveAll(home) }
	} else if home, err = filepath.Abs(home); err == nil {
		_, err = os.ReadDir(home)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("prepare the home of the processes: %w", err)
	}
	return realSandbox(home), remove, nil
}

// spawnReason returns the text of a failure to start a process; ok is false for
// any other error.
func spawnReason(err error) (reason string, ok bool) {
	var spawn *virtual.SpawnError
	if !errors.As(err, &spawn) {
		return "", false
	}
	return spawn.Reason, true
}
