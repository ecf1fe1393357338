package virtual

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// The limits are coarse: this is a fake, for clients on loopback. They keep an endless loop from taking the whole machine, not more.
const (
	maxValue     = 32 << 20 // of a variable, the words of a command, the output of $(…), and what tail keeps
	largeValue   = 1 << 20  // a variable of this size is a reason to look at the heap
	fieldSize    = 32       // of a word, without its text
	stepsPerTurn = 32       // after which other goroutines get a turn
	stepsPerLook = 1 << 10  // after which the heap is looked at
	turnTime     = 20 * time.Microsecond
	fewProcesses = 8 // which need not wait for each other
)

// MaxHeap is the size of the heap of this process, without garbage, beyond which nothing starts and no command goes on.
const MaxHeap = 4 << 30

// errNoMemory ends a shell, as in dash.
const errNoMemory = complaint("Out of space")

// HeapSize returns the bytes of the heap of this process that were in use at the last collection. Garbage does not count: a process that
// collects rarely, as tests do, has much of it.
func HeapSize() uint64 {
	heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(heap)
	return heap[0].Value.Uint64()
}

// full reports whether the heap is too large for anything more.
func (s *System) full() bool { return s.heap() > MaxHeap }

// step counts a statement, a read or a write, and lets others run from time to time, so that busy loops delay nobody: a command of
// many processes takes about one core. It returns false if the heap is too large to go on.
func (p *Process) step() bool {
	n := p.tree.steps.Add(1)
	if n%stepsPerTurn != 0 {
		return true
	}
	if crowd := p.tree.forked.Load(); crowd > fewProcesses {
		time.Sleep(time.Duration(crowd) * turnTime)
	} else {
		runtime.Gosched()
	}
	return n%stepsPerLook != 0 || !p.sys.full()
}

// goOn is step for a program: it ends the process if the heap is too large, and returns false if the process has ended.
func (p *Process) goOn() bool {
	if !p.step() {
		p.end(Status{Signal: sigKILL})
	}
	return !p.dead.Load()
}
