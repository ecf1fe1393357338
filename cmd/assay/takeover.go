package main

import (
	"os"
	"sync"
	"sync/atomic"
)

// takeover is a command that has taken over the terminal: it gets the signals, and puts the terminal
// back before the program says anything or ends, on every way out. A nil takeover takes nothing.
type takeover struct {
	signals atomic.Pointer[chan os.Signal]

	mu      sync.Mutex
	restore func()
}

// begin gives the signals to a channel, which must have room, and sets what puts the terminal back.
func (t *takeover) begin(signals chan os.Signal, restore func()) {
	t.mu.Lock()
	t.restore = restore
	t.mu.Unlock()
	t.signals.Store(&signals)
}

// takes hands a signal to the command, and reports whether there is one.
func (t *takeover) takes(s os.Signal) bool {
	if t == nil {
		return false
	}
	to := t.signals.Load()
	if to == nil {
		return false
	}
	select {
	case *to <- s:
	default: // so many wait already
	}
	return true
}

// end puts the terminal back. It does nothing the second time.
func (t *takeover) end() {
	if t == nil {
		return
	}
	t.signals.Store(nil)
	t.mu.Lock()
	restore := t.restore
	t.restore = nil
	t.mu.Unlock()
	if restore != nil {
		restore()
	}
}
