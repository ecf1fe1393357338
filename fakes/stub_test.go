package fakes

import (
	"bytes"
	"compress/gzip"
	"context"
	"net/http"
	"sync"
	"syscall"
	"testing"

	"assay/fakes/virtual"
)

// stubBox is a sandbox whose processes do what a test tells them to.
type stubBox struct {
	mu    sync.Mutex
	last  uint32
	procs []*stubProcess
	// program, when set, runs as every process; its result is the exit code.
	program func(p *stubProcess) int
	specs   []virtual.Spec
}

var _ sandbox = (*stubBox)(nil)

// stubProcess ends when its program returns, when it is told to, or by a signal.
type stubProcess struct {
	spec    virtual.Spec
	pid     uint32
	mu      sync.Mutex
	status  virtual.Status
	over    bool
	holders int // & children that hold the output
	// onSignal, when set, runs in the place of a death by a signal.
	onSignal func(syscall.Signal)
	exited   chan struct{}
	drained  chan struct{}
}

func (b *stubBox) Start(spec virtual.Spec) (sandboxProcess, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if spec.Dir == "/missing" {
		return nil, &virtual.SpawnError{Reason: "cwd '/missing' does not exist"}
	}
	b.last++
	p := &stubProcess{spec: spec, pid: b.last, exited: make(chan struct{}), drained: make(chan struct{})}
	b.procs = append(b.procs, p)
	b.specs = append(b.specs, spec)
	if b.program != nil {
		go func() { p.exit(virtual.Status{Code: b.program(p)}) }()
	}
	return p, nil
}

func (b *stubBox) KillAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.procs {
		p.exit(virtual.Status{Signal: syscall.SIGKILL})
	}
}

// at is the n-th process that was started.
func (b *stubBox) at(n int) *stubProcess {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.procs[n]
}

func (p *stubProcess) print(text string) { p.spec.Output(virtual.Stdout, []byte(text)) }

// exit ends the process; the first end counts.
func (p *stubProcess) exit(st virtual.Status) bool {
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

// letGo is the exit of the last holder of the output.
func (p *stubProcess) letGo() { close(p.drained) }

func (p *stubProcess) PID() uint32              { return p.pid }
func (p *stubProcess) Exited() <-chan struct{}  { return p.exited }
func (p *stubProcess) Drained() <-chan struct{} { return p.drained }

func (p *stubProcess) Status() virtual.Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

func (p *stubProcess) Write(context.Context, []byte) error { return nil }
func (p *stubProcess) CloseStdin()                         {}

func (p *stubProcess) Resize(virtual.Size) error { return virtual.ErrNoTerminal }

func (p *stubProcess) Signal(sig syscall.Signal) error {
	if p.onSignal != nil && sig == syscall.SIGTERM {
		p.onSignal(sig)
		return nil
	}
	if !p.exit(virtual.Status{Signal: sig}) {
		return virtual.ErrEnded
	}
	return nil
}

// newStubTable is a table over a stub; it is closed with the test.
func newStubTable(t *testing.T, faults ...string) (*table, *books, *stubBox) {
	t.Helper()
	s, err := newSeams(&Options{Faults: faults})
	if err != nil {
		t.Fatal(err)
	}
	box, b := &stubBox{}, &books{}
	tab := newTable(box, Options{}, s, b, wallClock{})
	t.Cleanup(tab.close)
	return tab, b, box
}

// startGateway is a gateway that is closed with the test.
func startGateway(t *testing.T, o Options) *Gateway {
	t.Helper()
	g, err := Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// gzipped is p, compressed.
func gzipped(p []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(p)
	_ = w.Close()
	return b.Bytes()
}
