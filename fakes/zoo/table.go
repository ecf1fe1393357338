package zoo

import (
	"context"
	"errors"
	"slices"
	"sync"

	"assay/fakes/gateway"
	"assay/fakes/virtual"
	envd "assay/internal/envd/process"
)

// tableFaults returns the faults in the process table and in starting
// processes.
func tableFaults() []fault {
	return []fault{
		{Fault{
			ID:     "kill-of-ended-ok",
			Title:  "A signal to an ended or unknown process is reported as delivered",
			Breaks: []string{"process.signal.not-found"},
			Source: "agent-compose#382: kill -0 reports that it is alive",
		}, onTable(func(next gateway.Table) gateway.Table { return agreeable{next} })},
		{Fault{
			ID:     "ended-listed",
			Title:  "List shows processes that have ended",
			Breaks: []string{"process.list.ended"},
			Source: "zombies of agent-compose#382",
		}, onTable(func(next gateway.Table) gateway.Table { return &memory{Table: next} })},
		{Fault{
			ID:     "envs-lost",
			Title:  "The environment variables of a request do not reach the process",
			Breaks: []string{"process.start.env"},
			Source: "wrappers that start a login shell with its own environment",
		}, onStart(func(s *gateway.Spec) { s.Config.Envs = nil })},
		{Fault{
			ID:     "cwd-ignored",
			Title:  "Every process runs in the home directory",
			Breaks: []string{"process.start.cwd", "process.start.bad-cwd"},
			Source: "wrappers that start a login shell, which changes to the home directory",
		}, onStart(func(s *gateway.Spec) { s.Config.Cwd = nil })},
		{Fault{
			ID:     "term-as-kill",
			Title:  "SIGTERM is delivered as SIGKILL",
			Breaks: []string{"process.signal.term", "process.signal.term-keeps-entry"},
			Source: "e2b-dev/infra#2933: one way to end a process for all signals",
		}, onTable(func(next gateway.Table) gateway.Table { return impatient{next} })},
		{Fault{
			ID:     "start-refused",
			Title:  "One Start in 10 is refused with invalid_argument because the machine cannot fork",
			Breaks: []string{"process.start.begins"},
			Source: "e2b-dev/infra#3503: EAGAIN of fork reported as an error of the request",
		}, func(b *build) {
			refused := newShare(1, seldom, b.seed)
			onTable(func(next gateway.Table) gateway.Table { return crowdedStart{next, refused} })(b)
		}},
		{Fault{
			ID:     "start-never-told",
			Title:  "The stream of one Start in 10 stays open and silent",
			Breaks: []string{"process.start.begins", "process.end.once"},
			Source: "cloudflare/sandbox-sdk#108: the process ends before its listener is attached",
		}, neverTell},
	}
}

// highPID is the first pid of pids-high: just below the value at which Linux
// wraps.
const highPID = 4_100_000

// tableVariants returns the variants in starting processes.
func tableVariants() []variant {
	return []variant{
		{Variant{
			ID:     "pids-high",
			Title:  "Pids begin at 4,100,000",
			Source: "Linux: kernel.pid_max is up to 4194304",
		}, func(b *build) { b.FirstPID = highPID }},
		{Variant{
			ID:     "login-shell-slow",
			Title:  "Every command waits 300 ms before it runs; its start event comes at once",
			Source: "login shells that read a long profile",
		}, onStart(func(s *gateway.Spec) {
			s.Before = []string{"/bin/sh", "-c", `/bin/sleep 0.3; exec "$@"`, "sh"}
		})},
	}
}

// onTable puts a decorator around the process table.
func onTable(decorate func(gateway.Table) gateway.Table) func(*build) {
	return func(b *build) { b.Seams.Table = around(b.Seams.Table, decorate) }
}

// sandboxesOf returns a function that returns all sandboxes so far, the oldest first: a control plane creates several.
func sandboxesOf(b *build) (all func() []gateway.Sandbox) {
	var mu sync.Mutex
	var boxes []gateway.Sandbox
	b.Seams.Sandbox = around(b.Seams.Sandbox, func(next gateway.Sandbox) gateway.Sandbox {
		mu.Lock()
		defer mu.Unlock()
		boxes = append(boxes, next)
		return next
	})
	return func() []gateway.Sandbox {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(boxes)
	}
}

// onStart changes the command of every start.
func onStart(change func(*gateway.Spec)) func(*build) {
	return onTable(func(next gateway.Table) gateway.Table { return changedStart{next, change} })
}

// changedStart changes the command of every start.
type changedStart struct {
	gateway.Table
	change func(*gateway.Spec)
}

func (c changedStart) Start(s gateway.Spec) (*gateway.Process, *gateway.Subscriber, error) {
	s.Config = &envd.ProcessConfig{Cmd: s.Config.GetCmd(), Args: s.Config.GetArgs(), Envs: s.Config.GetEnvs(), Cwd: s.Config.Cwd}
	c.change(&s)
	return c.Table.Start(s)
}

// agreeable reports every signal as delivered.
type agreeable struct{ gateway.Table }

func (a agreeable) Kill(s gateway.Selector) error      { return found(a.Table.Kill(s)) }
func (a agreeable) Terminate(s gateway.Selector) error { return found(a.Table.Terminate(s)) }

func found(err error) error {
	if errors.Is(err, gateway.ErrNotFound) {
		return nil
	}
	return err
}

// impatient sends SIGKILL for SIGTERM.
type impatient struct{ gateway.Table }

func (i impatient) Terminate(s gateway.Selector) error { return i.Kill(s) }

// maxMemory limits the list of a memory.
const maxMemory = 1000

// memory lists every process that was started.
type memory struct {
	gateway.Table
	mu  sync.Mutex
	all []*gateway.Process
}

func (m *memory) Start(s gateway.Spec) (*gateway.Process, *gateway.Subscriber, error) {
	p, sub, err := m.Table.Start(s)
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.all = append(m.all, p)
		m.all = m.all[max(0, len(m.all)-maxMemory):]
	}
	return p, sub, err
}

func (m *memory) List() []*gateway.Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.all)
}

// seldom is the number of Starts of which one fails.
const seldom = 10

// neverTell sends no event on a share of the streams of Start.
func neverTell(b *build) {
	mute := newShare(1, seldom, b.seed)
	onFollow(func(ctx context.Context, s *gateway.Stream, next gateway.Follow) error {
		if !s.Started || !mute.strikes() {
			return next(ctx, s)
		}
		s.Close()
		<-ctx.Done()
		return ctx.Err()
	})(b)
}

// crowdedStart fails to fork for a share of the Starts.
type crowdedStart struct {
	gateway.Table
	refused *share
}

func (c crowdedStart) Start(s gateway.Spec) (*gateway.Process, *gateway.Subscriber, error) {
	if c.refused.strikes() {
		return nil, nil, &virtual.SpawnError{Reason: "fork/exec " + s.Config.GetCmd() + ": resource temporarily unavailable"}
	}
	return c.Table.Start(s)
}
