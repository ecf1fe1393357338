package attach_test

import (
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// proxy passes connections on to a gateway, and can cut or freeze them.
type proxy struct {
	url string

	mu     sync.Mutex
	to     string
	conns  map[net.Conn]bool
	frozen bool
	closed bool // takes no new connections
}

// proxyTo starts a proxy in front of a gateway.
func proxyTo(t *testing.T, url string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{url: "http://" + l.Addr().String(), to: strings.TrimPrefix(url, "http://"), conns: map[net.Conn]bool{}}
	var all sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
		all.Wait()
	})
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { p.serve(c) })
		}
	})
	return p
}

func (p *proxy) serve(c net.Conn) {
	defer c.Close()
	p.mu.Lock()
	refuse, to := p.closed, p.to
	p.mu.Unlock()
	if refuse {
		return
	}
	up, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer up.Close()
	p.mu.Lock()
	p.conns[c], p.conns[up] = true, true
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { p.pass(up, c) })
	p.pass(c, up)
	both.Wait()
}

// pass copies until either side ends. Nothing passes while the proxy is frozen.
func (p *proxy) pass(to, from net.Conn) {
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		frozen := p.frozen
		p.mu.Unlock()
		if !frozen && n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
}

// set changes what the proxy does with what comes: nothing passes, or no connection is taken.
func (p *proxy) set(frozen, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen, p.closed = frozen, closed
}

// manual is a clock that a test moves.
type manual struct {
	mu      sync.Mutex
	now     time.Time
	timers  map[chan time.Time]time.Time
	changed chan struct{}
}

func newManual() *manual {
	return &manual{now: time.Unix(1_700_000_000, 0), timers: map[chan time.Time]time.Time{}, changed: make(chan struct{}, 1)}
}

func (m *manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *manual) After(d time.Duration) <-chan time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := make(chan time.Time, 1)
	m.timers[c] = m.now.Add(d)
	select {
	case m.changed <- struct{}{}:
	default:
	}
	return c
}

// waiters waits until n timers run.
func (m *manual) waiters(t *testing.T, n int) {
	t.Helper()
	due := time.After(patience)
	for {
		m.mu.Lock()
		there := len(m.timers)
		m.mu.Unlock()
		if there >= n {
			return
		}
		select {
		case <-m.changed:
		case <-due:
			t.Fatalf("%d wait for the clock, want %d", there, n)
		}
	}
}

// advance waits until somebody waits, and moves the clock.
func (m *manual) advance(t *testing.T, d time.Duration) {
	t.Helper()
	m.waiters(t, 1)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
	for c, at := range m.timers {
		if !at.After(m.now) {
			c <- m.now
			delete(m.timers, c)
		}
	}
}

// hush lets time pass, a quarter of a minute at a time, until the session is over. That may take more than a minute of
// silence: the session waits for the gateway only after it has written what came, and nothing shows when.
func (r *running) hush(clock *manual) {
	r.t.Helper()
	for due := time.Now().Add(patience); time.Now().Before(due) && clock.waiting(r.done); runtime.Gosched() {
		clock.advance(r.t, 15*time.Second)
	}
}

// waiting waits until a timer runs; it returns false if the session ends first.
func (m *manual) waiting(over <-chan struct{}) bool {
	for {
		m.mu.Lock()
		there := len(m.timers) > 0
		m.mu.Unlock()
		select {
		case <-over:
			return false
		default:
		}
		if there {
			return true
		}
		select {
		case <-m.changed:
		case <-over:
			return false
		}
	}
}
