package gateway

import (
	"fmt"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"assay/internal/machine"
)

// The bounds of the table. A process that ended is kept for a shorter time where many end.
const (
	maxProcesses = 64 << 10
	maxKept      = 16 << 10
	maxKeptWords = 32 << 20 // bytes of the commands of those kept
)

// The bounds of the lists of processes: a client that does not read holds its response.
const (
	longList = 256 << 10 // bytes of a response that counts
	maxLists = 64 << 20  // bytes of all that count
)

// maxInputs limits the messages whose input waits for a process that does not read.
const maxInputs = 64 << 20

// budget limits the bytes that all clients hold together.
type budget struct {
	most int64
	held atomic.Int64
}

// take counts n bytes. If that is too much, it counts nothing and returns false.
func (b *budget) take(n int) bool {
	if b.held.Add(int64(n)) > b.most {
		b.giveBack(n)
		return false
	}
	return true
}

// giveBack ends what take began.
func (b *budget) giveBack(n int) { b.held.Add(int64(-n)) }

// budgets are those of one gateway.
type budgets struct{ lists, inputs budget }

func newBudgets() *budgets {
	return &budgets{lists: budget{most: maxLists}, inputs: budget{most: maxInputs}}
}

// errLists refuses a list of processes.
var errLists = connect.NewError(connect.CodeResourceExhausted,
	fmt.Errorf("the list of processes is too long: with those that clients are reading it has more than %d bytes", maxLists))

// errInputs refuses input.
var errInputs = connect.NewError(connect.CodeResourceExhausted,
	fmt.Errorf("more than %d bytes of input wait for processes that do not read", maxInputs))

// streamMemory is what a shell with its stream takes: 33 KB over HTTP/2, and the room that the garbage collector needs.
const streamMemory = 64 << 10

// capacity returns how many processes this machine can carry.
func capacity() int {
	if free := machine.FreeMemory(); free > 0 {
		return int(min(maxProcesses, max(1<<10, free/streamMemory)))
	}
	return maxProcesses
}

// errFull refuses a process where n run.
func errFull(n int) error {
	return connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("%d processes run: end some before you start another", n))
}

// errBehind refuses a process where many run and their events are late.
var errBehind = connect.NewError(connect.CodeResourceExhausted,
	fmt.Errorf("more than %d processes run, and their events are more than %v late: end some before you start another", crowd, tooLate))

// admit makes room for a process, or returns why there is none.
func (t *table) admit() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy >= t.most {
		return errFull(t.busy)
	}
	if t.busy >= crowd && t.store.pace.lateness(time.Now()) > tooLate {
		return errBehind
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
