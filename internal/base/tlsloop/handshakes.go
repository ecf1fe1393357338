package tlsloop

import (
	"crypto/tls"
	"sync"
	"time"

	"assay/internal/base/crash"
)

// Handshakes are the handshakes of a loop. Each runs in a goroutine of its own, and the loop takes
// the results of those that have ended. T is how the loop knows their connections. The zero value is
// ready.
type Handshakes[T any] struct {
	open    int // begun and not taken
	running crash.Group

	mu   sync.Mutex
	done []Result[T]
}

// Result is the result of a handshake.
type Result[T any] struct {
	Of    T
	State tls.ConnectionState
	Err   error
	Took  time.Duration
}

// Begin begins the handshake of a connection. wake is called in another goroutine when Take has its
// result. Only the loop calls Begin, Take and Open.
func (h *Handshakes[T]) Begin(t *Conn, of T, wake func()) {
	begun := time.Now()
	h.open++
	h.running.Add(1)
	t.Handshake(func(state tls.ConnectionState, err error) {
		defer h.running.Done()
		h.mu.Lock()
		h.done = append(h.done, Result[T]{of, state, err, time.Since(begun)})
		h.mu.Unlock()
		wake()
	})
}

// Take returns the results of the handshakes that have ended since the last Take, also of those
// whose connections have ended.
func (h *Handshakes[T]) Take() []Result[T] {
	h.mu.Lock()
	defer h.mu.Unlock()
	done := h.done
	h.done = nil
	h.open -= len(done)
	return done
}

// Open is the number of handshakes that have begun and were not taken.
func (h *Handshakes[T]) Open() int { return h.open }

// Wait waits until no handshake calls wake any more. The loop has ended their connections.
func (h *Handshakes[T]) Wait() { h.running.Wait() }
