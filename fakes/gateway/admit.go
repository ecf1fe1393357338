package gateway

import (
	"fmt"

	"connectrpc.com/connect"
)

// The bounds of the table. A process that ended is kept for a shorter time where many end.
const (
	maxProcesses = 64 << 10
	maxKept      = 16 << 10
	maxKeptWords = 32 << 20 // bytes of the commands of those kept
)

// admit makes room for a process, or returns why there is none.
func (t *table) admit() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy >= t.most {
		return errFull(t.busy)
	}
	t.busy++
	return nil
}

// errFull refuses a process where n run.
func errFull(n int) error {
	return connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("%d processes run: end some before you start another", n))
}

// leave gives the room back.
func (t *table) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy--
}
