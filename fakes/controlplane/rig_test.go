package controlplane_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"assay/fakes/controlplane"
	"assay/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// rig is a plane without a network.
type rig struct {
	t *testing.T
	*controlplane.Plane
	handler http.Handler
	key     string
}

func newRig(t *testing.T, o controlplane.Options) *rig {
	t.Helper()
	o.Only = true
	p, err := controlplane.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, Plane: p, handler: p.Over(nil), key: o.APIKey}
}

// response is a response with its JSON body.
type response struct {
	Status int
	Header http.Header
	Body   any
}

// text returns a member of the body.
func (r response) text(name string) string {
	m, _ := r.Body.(map[string]any)
	s, _ := m[name].(string)
	return s
}

// at returns a time in the body.
func (r response) at(t *testing.T, name string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, r.text(name))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return at
}

// ids returns the ids of a list.
func (r response) ids() (ids []string) {
	list, _ := r.Body.([]any)
	for _, i := range list {
		ids = append(ids, i.(map[string]any)["sandboxID"].(string))
	}
	return ids
}

// call makes one request; call is METHOD PATH.
func (g *rig) call(call, body string) response {
	g.t.Helper()
	method, path, _ := strings.Cut(call, " ")
	r := httptest.NewRequestWithContext(g.t.Context(), method, path, strings.NewReader(body))
	r.Host = "127.0.0.1"
	if g.key != "" {
		r.Header.Set("X-API-Key", g.key)
	}
	return g.do(r)
}

func (g *rig) do(r *http.Request) response {
	g.t.Helper()
	w := httptest.NewRecorder()
	g.handler.ServeHTTP(w, r)
	out := response{Status: w.Code, Header: w.Header()}
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &out.Body); err != nil {
			g.t.Fatalf("%s %s: body %q: %v", r.Method, r.URL, w.Body, err)
		}
	}
	return out
}

// want makes a request and checks the status.
func (g *rig) want(status int, call, body string) response {
	g.t.Helper()
	r := g.call(call, body)
	if r.Status != status {
		g.t.Fatalf("%s %s: got %d %v, want %d", call, body, r.Status, r.Body, status)
	}
	return r
}

// made creates a sandbox and returns its id.
func (g *rig) made(body string) string {
	g.t.Helper()
	return g.want(http.StatusCreated, "POST /sandboxes", body).text("sandboxID")
}
