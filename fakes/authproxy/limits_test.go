package authproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"assay/fakes/issuer"
)

// long is a life that no test outlasts.
const long = 24 * time.Hour

func TestAUserWhoOpensTooManyConnectionsIsToldWhenToComeBack(t *testing.T) {
	t.Parallel()
	g := newRig(t, Limits{Connections: 3, Per: 30 * time.Second}, nil)
	alice, bob := g.all(), g.token(issuer.Spec{Subject: "bob", Life: long})
	for range 3 {
		want(t, g.ask(attach(alice, "")), 200, "passed")
	}
	for range 2 { // a refusal costs nothing
		w := g.ask(attach(alice, ""))
		want(t, w, 429, "Too many connections")
		if got := w.Header().Get("Retry-After"); got != "10" {
			t.Errorf("Retry-After: got %q, want 10", got)
		}
	}
	want(t, g.ask(attach(bob, "")), 200, "passed")
	g.clock.move(9500 * time.Millisecond)
	if w := g.ask(attach(alice, "")); w.Code != 429 || w.Header().Get("Retry-After") != "1" {
		t.Errorf("got %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
	g.clock.move(500 * time.Millisecond)
	want(t, g.ask(attach(alice, "")), 200, "passed")
	want(t, g.ask(attach(alice, "")), 429, "Too many connections")
}

func TestWhatConnectsToNothingIsNotCounted(t *testing.T) {
	t.Parallel()
	g := newRig(t, Limits{Connections: 1, Blocked: []string{"rm"}}, nil)
	weak := g.token(issuer.Spec{Scopes: []string{issuer.ScopeExec}})
	for range 3 {
		r := httptest.NewRequest(http.MethodPost, "/process.Process/List", nil)
		r.Header.Set("Authorization", "Bearer "+g.all())
		want(t, g.ask(r), 200, "passed")
		want(t, g.ask(attach(weak, "")), 403, "Missing scope sandbox:connect")
		want(t, g.ask(attach(g.all(), "&cmd=rm")), 403, `Blocked command "rm"`)
	}
	want(t, g.ask(attach(g.all(), "")), 200, "passed")
	want(t, g.ask(attach(g.all(), "")), 429, "Too many connections")
}

func TestAUserHasSoManySandboxesAtOnce(t *testing.T) {
	t.Parallel()
	g := newRig(t, Limits{Sandboxes: 2, Connections: 5}, nil) // those that are refused do not count
	alice, bob := g.all(), g.token(issuer.Spec{Subject: "bob"})
	// open holds a connection open until it is closed.
	open := func(token, more string) (closed func()) {
		t.Helper()
		began, release, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
		w := httptest.NewRecorder()
		go func() {
			defer close(ended)
			g.proxy.Over(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				close(began)
				<-release
			})).ServeHTTP(w, attach(token, more))
		}()
		select {
		case <-began:
		case <-ended:
			t.Fatalf("%s: got %d %q", more, w.Code, w.Body)
		}
		return func() {
			close(release)
			<-ended
		}
	}
	first := open(alice, "&sandbox=one")
	second := open(alice, "&sandbox=two")
	again := open(alice, "&sandbox=two")
	w := g.ask(attach(alice, "&sandbox=three"))
	want(t, w, 429, "Too many sandboxes")
	if got := w.Header().Get("Retry-After"); got != "" {
		t.Errorf("Retry-After: got %q, and nobody knows", got)
	}
	want(t, g.ask(attach(alice, "")), 429, "Too many sandboxes") // the default sandbox is one
	want(t, g.ask(attach(bob, "&sandbox=three")), 200, "passed")
	second()
	want(t, g.ask(attach(alice, "&sandbox=three")), 429, "Too many sandboxes")
	again()
	want(t, g.ask(attach(alice, "&sandbox=three")), 200, "passed")
	r := attach(alice, "")
	r.Header.Set("E2b-Sandbox-Id", "one")
	want(t, g.ask(r), 200, "passed")
	first()
}

func TestABlockedCommandIsRefusedUnderAnyPath(t *testing.T) {
	t.Parallel()
	g := newRig(t, Limits{Blocked: []string{"rm", "dd"}}, nil)
	for query, name := range map[string]string{
		"&cmd=rm": "rm", "&cmd=/bin/rm": "rm", "&cmd=/bin/../usr//bin/dd": "dd", "&cmd=%72m": "rm", "&cmd=+rm+": "rm", "&c%6Dd=rm/": "rm",
		"&cmd=ls&cmd=rm": "rm", "&cmd=dd&cmd=ls": "dd",
	} {
		want(t, g.ask(attach(g.all(), query)), 403, fmt.Sprintf("Blocked command %q", name))
	}
	for _, query := range []string{"", "&cmd=rmdir", "&cmd=/rm/ls", "&cmd=ls&arg=rm", "&cmd=RM"} {
		want(t, g.ask(attach(g.all(), query)), 200, "passed")
	}
	r := httptest.NewRequest(http.MethodGet, "/elsewhere?cmd=rm", nil)
	r.Header.Set("Authorization", "Bearer "+g.all())
	want(t, g.ask(r), 403, `Blocked command "rm"`)
}

func TestAResponseIsThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, Limits{BytesPerSecond: 1000}, func(o *Options) { o.Now = nil })
		w := httptest.NewRecorder()
		begin := time.Now()
		g.proxy.Over(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for range 5 {
				if n, err := w.Write(make([]byte, 1000)); n != 1000 || err != nil {
					t.Errorf("got %d, %v", n, err)
				}
			}
		})).ServeHTTP(w, attach(g.all(), ""))
		// The first tenth of a second's bytes is free.
		if took := time.Since(begin); w.Body.Len() != 5000 || took != 4900*time.Millisecond {
			t.Errorf("%d bytes took %v, want 5000 and 4.9s", w.Body.Len(), took)
		}
	})
}

func TestAThrottledWriteEndsWithItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, Limits{BytesPerSecond: 10}, func(o *Options) { o.Now = nil })
		ctx, cancel := context.WithTimeout(context.Background(), 2450*time.Millisecond)
		defer cancel()
		g.proxy.Over(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if n, err := w.Write(make([]byte, 1000)); n != 25 || err == nil {
				t.Errorf("got %d, %v", n, err)
			}
		})).ServeHTTP(httptest.NewRecorder(), attach(g.all(), "").WithContext(ctx))
	})
}

func TestAFailedWriteIsTheLastOfAThrottledOne(t *testing.T) {
	t.Parallel()
	writes := 0
	n, err := newThrottle(100).write(t.Context(), make([]byte, 30), func(p []byte) (int, error) {
		writes++
		return 4, io.ErrClosedPipe
	})
	if n != 4 || !errors.Is(err, io.ErrClosedPipe) || writes != 1 {
		t.Errorf("got %d, %v after %d writes", n, err, writes)
	}
}

func TestANegativeLimitIsAnError(t *testing.T) {
	t.Parallel()
	i, err := sharedIssuer()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []Limits{{Connections: -1}, {Per: -1}, {Sandboxes: -1}, {BytesPerSecond: -1}, {Idle: -1}} {
		if _, err := New(Options{Issuer: i, Limits: l}); err == nil {
			t.Errorf("%+v is accepted", l)
		}
	}
	if _, err := New(Options{}); err == nil {
		t.Error("no issuer is accepted")
	}
}
