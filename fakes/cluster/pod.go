package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"assay/internal/crash"
	"assay/internal/kube"
)

// Pod is a pod of a Job.
type Pod struct {
	Name, Job string
	// Index is its completion index.
	Index int
	// Exit is the exit code of its container: that of a signal is 128 and its number, and a pod that never
	// started has Unstarted.
	Exit int
	// Disrupted says that it was evicted.
	Disrupted bool
	// Log is the file with all that it wrote.
	Log string
}

// Unstarted is the exit code of a pod that was ended while it waited for its volumes.
const Unstarted = -1

// defaultGrace is the grace period of a pod that has none, in seconds.
const defaultGrace = 30

// pod is a pod while it runs.
type pod struct {
	Pod
	spec  *kube.PodSpec
	grace time.Duration

	mu      sync.Mutex
	process *os.Process // nil until it runs
	evicted bool

	stopped chan struct{} // closed by stop
	gone    chan struct{} // closed when it has ended
	once    sync.Once
}

// start starts a pod; it sends the pod to ended when it has ended. A pod whose volumes lack something
// waits for the next Apply.
func (c *Cluster) start(j *kube.Job, p Pod, ended chan<- *pod) (*pod, error) {
	spec := &j.Spec.Template.Spec
	container := &spec.Containers[0]
	program := c.o.Images[container.Image]
	if len(program) == 0 {
		return nil, fmt.Errorf("the pod %s cannot start: there is no image %q", p.Name, container.Image)
	}
	p.Log = filepath.Join(c.o.Dir, p.Name+".log")
	running := &pod{Pod: p, spec: spec, grace: defaultGrace * time.Second, stopped: make(chan struct{}), gone: make(chan struct{})}
	if s := spec.TerminationGracePeriodSeconds; s != nil {
		running.grace = time.Duration(*s) * time.Second
	}
	log, err := os.Create(p.Log)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.running[p.Name] = running
	c.mu.Unlock()
	go func() {
		defer crash.Catch()
		running.Exit = c.live(running, program, log)
		_ = log.Close()
		close(running.gone)
		c.mu.Lock()
		delete(c.running, running.Name)
		c.mu.Unlock()
		running.mu.Lock()
		running.Disrupted = running.evicted
		running.mu.Unlock()
		ended <- running
	}()
	return running, nil
}

// live runs a pod to its end, and returns its exit code.
func (c *Cluster) live(p *pod, program []string, log *os.File) int {
	var command *exec.Cmd
	for command == nil {
		c.mu.Lock()
		objects, changed := c.objects, c.changed
		made, err := c.build(&objects, p, program)
		c.mu.Unlock()
		var missing *missingError
		switch {
		case err == nil:
			command = made
		case errors.As(err, &missing):
			_, _ = fmt.Fprintf(log, "waiting: %v\n", err)
			select {
			case <-changed:
			case <-p.stopped:
				return Unstarted
			}
		default:
			_, _ = fmt.Fprintln(log, err)
			return Unstarted
		}
	}
	command.Stdout, command.Stderr = log, log
	if !p.begin(command) {
		return Unstarted
	}
	if c.o.Started != nil {
		c.o.Started(p.Pod)
	}
	_ = command.Wait()
	return exitCode(command.ProcessState)
}

// begin starts the process, unless the pod was stopped.
func (p *pod) begin(command *exec.Cmd) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.stopped:
		return false
	default:
	}
	if err := command.Start(); err != nil {
		_, _ = fmt.Fprintln(command.Stderr, err)
		return false
	}
	p.process = command.Process
	return true
}

// stop sends a SIGTERM, and a SIGKILL after the grace period. It returns at once.
func (p *pod) stop() {
	p.once.Do(func() {
		close(p.stopped)
		p.signal(syscall.SIGTERM)
		go func() {
			defer crash.Catch()
			t := time.NewTimer(p.grace)
			defer t.Stop()
			select {
			case <-p.gone:
			case <-t.C:
				p.kill()
			}
		}()
	})
}

func (p *pod) evict() {
	p.mu.Lock()
	p.evicted = true
	p.mu.Unlock()
	p.stop()
}

func (p *pod) kill() { p.signal(syscall.SIGKILL) }

func (p *pod) signal(s os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process != nil {
		_ = p.process.Signal(s)
	}
}

// exitCode returns the exit code of a process as container runtimes report it.
func exitCode(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}
