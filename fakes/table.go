package fakes

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"syscall"
	"time"

	"assay/fakes/virtual"
	envd "assay/internal/envd/process"
)

// retention is how long an ended process still answers Connect, on the
// gateway's own clock: long enough for a client that lost its stream to come
// back for the result.
const retention = 30 * time.Second

// errNotFound says that there is no live process of that pid or tag.
var errNotFound = errors.New("not found")

// selector names a process: by tag when that is set, else by pid.
type selector struct {
	pid uint32
	tag *string
}

// processTable is the processes of a gateway, as the surfaces see them.
type processTable interface {
	// start runs a command and subscribes to it before its first byte. Errors
	// of the sandbox are returned as they are; nothing was counted then.
	start(s spec) (*process, *subscriber, error)
	// find returns a live process, or errNotFound.
	find(s selector) (*process, error)
	// attach returns a live process, or one that ended less than retention ago.
	attach(s selector) (*process, error)
	// list returns the live processes by pid.
	list() []*process
	// kill removes a live process, counts it as killed, and sends SIGKILL.
	// errNotFound when it has ended, or was killed before.
	kill(s selector) error
	// terminate sends SIGTERM; the process stays until it exits.
	terminate(s selector) error
	// expire kills p because its time is over; an ended one is left alone.
	expire(p *process)
}

// table is the process table: live processes by pid, and those that ended of
// late. Finalize, the step from live to ended, happens exactly once for each.
type table struct {
	box   sandbox
	wall  clock
	own   clock
	wrap  *wrapper
	count counters
	exit  exitPath
	// sink puts the decorators of the hub's seam around a hub.
	sink func(output) output
	// stdin puts those of the stdin seam around a process's input.
	stdin func(stdinPump) stdinPump

	// self is the table as the surfaces see it: the timers go through its
	// decorators too.
	self   processTable
	policy processPolicy
	// hubs is how the fan-out of each process behaves.
	hubs hubPolicy

	watchers sync.WaitGroup

	mu     sync.Mutex
	live   map[uint32]*process
	kept   map[uint32]*process // ended, or killed and dying
	serial uint64
	closed bool
}

var _ processTable = (*table)(nil)

func (t *table) start(s spec) (*process, *subscriber, error) {
	p := &process{spec: s, live: true, abandon: make(chan struct{}), hub: newHub(t.wall, t.hubs)}
	p.out = t.sink(p.hub)
	if t.policy.termChunk > 0 {
		p.reader = &hastyReader{output: p.out, clock: t.wall, chunk: t.policy.termChunk}
		p.out = p.reader
	}
	terminal := s.pty
	if terminal != nil && t.policy.pipesForTerminals {
		terminal, p.out = nil, asTerminal{p.out}
	}
	sub := p.hub.subscribe()
	run, err := t.box.Start(virtual.Spec{
		Argv:   slices.Concat(t.wrap.words(s.sandbox), t.policy.before, []string{s.config.GetCmd()}, s.config.GetArgs()),
		Env:    s.config.GetEnvs(),
		Dir:    s.config.GetCwd(),
		User:   s.user,
		Stdin:  s.input,
		PTY:    terminal,
		Output: p.out.write,
	})
	if err != nil {
		sub.close()
		return nil, nil, err
	}
	p.run, p.stdin, p.pid = run, t.stdin(run), run.PID()
	t.enter(p)
	return p, sub, nil
}

// enter puts a new process into the table and watches it.
func (t *table) enter(p *process) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.started = t.wall.Now()
	t.serial++
	p.serial = t.serial
	t.live[p.pid] = p
	t.count.started()
	if p.limit > 0 {
		p.stopTime = t.wall.AfterFunc(p.limit, func() { t.visible().expire(p) })
	}
	t.watchers.Add(1)
	go t.watch(p)
	if t.closed {
		p.hub.release()
		p.abandonOutput()
		_ = p.run.Signal(syscall.SIGKILL) // it has ended: as well
	}
}

// visible is the table as the surfaces see it.
func (t *table) visible() processTable {
	if t.self != nil {
		return t.self
	}
	return t
}

// watch waits for the end of p: of the process, and then of its output. After
// a kill the output of the process itself is enough: orphans may hold the pipe
// for as long as they like.
func (t *table) watch(p *process) {
	defer t.watchers.Done()
	<-p.run.Exited()
	if !t.policy.liveUntilDrained {
		t.exited(p)
	}
	t.waitForOutput(p)
	t.exited(p)
	p.out.finish()
	e := t.exit.ending(p)
	e.at = t.wall.Now()
	t.keep(p, e)
	p.hub.end()
}

// waitForOutput waits until nobody holds the output of p any more.
func (t *table) waitForOutput(p *process) {
	drained := p.run.Drained()
	if t.policy.orphansWedge {
		held := make(chan struct{})
		stop := t.wall.AfterFunc(orphanGrace, func() { close(held) })
		defer stop()
		select {
		case <-drained:
			return
		case <-held:
			drained = nil
		case <-p.abandon:
		}
	}
	select {
	case <-drained:
	case <-p.abandon:
	}
}

// orphanGrace is how long after the exit an output counts as held by somebody
// else: a process lets go of its own at once.
const orphanGrace = 200 * time.Millisecond

// exited finalizes a process that ended by itself, or of a SIGTERM; a second
// time it does nothing.
func (t *table) exited(p *process) {
	t.mu.Lock()
	defer t.mu.Unlock()
	st := p.run.Status()
	how := finishError
	switch {
	case st.Signal == syscall.SIGTERM && p.wasTermed():
		how = finishKilled
	case st.Signal == 0 && st.Code == 0:
		how = finishOK
	}
	t.finalize(p, byItself, how)
}

// finalize takes p out of the live processes and counts it, the first time; a
// second time it does nothing. Called with mu held.
func (t *table) finalize(p *process, by cause, how finish) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.live {
		return
	}
	p.live = false
	p.cause = by
	if t.live[p.pid] == p {
		delete(t.live, p.pid)
	}
	t.kept[p.pid] = p
	t.count.finished(how)
}

// keep stores the end event, and forgets p after the retention.
func (t *table) keep(p *process, e ending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.result = &e
	if p.stopTime != nil {
		p.stopTime()
	}
	if t.closed {
		return
	}
	p.stopKeep = t.own.AfterFunc(retention, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.kept[p.pid] == p {
			delete(t.kept, p.pid)
		}
	})
}

func (t *table) find(s selector) (*process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pick(t.live, s)
}

func (t *table) attach(s selector) (*process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p, err := t.pick(t.live, s); err == nil {
		return p, nil
	}
	return t.pick(t.kept, s)
}

// pick finds a process by pid, or the youngest of a tag.
func (t *table) pick(from map[uint32]*process, s selector) (*process, error) {
	if s.tag == nil {
		if p := from[s.pid]; p != nil {
			return p, nil
		}
		return nil, errNotFound
	}
	var found *process
	for _, p := range from {
		if t.policy.tagLookupStops && p.tag != nil && *p.tag != *s.tag {
			break
		}
		if p.tag != nil && *p.tag == *s.tag && (found == nil || p.serial > found.serial) {
			found = p
		}
	}
	if found == nil {
		return nil, errNotFound
	}
	return found, nil
}

func (t *table) list() []*process {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]*process, 0, len(t.live))
	for _, p := range t.live {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *process) int { return cmp.Compare(a.pid, b.pid) })
	return all
}

func (t *table) kill(s selector) error {
	t.mu.Lock()
	p, err := t.pick(t.live, s)
	if err == nil {
		err = t.end(p, byKill)
	}
	t.mu.Unlock()
	if err != nil {
		return err
	}
	t.letDie(p)
	return nil
}

func (t *table) expire(p *process) {
	t.mu.Lock()
	_ = t.end(p, byDeadline) // it has ended: then only the wait for its output is cut short
	t.mu.Unlock()
	t.letDie(p)
}

// end sends SIGKILL and finalizes. A process that has exited, though nobody
// has noticed yet, is not killed: what it exited with is what counts. Called
// with mu held.
func (t *table) end(p *process, by cause) error {
	if !p.isLive() {
		return errNotFound
	}
	if err := p.run.Signal(syscall.SIGKILL); err != nil {
		return errNotFound
	}
	t.finalize(p, by, finishKilled)
	return nil
}

// letDie takes away what a dying process could wait for.
func (t *table) letDie(p *process) {
	p.hub.release()
	p.abandonOutput()
}

func (t *table) terminate(s selector) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, err := t.pick(t.live, s)
	if err != nil {
		return err
	}
	if err := p.run.Signal(syscall.SIGTERM); err != nil {
		return errNotFound
	}
	// In time: the exit is counted under the table's lock, which is held here.
	p.mu.Lock()
	p.termed = true
	p.mu.Unlock()
	return nil
}

func (p *process) wasTermed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.termed
}

// read is a consistent reading of the books: started is always the sum of the
// finished and the active ones.
func (t *table) read(b *books) tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := b.read()
	r.active = len(t.live)
	return r
}

// close ends every process and waits until all of them are seen to.
func (t *table) close() {
	t.mu.Lock()
	t.closed = true
	all := make([]*process, 0, len(t.live)+len(t.kept))
	for _, m := range []map[uint32]*process{t.live, t.kept} {
		for _, p := range m {
			all = append(all, p)
		}
	}
	t.mu.Unlock()
	for _, p := range all {
		t.letDie(p)
		p.mu.Lock()
		if p.stopKeep != nil {
			p.stopKeep()
		}
		p.mu.Unlock()
	}
	t.box.KillAll()
	t.watchers.Wait()
}

// configOf is the part of a process that List shows.
func configOf(p *process) *envd.ProcessInfo {
	return &envd.ProcessInfo{Config: p.config, Pid: p.pid, Tag: p.tag}
}
