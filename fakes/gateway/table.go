package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"

	"connectrpc.com/connect"

	"assay/fakes/strict"
	"assay/fakes/virtual"
	"assay/internal/base/crash"
	envd "assay/internal/envd/process"
)

// The bounds of the table: processes that run, and those that ended.
const (
	maxProcesses = 64 << 10
	maxKept      = 16 << 10
)

// retention is how long Connect still finds an ended process, on the gateway's own clock: long enough for
// a client that lost its stream to return for the result.
const retention = 30 * time.Second

// ErrNotFound reports that no live process has the pid or tag.
var ErrNotFound = errors.New("not found")

// Selector names a process: by tag when that is set, else by pid.
type Selector struct {
	PID uint32
	Tag *string
}

// Table is the process table as the surfaces see it.
type Table interface {
	// Start runs a command and subscribes to it before its first byte. It returns the errors of the
	// sandbox and then counts nothing; one without room is resource_exhausted.
	Start(s Spec) (*Process, *Subscriber, error)
	// Find returns a live process, or ErrNotFound.
	Find(s Selector) (*Process, error)
	// Attach returns a live process, or one that ended less than retention ago.
	Attach(s Selector) (*Process, error)
	// List returns the live processes by pid.
	List() []*Process
	// Kill removes a live process, counts it as killed, and sends SIGKILL. It returns ErrNotFound if the
	// process has ended or was already killed.
	Kill(s Selector) error
	// Terminate sends SIGTERM; the process stays until it exits.
	Terminate(s Selector) error
	// Signal sends another signal; the process stays until it exits.
	Signal(s Selector, sig syscall.Signal) error
	// Expire kills p because its deadline has passed; it does nothing to an ended process.
	Expire(p *Process)
}

// table is the process table: live processes by pid, and recently ended ones. finalize, the step from
// live to ended, happens exactly once per process.
type table struct {
	box      Sandbox
	own      clock
	settings *settings
	wrap     *wrapper
	count    Counters
	seams    Seams
	// pieces and untilDrained are Options.OutputInPieces and ListUntilDrained.
	pieces, untilDrained bool

	// self is the decorated table, which the timers use too.
	self Table

	watchers crash.Group

	mu     sync.Mutex
	live   map[uint32]*Process
	kept   map[uint32]*Process // ended, or killed and dying
	ended  []*Process          // those of kept that have ended, in order
	busy   int                 // processes that are starting, running or dying
	serial uint64
	closed bool
}

var _ Table = (*table)(nil)

func (t *table) Start(s Spec) (*Process, *Subscriber, error) {
	p := &Process{Spec: s, live: true, abandon: make(chan struct{}), hub: newHub(strict.Decorated[Fanout](t.seams.Fanout, fair{}))}
	p.hub.pieces = t.pieces || s.Raw
	if s.Patience > 0 {
		p.hub.grace = s.Patience
	}
	p.out = p.hub
	if t.seams.Output != nil {
		p.out = t.seams.Output(p, p.hub)
	}
	if err := t.admit(); err != nil {
		return nil, nil, err
	}
	sub := p.hub.subscribe()
	run, err := t.box.Start(virtual.Spec{
		Argv:   slices.Concat(t.wrap.words(s.Sandbox), s.Before, []string{s.Config.GetCmd()}, s.Config.GetArgs()),
		Env:    t.settings.environment(s.Config.GetEnvs()),
		Dir:    cmp.Or(s.Config.GetCwd(), t.settings.Workdir()),
		User:   s.User,
		Stdin:  s.Stdin,
		PTY:    s.PTY,
		Output: p.out.Write,
	})
	if err != nil {
		sub.close()
		t.leave()
		if spawn, ok := errors.AsType[*virtual.SpawnError](err); ok && spawn.Exhausted {
			err = connect.NewError(connect.CodeResourceExhausted, errors.New(spawn.Reason))
		}
		return nil, nil, err
	}
	p.run, p.input, p.PID = run, strict.Decorated[Input](t.seams.Input, run), run.PID()
	t.enter(p)
	return p, sub, nil
}

// enter puts a new process into the table and watches it.
func (t *table) enter(p *Process) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.started = time.Now()
	t.serial++
	p.serial = t.serial
	t.live[p.PID] = p
	t.count.Started()
	if p.Limit > 0 {
		p.stopTime = time.AfterFunc(p.Limit, func() { t.visible().Expire(p) }).Stop
	}
	t.watchers.Add(1)
	afterExit(p.run, func() { t.watch(p) })
	if t.closed {
		p.hub.release()
		p.Abandon()
		_ = p.run.Signal(syscall.SIGKILL) // it may have ended
	}
}

// admit makes room for a process, or returns why there is none.
func (t *table) admit() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy >= maxProcesses {
		return connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("%d processes run: end some before you start another", t.busy))
	}
	t.busy++
	return nil
}

// leave gives the room back.
func (t *table) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy--
}

// visible returns the table with its decorators.
func (t *table) visible() Table {
	if t.self != nil {
		return t.self
	}
	return t
}

// watch finalizes p, which has exited, and waits for the end of its output. After a kill, only the output of
// the process itself counts: orphans may hold the pipe indefinitely.
func (t *table) watch(p *Process) {
	defer t.watchers.Done()
	defer t.leave()
	if !t.untilDrained {
		t.exited(p)
	}
	t.drain(p)
	t.exited(p)
	p.out.Finish()
	e := EndingOf(p.Status())
	if t.seams.Ending != nil {
		e = t.seams.Ending(p, e, t.count)
	}
	e.At = time.Now()
	t.keep(p, e)
	p.hub.end()
}

// drain waits for the output of p.
func (t *table) drain(p *Process) {
	if t.seams.Drain != nil {
		t.seams.Drain(p)
		return
	}
	select {
	case <-p.Drained():
	case <-p.Abandoned():
	}
}

// exited finalizes a process that ended by itself or by a signal. It does nothing the second time.
func (t *table) exited(p *Process) {
	t.mu.Lock()
	defer t.mu.Unlock()
	st := p.run.Status()
	how := FinishError
	switch {
	case st.Signal != 0 && p.wasSent(st.Signal):
		how = FinishKilled
	case st.Signal == 0 && st.Code == 0:
		how = FinishOK
	}
	t.finalize(p, byItself, how)
}

// finalize removes p from the live processes and counts it. It does nothing the second time. Called with
// mu held.
func (t *table) finalize(p *Process, by cause, how Finish) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.live {
		return
	}
	p.live = false
	p.cause = by
	if t.live[p.PID] == p {
		delete(t.live, p.PID)
	}
	t.kept[p.PID] = p
	t.count.Finished(how)
}

// keep stores the end event, with which Attach finds p for a while.
func (t *table) keep(p *Process, e Ending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.result = &e
	if p.stopTime != nil {
		p.stopTime()
	}
	t.ended = append(t.ended, p)
	t.forget()
}

// forget drops the processes that ended long ago, and the oldest where many end. Called with mu held.
func (t *table) forget() {
	for len(t.ended) > maxKept || len(t.ended) > 0 && time.Since(t.ended[0].result.At) >= t.own.Real(retention) {
		if p := t.ended[0]; t.kept[p.PID] == p {
			delete(t.kept, p.PID)
		}
		t.ended = t.ended[1:]
	}
}

func (t *table) Find(s Selector) (*Process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pick(t.live, s)
}

func (t *table) Attach(s Selector) (*Process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p, err := t.pick(t.live, s); err == nil {
		return p, nil
	}
	t.forget()
	return t.pick(t.kept, s)
}

// pick finds a process by pid or by tag.
func (t *table) pick(from map[uint32]*Process, s Selector) (*Process, error) {
	var found *Process
	switch {
	case s.Tag == nil:
		found = from[s.PID]
	case t.seams.ByTag != nil:
		found = t.seams.ByTag(slices.Collect(maps.Values(from)), *s.Tag)
	default:
		found = Youngest(maps.Values(from), *s.Tag)
	}
	if found == nil {
		return nil, ErrNotFound
	}
	return found, nil
}

// Youngest returns the process that was started last of those with a tag, or nil.
func Youngest(all iter.Seq[*Process], tag string) (youngest *Process) {
	for p := range all {
		if p.Tag != nil && *p.Tag == tag && (youngest == nil || p.serial > youngest.serial) {
			youngest = p
		}
	}
	return youngest
}

func (t *table) List() []*Process {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]*Process, 0, len(t.live))
	for _, p := range t.live {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *Process) int { return cmp.Compare(a.PID, b.PID) })
	return all
}

func (t *table) Kill(s Selector) error {
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

func (t *table) Expire(p *Process) {
	t.mu.Lock()
	_ = t.end(p, byDeadline) // if it has ended, this only stops the wait for its output
	t.mu.Unlock()
	t.letDie(p)
}

// end sends SIGKILL and finalizes. A process whose exit is not yet noticed is not killed: its exit
// counts. Called with mu held.
func (t *table) end(p *Process, by cause) error {
	if !p.isLive() {
		return ErrNotFound
	}
	if err := p.run.Signal(syscall.SIGKILL); err != nil {
		return ErrNotFound
	}
	t.finalize(p, by, FinishKilled)
	return nil
}

// letDie removes everything that a dying process could wait for.
func (t *table) letDie(p *Process) {
	p.hub.release()
	p.Abandon()
}

func (t *table) Terminate(s Selector) error { return t.Signal(s, syscall.SIGTERM) }

func (t *table) Signal(s Selector, sig syscall.Signal) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, err := t.pick(t.live, s)
	if err != nil {
		return err
	}
	if err := p.run.Signal(sig); err != nil {
		return ErrNotFound
	}
	// Not too late: the exit is counted under the table's lock, which is held here.
	p.mu.Lock()
	p.sent |= 1 << sig
	p.mu.Unlock()
	return nil
}

// wasSent reports whether a signal was sent through the gateway.
func (p *Process) wasSent(sig syscall.Signal) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent&(1<<sig) != 0
}

// read returns a consistent snapshot of the books: started is always finished plus active.
func (t *table) read(b *books) Tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := b.read()
	r.Active = len(t.live)
	return r
}

// close ends every process, including later ones. Call wait once nothing starts any more.
func (t *table) close() {
	t.mu.Lock()
	t.closed = true
	all := make([]*Process, 0, len(t.live)+len(t.kept))
	for _, m := range []map[uint32]*Process{t.live, t.kept} {
		for _, p := range m {
			all = append(all, p)
		}
	}
	t.mu.Unlock()
	for _, p := range all {
		t.letDie(p)
	}
	t.box.KillAll()
}

// wait waits for the end of every process.
func (t *table) wait() { t.watchers.Wait() }

// configOf returns what List shows of a process.
func configOf(p *Process) *envd.ProcessInfo {
	return &envd.ProcessInfo{Config: p.Config, Pid: p.PID, Tag: p.Tag}
}
