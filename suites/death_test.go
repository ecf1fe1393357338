package suites

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"assay/fakes/gateway"
	"assay/fakes/zoo"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/testkit"
)

// mortal is a gateway that can die: it refuses and cuts every connection, until it is started again.
type mortal struct {
	t       *testing.T
	address string
	backend string

	mu       sync.Mutex
	listener net.Listener // nil while it is dead
	conns    []net.Conn
	deaths   int
}

// newMortal starts a gateway that dies of the requests for which dies returns true.
func newMortal(t *testing.T, dies func(*http.Request) bool) *mortal {
	t.Helper()
	m := &mortal{t: t, address: "127.0.0.1:0"}
	m.backend = strings.TrimPrefix(gatewayWith(t, zoo.Options{Options: gateway.Options{Seams: gateway.Seams{Front: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if dies(r) {
				m.die()
				return
			}
			next.ServeHTTP(w, r)
		})
	}}}}).URL(), "http://")
	m.start(t.Context())
	t.Cleanup(m.die)
	return m
}

func (m *mortal) start(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", m.address)
	if err != nil {
		m.t.Error(err)
		return
	}
	m.listener, m.address = l, l.Addr().String()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go m.serve(ctx, conn)
		}
	}()
}

// serve passes the bytes of a connection on, both ways.
func (m *mortal) serve(ctx context.Context, conn net.Conn) {
	behind, err := new(net.Dialer).DialContext(context.WithoutCancel(ctx), "tcp", m.backend)
	if err != nil {
		_ = conn.Close()
		return
	}
	m.mu.Lock()
	m.conns = append(m.conns, conn, behind)
	m.mu.Unlock()
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		_ = to.(*net.TCPConn).CloseWrite()
	}
	go pass(behind, conn)
	pass(conn, behind)
}

func (m *mortal) die() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.listener == nil {
		return
	}
	m.deaths++
	_ = m.listener.Close()
	m.listener = nil
	for _, c := range m.conns {
		_ = c.Close()
	}
	m.conns = nil
}

// scenarioOf returns the scenario that sent a request.
func scenarioOf(r *http.Request) string {
	_, rest, _ := strings.Cut(r.UserAgent(), "(")
	id, _, _ := strings.Cut(rest, ";")
	return id
}

// A target that dies has one cause: the scenario of which it dies, alone. What ran beside it is judged again.
func TestTheKillerOfATargetIsTheOnlyCause(t *testing.T) {
	t.Parallel()
	const selection = "process.pty.size,process.list.*,process.exit.*,axis:connect/json/1.1/identity"
	for _, c := range []struct {
		name   string
		dies   func() func(*http.Request) bool
		jobs   int
		back   bool
		deaths int
	}{
		{"at once, beside others", atOnce, 8, true, 2},
		{"at once, alone", atOnce, 1, true, 2},
		{"at the next scenario", later, 1, true, 2},
		{"for good", atOnce, 1, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMortal(t, c.dies())
			o := Options{Target: target.Options{URL: "http://" + m.address, TimeScale: testkit.Slowdown}, Profile: "full", Select: selection, Seed: 7, Jobs: c.jobs}
			if c.back {
				o.Restart = func(context.Context) { m.start(t.Context()) }
			}
			out, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			var causes, failed []string
			for _, cause := range out.Report.Causes {
				causes = append(causes, cause.Rule)
			}
			for _, s := range out.Report.Scenarios {
				if s.Verdict != bundle.Pass {
					failed = append(failed, s.ID)
				}
			}
			if !slices.Equal(causes, []string{"run.target-alive"}) || out.Report.Exit != 1 {
				t.Errorf("exit code %d, causes %v", out.Report.Exit, causes)
			}
			if c.back && (!slices.Equal(failed, []string{"process.pty.size"}) || out.Report.Died == nil || out.Report.Died.Scenario != "process.pty.size") {
				t.Errorf("died in %+v; no pass: %v", out.Report.Died, failed)
			}
			if m.deaths != c.deaths {
				t.Errorf("it died %d times, want %d", m.deaths, c.deaths)
			}
		})
	}
}

// resizes reports whether a request of the killer would kill: other scenarios and the probes may resize too.
func resizes(r *http.Request) bool {
	return r.URL.Path == "/process.Process/Update" && scenarioOf(r) == "process.pty.size"
}

func atOnce() func(*http.Request) bool { return resizes }

// later returns what lets a gateway die of an Update only when the next scenario calls it.
func later() func(*http.Request) bool {
	var doomed atomic.Pointer[string]
	return func(r *http.Request) bool {
		now := scenarioOf(r)
		if resizes(r) {
			doomed.Store(&now)
		}
		if of := doomed.Load(); of != nil && *of != now {
			doomed.Store(nil)
			return true
		}
		return false
	}
}

// A target that was started again by somebody is not blamed, and neither is a scenario.
func TestATargetThatDiesOfNothingIsNotBlamed(t *testing.T) {
	t.Parallel()
	var once atomic.Bool
	m := newMortal(t, func(r *http.Request) bool { return scenarioOf(r) == "process.list.running" && !once.Swap(true) })
	out, err := Run(t.Context(), Options{
		Target: target.Options{URL: "http://" + m.address, TimeScale: testkit.Slowdown}, Profile: "full", Seed: 7,
		Select: "process.list.*,axis:connect/json/1.1/identity", Restart: func(context.Context) { m.start(t.Context()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range out.Report.Scenarios {
		if s.Verdict != bundle.Pass {
			t.Errorf("%s: %s", s.ID, s.Verdict)
		}
	}
	if len(out.Report.Causes) > 0 || out.Report.Exit != 5 {
		t.Errorf("exit code %d, causes %+v", out.Report.Exit, out.Report.Causes)
	}
}
