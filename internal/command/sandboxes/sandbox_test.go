package sandboxes_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay/fakes/controlplane"
	"assay/fakes/gateway"
	"assay/internal/command/sandboxes"
	"assay/internal/target"
	"assay/internal/target/transport"
)

const apiKey = "e2b_0123456789abcdef0123"

func TestARunGetsASandboxAndGivesItBack(t *testing.T) {
	var o gateway.Options
	if err := controlplane.Attach(&o, controlplane.Options{APIKey: apiKey}); err != nil {
		t.Fatal(err)
	}
	gw, err := gateway.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = gw.Close() }()
	options := target.Options{Token: "given-4711", Control: target.Control{URL: gw.URL(), APIKey: apiKey}}
	s, err := sandboxes.Create(t.Context(), sandboxes.Options{Target: options, Template: "base"})
	if err != nil {
		t.Fatal(err)
	}
	at, err := s.Point(options)
	if err != nil || at.Token == "" {
		t.Fatalf("options %+v, %v", at, err)
	}
	for _, secret := range []string{apiKey, at.Token, "given-4711"} {
		if !strings.Contains(strings.Join(at.Secrets(), " "), secret) {
			t.Errorf("%s is no secret of the run", secret)
		}
	}
	tg, err := target.New(at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tg.Calibrate(t.Context(), transport.NewClock()); err != nil {
		t.Errorf("the sandbox cannot be tested: %v", err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if tg, err = target.New(at); err == nil {
		_, err = tg.Calibrate(t.Context(), transport.NewClock())
	}
	if err == nil {
		t.Error("the sandbox can be tested after its end")
	}
}

// brokenPlane answers one route after another; deleted counts the sandboxes that are given back.
type brokenPlane struct {
	create, get, health func(w http.ResponseWriter)
	deleted             atomic.Int64
}

func (p *brokenPlane) serve(t *testing.T) string {
	say := func(f func(http.ResponseWriter)) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { f(w) }
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v2/sandboxes", say(p.create))
	mux.HandleFunc("GET /sandboxes/{id}", say(p.get))
	mux.HandleFunc("GET /health", say(p.health))
	mux.HandleFunc("DELETE /sandboxes/{id}", func(w http.ResponseWriter, _ *http.Request) {
		p.deleted.Add(1)
		w.WriteHeader(http.StatusNoContent)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// answers responds with a status and a body.
func answers(status int, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const (
	madeOne = `{"sandboxID":"one","envdAccessToken":"a-secret-token-9f2","templateID":"base"}`
	noBox   = `{"sandboxId":"one","message":"The sandbox was not found","code":502}`
)

func TestABrokenControlPlaneIsExplainedInItsOwnWords(t *testing.T) {
	never := func(http.ResponseWriter) {}
	for name, tc := range map[string]struct {
		plane   *brokenPlane
		want    string
		deleted int64
	}{
		"a web page":            {&brokenPlane{create: answers(200, "<html>hello</html>")}, "200 with HTML: this is a web page", 0},
		"a wrong key":           {&brokenPlane{create: answers(401, `{"code":401,"message":"Invalid API key `+apiKey+`"}`)}, "rejects the API key (POST /v2/sandboxes returns 401, Invalid API key ***", 0},
		"a long message":        {&brokenPlane{create: answers(401, `{"code":401,"message":"`+strings.Repeat("x", 181)+apiKey+`"}`)}, "xxx*******************…", 0},
		"an unknown template":   {&brokenPlane{create: answers(404, `{"code":404,"message":"template 'base' not found"}`)}, "404, template 'base' not found", 0},
		"no id":                 {&brokenPlane{create: answers(201, `{"templateID":"base"}`)}, "has no sandboxID", 0},
		"no JSON":               {&brokenPlane{create: answers(201, `sandbox one`)}, "has no sandboxID", 0},
		"a sandbox not ready":   {&brokenPlane{create: answers(201, madeOne), get: answers(200, madeOne), health: answers(502, noBox)}, "was not ready within 400ms; the last response to GET /health: 502, The sandbox was not found", 1},
		"a forgotten sandbox":   {&brokenPlane{create: answers(201, madeOne), get: answers(404, `{"code":404,"message":"no such sandbox"}`), health: answers(502, noBox)}, "has forgotten it: 404, no such sandbox", 1},
		"an error of its own":   {&brokenPlane{create: answers(500, `{"code":500,"message":"no host for a-secret"}`)}, "500, no host", 0},
		"an answer in two ways": {&brokenPlane{create: answers(201, madeOne), get: answers(200, madeOne), health: answers(404, "<html>")}, "404 with HTML", 1},
	} {
		t.Run(name, func(t *testing.T) {
			for _, f := range []*func(http.ResponseWriter){&tc.plane.get, &tc.plane.health} {
				if *f == nil {
					*f = never
				}
			}
			o := target.Options{Control: target.Control{URL: tc.plane.serve(t), APIKey: apiKey}}
			_, err := sandboxes.Create(t.Context(), sandboxes.Options{Target: o, Template: "base", Start: 400 * time.Millisecond})
			var unreachable *target.UnreachableError
			if !errors.As(err, &unreachable) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v, want %s", err, tc.want)
			}
			if err != nil && (strings.Contains(err.Error(), apiKey) || strings.Contains(err.Error(), "a-secret-token")) {
				t.Errorf("the error has a secret: %v", err)
			}
			if got := tc.plane.deleted.Load(); got != tc.deleted {
				t.Errorf("%d sandboxes were deleted, want %d", got, tc.deleted)
			}
		})
	}
}

func TestASilentControlPlaneIsGivenUp(t *testing.T) {
	release := make(chan struct{})
	p := brokenPlane{create: func(http.ResponseWriter) { <-release }, get: answers(200, ""), health: answers(200, "")}
	o := target.Options{Control: target.Control{URL: p.serve(t)}}
	defer close(release)
	_, err := sandboxes.Create(t.Context(), sandboxes.Options{Target: o, Patience: 50 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "no response to POST /v2/sandboxes within 50ms") {
		t.Errorf("the error is %v", err)
	}
}

func TestAnInterruptDeletesTheSandboxThatIsBeingCreated(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	p := brokenPlane{get: answers(200, ""), health: answers(200, "")}
	p.create = func(w http.ResponseWriter) {
		interrupt()
		answers(201, madeOne)(w)
	}
	o := target.Options{Control: target.Control{URL: p.serve(t)}}
	_, err := sandboxes.Create(ctx, sandboxes.Options{Target: o})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if got := p.deleted.Load(); got != 1 {
		t.Errorf("%d sandboxes were deleted, want 1", got)
	}
}
