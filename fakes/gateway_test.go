package fakes

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

func TestTokensAndUsersAreCheckedInTheShapeOfTheCall(t *testing.T) {
	g := startGateway(t, Options{Token: "secret"})
	const good = "X-Access-Token: secret"
	start := envelope(0, shell("echo $USER"))
	cases := []struct {
		name, method, path string
		body               []byte
		headers            []string
		status             int
		code               string
	}{
		{"unary without token", "POST", listPath, []byte("{}"), []string{unaryJSON}, 401, "unauthenticated"},
		{"unary with a wrong token", "POST", listPath, []byte("{}"), []string{unaryJSON, "X-Access-Token: x"}, 401, "unauthenticated"},
		{"unary with the token", "POST", listPath, []byte("{}"), []string{unaryJSON, good}, 200, ""},
		{"stream without token", "POST", startPath, start, []string{streaming}, 200, "unauthenticated"},
		{"health needs none", "GET", "/health", nil, nil, 204, ""},
		{"metrics need it", "GET", "/metrics", nil, nil, 401, "unauthenticated"},
		{"commands need it", "POST", "/commands", []byte(`{"cmd":"true"}`), nil, 401, "unauthenticated"},
		{"unknown user of a stream", "POST", startPath, start, []string{streaming, good, "Authorization: Basic Z2hvc3Q6"}, 200, "unauthenticated"},
		{"unknown user of a unary call", "POST", listPath, []byte("{}"), []string{unaryJSON, good, "Authorization: Basic Z2hvc3Q6"}, 401, "unauthenticated"},
		{"known user", "POST", listPath, []byte("{}"), []string{unaryJSON, good, "Authorization: Basic dXNlcjo="}, 200, ""},
		{"another scheme", "POST", listPath, []byte("{}"), []string{unaryJSON, good, "Authorization: Bearer x"}, 200, ""},
		{"what cannot be decoded", "POST", listPath, []byte("{}"), []string{unaryJSON, good, "Authorization: Basic %%%"}, 200, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := roundTrip(t, g, c.method, c.path, c.body, c.headers...)
			if a.status != c.status || a.code != c.code {
				t.Errorf("status %d, code %q; want %d, %q", a.status, a.code, c.status, c.code)
			}
			if strings.Contains(c.name, "unknown user") && a.text != "invalid username: 'ghost'" {
				t.Errorf("message %q", a.text)
			}
		})
	}
}

func TestAWrapperIsUsedWhereItsProgramExists(t *testing.T) {
	for wrap, want := range map[string]string{
		"env SANDBOX=e2b-{sandbox}":         "e2b-one\n",
		"jexec -l -U root e2b-{sandbox}":    "\n",
		"/usr/sbin/jexec -l e2b-{sandbox} ": "\n",
	} {
		g := startGateway(t, Options{Wrap: wrap})
		req := sh("echo $SANDBOX")
		req.Header().Set("E2b-Sandbox-Id", "one")
		out, errs, _, err := begin(t, client(t, g), req).rest()
		if out != want || err != nil {
			t.Errorf("%s: %q, %q, %v; want %q", wrap, out, errs, err, want)
		}
	}
}

func TestCloseEndsEverything(t *testing.T) {
	g := startGateway(t, Options{})
	s := begin(t, client(t, g), sh("sleep 100 & sleep 100; true"))
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	for s.Receive() {
		continue
	}
	if _, err := net.DialTimeout("tcp", strings.TrimPrefix(g.URL(), "http://"), time.Second); err == nil {
		t.Error("it still listens")
	}
	if err := g.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestTheEndOfTheContextClosesTheGateway(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	g, err := Start(ctx, Options{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-g.served
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(context.Background(), Options{Listen: "300.0.0.1:0"}); err == nil {
		t.Error("an address that is none was listened on")
	}
	if _, err := Start(context.Background(), Options{MetricsPrefix: "a-b"}); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("a prefix that makes no name: %v", err)
	}
}
