package fakes

import (
	"errors"
	"slices"
	"sync"

	envd "assay/internal/envd/process"
)

// tableFaults know wrong processes, or start them wrongly.
func tableFaults() []faultDecorator {
	return []faultDecorator{
		{Fault{
			ID:     "kill-of-ended-ok",
			Title:  "A signal for a process that has ended, or never was, is said to be delivered",
			Breaks: []string{"process.signal.not-found"},
			Source: "agent-compose#382: kill -0 says that it is alive",
		}, onTable(func(next processTable) processTable { return agreeable{next} })},
		{Fault{
			ID:     "ended-listed",
			Title:  "List shows processes that have ended",
			Breaks: []string{"process.list.ended"},
			Source: "zombies of agent-compose#382",
		}, onTable(func(next processTable) processTable { return &memory{processTable: next} })},
		{Fault{
			ID:     "envs-lost",
			Title:  "The variables of a request do not reach the process",
			Breaks: []string{"process.start.env"},
			Source: "wrappers that start a login shell with an environment of its own",
		}, onStart(func(s *spec) { s.config.Envs = nil })},
		{Fault{
			ID:     "cwd-ignored",
			Title:  "Every process runs in the home directory",
			Breaks: []string{"process.start.cwd", "process.start.bad-cwd"},
			Source: "wrappers that start a login shell, which changes to the home directory",
		}, onStart(func(s *spec) { s.config.Cwd = nil })},
		{Fault{
			ID:     "term-as-kill",
			Title:  "SIGTERM is delivered as SIGKILL",
			Breaks: []string{"process.signal.term", "process.signal.term-keeps-entry"},
			Source: "e2b-dev/infra#2933: one way to end a process for all signals",
		}, onTable(func(next processTable) processTable { return impatient{next} })},
	}
}

// onTable puts a decorator around the process table.
func onTable(decorate func(processTable) processTable) func(*seams, uint64) {
	return func(s *seams, _ uint64) { s.table = around(s.table, decorate) }
}

// onStart changes what is started. List goes on to show what was asked for.
func onStart(change func(*spec)) func(*seams, uint64) {
	return onTable(func(next processTable) processTable { return changedStart{next, change} })
}

// changedStart starts something else.
type changedStart struct {
	processTable
	change func(*spec)
}

func (c changedStart) start(s spec) (*process, *subscriber, error) {
	s.config = &envd.ProcessConfig{Cmd: s.config.GetCmd(), Args: s.config.GetArgs(), Envs: s.config.GetEnvs(), Cwd: s.config.Cwd}
	c.change(&s)
	return c.processTable.start(s)
}

// agreeable finds every process that is to be signalled.
type agreeable struct{ processTable }

func (a agreeable) kill(s selector) error      { return found(a.processTable.kill(s)) }
func (a agreeable) terminate(s selector) error { return found(a.processTable.terminate(s)) }

func found(err error) error {
	if errors.Is(err, errNotFound) {
		return nil
	}
	return err
}

// impatient kills what is to be terminated.
type impatient struct{ processTable }

func (i impatient) terminate(s selector) error { return i.kill(s) }

// maxMemory bounds what a memory lists.
const maxMemory = 1000

// memory lists every process that it has started.
type memory struct {
	processTable
	mu  sync.Mutex
	all []*process
}

func (m *memory) start(s spec) (*process, *subscriber, error) {
	p, sub, err := m.processTable.start(s)
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.all = append(m.all, p)
		m.all = m.all[max(0, len(m.all)-maxMemory):]
	}
	return p, sub, err
}

func (m *memory) list() []*process {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.all)
}
