package authproxy

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"assay/fakes/issuer"
	"assay/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// epoch is when the tests begin, and when the time of testing/synctest begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// hand is a clock that is moved by hand.
type hand struct {
	mu  sync.Mutex
	now time.Time
}

func (h *hand) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hand) move(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// sharedIssuer has the time epoch for ever: making keys takes long.
var sharedIssuer = sync.OnceValues(func() (*issuer.Issuer, error) {
	return issuer.New(issuer.Options{URL: "http://issuer.test", Now: func() time.Time { return epoch }})
})

// rig is a proxy, its issuer, and what it logs.
type rig struct {
	t      *testing.T
	proxy  *Proxy
	issuer *issuer.Issuer
	clock  *hand
	log    *bytes.Buffer
}

// newRig returns a proxy with limits. change, unless nil, changes its options.
func newRig(t *testing.T, limits Limits, change func(*Options)) *rig {
	t.Helper()
	i, err := sharedIssuer()
	if err != nil {
		t.Fatal(err)
	}
	g := &rig{t: t, issuer: i, clock: &hand{now: epoch}, log: &bytes.Buffer{}}
	o := Options{
		Issuer: i, Limits: limits, Now: g.clock.Now,
		Log: slog.New(slog.NewJSONHandler(g.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&o)
	}
	g.proxy, err = New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// token returns a valid token.
func (g *rig) token(s issuer.Spec) string {
	g.t.Helper()
	token, err := g.issuer.Mint(s)
	if err != nil {
		g.t.Fatal(err)
	}
	return token
}

// all is a token with every scope that lasts for a day.
func (g *rig) all() string {
	return g.token(issuer.Spec{Scopes: []string{issuer.ScopeConnect, issuer.ScopeExec}, Life: 24 * time.Hour})
}

// ask sends a request through the proxy to a handler that answers "passed".
func (g *rig) ask(r *http.Request) *httptest.ResponseRecorder {
	g.t.Helper()
	w := httptest.NewRecorder()
	g.proxy.Over(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("passed"))
	})).ServeHTTP(w, r)
	return w
}

// attach returns a request to /attach with a token in its query.
func attach(token, more string) *http.Request {
	return httptest.NewRequest(http.MethodGet, "/attach?token="+url.QueryEscape(token)+more, nil)
}

// want requires a status and a body.
func want(t *testing.T, w *httptest.ResponseRecorder, status int, body string) {
	t.Helper()
	if w.Code != status || w.Body.String() != body {
		t.Errorf("got %d %q, want %d %q", w.Code, w.Body, status, body)
	}
}
