package virtual

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
)

// maxPID is the value at which pids wrap (Linux's highest pid_max).
const maxPID = 4194304

// defaultFirstPID is the default of [Options.FirstPID].
const defaultFirstPID = 1000

// maxTree limits the running processes of one Start, background jobs included, so that a fork bomb ends in "Cannot fork" and delays nobody.
const maxTree = 256

// maxNesting limits the nesting of processes: foreground children share one goroutine's stack.
const maxNesting = 200

// complaint is an error that the shell prints, in dash's words.
type complaint string

func (c complaint) Error() string { return string(c) }

// errCannotFork means that a process limit is reached.
const errCannotFork = complaint("Cannot fork")

// System is one sandbox: a file system, a pid space, the utilities. Create it with [New]. It is safe for concurrent use.
type System struct {
	fs       *fileSystem
	programs map[string]program
	killing  atomic.Int32 // running KillAlls, which prevent forks

	terminals atomic.Uint32 // number of terminals so far
	heap      func() uint64 // the size of the heap of this process

	mu    sync.Mutex
	next  uint32
	table map[uint32]*Process
}

// Options configure a system. The zero value is the default.
type Options struct {
	// FirstPID is the first assigned pid (default 1000); pids count up and wrap below 4194304.
	FirstPID uint32
}

// New creates a system with /bin, /usr/bin, /tmp, /home/user, /root, /etc, /dev and the utilities. Without processes it needs no closing.
func New(o Options) *System {
	first := o.FirstPID
	if first == 0 || first >= maxPID {
		first = defaultFirstPID
	}
	s := &System{programs: allPrograms(), next: first, table: make(map[uint32]*Process), heap: HeapSize}
	s.fs = newFileSystem(slices.Sorted(maps.Keys(s.programs)))
	return s
}

// KillAll kills every process of the system and returns when the table is empty. It does not wait for a blocked Output callback; Drained closes when the
// last one has returned. It does not prevent a later Start, so the caller must stop starting first.
func (s *System) KillAll() {
	s.killing.Add(1)
	defer s.killing.Add(-1)
	for {
		s.mu.Lock()
		all := slices.Collect(maps.Values(s.table))
		s.mu.Unlock()
		if len(all) == 0 {
			return
		}
		for _, p := range all {
			p.end(Status{Signal: sigKILL})
		}
	}
}

// register gives p a pid and puts it into the table. The caller holds the parent's lock, so that KillAll cannot miss a child.
func (s *System) register(p *Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.table[s.next] != nil {
		s.advance()
	}
	p.pid = s.next
	s.table[p.pid] = p
	s.advance()
}

func (s *System) advance() {
	s.next++
	if s.next >= maxPID {
		s.next = 2 // 1 is init, which does not exist here
	}
}

func (s *System) forget(p *Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.table, p.pid)
}

// lookup finds a live process.
func (s *System) lookup(pid uint32) *Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table[pid]
}

// group lists the live processes of a process group, parents before their children: a shell that a signal ends does not
// go on because its child was ended first.
func (s *System) group(id uint32) []*Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*Process
	for _, p := range s.table {
		if p.pgid.Load() == id {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b *Process) int { return cmp.Compare(a.pid, b.pid) })
	return found
}

// signalGroup signals all processes of a group and reports whether there was one.
func (s *System) signalGroup(id uint32, sig syscall.Signal) bool {
	all := s.group(id)
	for _, p := range all {
		_ = p.Signal(sig) // it may have just ended
	}
	return len(all) > 0
}
