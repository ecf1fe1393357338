package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"assay/internal/base/crash"
	"assay/internal/base/machine"
	"assay/internal/load"
	"assay/internal/target"
)

// assignment is what a worker process on this machine gets over its stdin: everything that has a secret, and where the
// rest is.
type assignment struct {
	Bus       Bus
	Run       string
	Shard     int
	Target    target.Options
	Sandboxes []target.Options `json:",omitempty"`
}

// process is a worker process on this machine.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser // closing it interrupts the work
	tail  tail           // of its stderr
	ended chan struct{}
	once  sync.Once
}

// endWithin is how long a worker process may take to exit after its last message.
const endWithin = 5 * time.Second

// launch starts a worker process. exited is called once, when it has ended, with how it did.
func launch(line []string, a assignment, exited func(how string)) (*process, error) {
	if len(line) == 0 {
		return nil, fmt.Errorf("worker process %d: the path of this program is unknown; start it by its full path, or mount /proc", a.Shard+1)
	}
	cmd := exec.Command(line[0], line[1:]...) //nolint:gosec,noctx // this program itself; end ends it
	cmd.SysProcAttr = machine.OwnGroup()      // this process passes on an interrupt from the terminal
	p := &process{cmd: cmd, ended: make(chan struct{})}
	cmd.Stderr = &p.tail
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("worker process %d: %w", a.Shard+1, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("worker process %d: %w", a.Shard+1, err)
	}
	crash.Go(func() {
		err := cmd.Wait()
		close(p.ended)
		how := "its process ended"
		if err != nil {
			how += ": " + err.Error()
		}
		if text := p.tail.String(); text != "" {
			how += ": " + text
		}
		exited(how)
	})
	if err := json.NewEncoder(p.in).Encode(a); err != nil {
		p.end(0)
		return nil, fmt.Errorf("worker process %d: %w", a.Shard+1, err)
	}
	return p, nil
}

// interrupt makes the worker end its streams.
func (p *process) interrupt() { p.once.Do(func() { _ = p.in.Close() }) }

// end interrupts the worker, and kills it if it does not end in time. The group gets a signal to go on first: a stopped
// process ends when it is killed, but it would not read that it is interrupted.
func (p *process) end(within time.Duration) {
	p.interrupt()
	_ = machine.Continue(p.cmd.Process.Pid)
	force := time.AfterFunc(within, func() { _ = p.cmd.Process.Kill() })
	<-p.ended
	force.Stop()
}

// tail keeps the end of what is written.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 2 << 10

// Write keeps the end of p.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if n := len(t.text); n > tailBytes {
		t.text = append(t.text[:0], t.text[n-tailBytes:]...)
	}
	return len(p), nil
}

// String returns the end of what was written.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}

// suspend stops the processes as planned, until ctx ends. The result waits until they go on.
func suspend(ctx context.Context, p *load.Pause, all []*process) (wait func()) {
	done := make(chan struct{})
	crash.Go(func() {
		defer close(done)
		if load.Sleep(ctx, p.At); ctx.Err() != nil {
			return
		}
		for _, one := range all {
			_ = machine.Pause(one.cmd.Process.Pid) // one that has ended needs no pause
		}
		load.Sleep(ctx, p.For)
		for _, one := range all {
			_ = machine.Continue(one.cmd.Process.Pid)
		}
	})
	return func() { <-done }
}
