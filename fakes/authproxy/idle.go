package authproxy

import (
	"io"
	"sync"
	"time"
)

// idle finds a connection without bytes. Its timer runs on: a byte only notes the time, and the timer, when it fires too early, waits
// for the rest.
type idle struct {
	clock Clock
	after time.Duration // 0: never

	mu     sync.Mutex
	last   time.Time
	halted func() bool // stops the timer
	over   bool        // stopped, or expired
}

// start calls expire once when the time is over, unless stop comes first.
func (i *idle) start(expire func()) {
	if i.after <= 0 {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last = i.clock.Now()
	i.arm(i.after, expire)
}

func (i *idle) arm(d time.Duration, expire func()) {
	i.halted = i.clock.AfterFunc(d, func() {
		if i.check(expire) {
			expire()
		}
	})
}

// check reports whether the time is over; otherwise it waits for the rest.
func (i *idle) check(expire func()) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.over {
		return false
	}
	if rest := i.after - i.clock.Now().Sub(i.last); rest > 0 {
		i.arm(rest, expire)
		return false
	}
	i.over = true
	return true
}

// moved notes that n bytes have passed.
func (i *idle) moved(n int) {
	if n <= 0 || i.after <= 0 {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last = i.clock.Now()
}

// stop ends the timer.
func (i *idle) stop() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.over = true
	if i.halted != nil {
		i.halted()
	}
}

// body is the body of a request; its bytes count.
type body struct {
	io.ReadCloser

	idle *idle
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.idle.moved(n)
	return n, err
}
