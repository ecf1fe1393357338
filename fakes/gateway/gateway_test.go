package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"assay/fakes/gatewaytest"
)

func TestTokensAndUsersAreCheckedInTheShapeOfTheCall(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Token: "secret"})
	const good = "X-Access-Token: secret"
	start := gatewaytest.Envelope(0, gatewaytest.Shell("echo $USER"))
	cases := []struct {
		name, method, path string
		body               []byte
		headers            []string
		status             int
		code               string
	}{
		{"unary without token", "POST", gatewaytest.ListPath, []byte("{}"), []string{gatewaytest.UnaryJSON}, 401, "unauthenticated"},
		{"unary with a wrong token", "POST", gatewaytest.ListPath, []byte("{}"), []string{gatewaytest.UnaryJSON, "X-Access-Token: x"}, 401, "unauthenticated"},
		{"unary with the token", "POST", gatewaytest.ListPath, []byte("{}"), []string{gatewaytest.UnaryJSON, good}, 200, ""},
		{"stream without token", "POST", gatewaytest.StartPath, start, []string{gatewaytest.Streaming}, 200, "unauthenticated"},
		{"health needs none", "GET", "/health", nil, nil, 204, ""},
		{"metrics need it", "GET", "/metrics", nil, nil, 401, "unauthenticated"},
		{"commands need it", "POST", "/commands", []byte(`{"cmd":"true"}`), nil, 401, "unauthenticated"},
		{"unknown user of a stream", "POST", gatewaytest.StartPath, start, []string{gatewaytest.Streaming, good, "Authorization: Basic Z2hvc3Q6"}, 200, "unauthenticated"},
		{"unknown user of a unary call", "POST", gatewaytest.ListPath, []byte("{}"), []string{gatewaytest.UnaryJSON, good, "Authorization: Basic Z2hvc3Q6"}, 401, "unauthenticated"},
		{"known user", "POST", gatewaytest.ListPath, []byte("{}"), []string{gatewaytest.UnaryJSON, good, "Authorization: Basic dXNlcjo="}, 200, ""},
		{"another scheme", "POST", gatewaytest.ListPath, []byte("{}"), []string{gatewaytest.UnaryJSON, good, "Authorization: Bearer x"}, 200, ""},
		{"an undecodable authorization", "POST", gatewaytest.ListPath, []byte("{}"), []string{gatewaytest.UnaryJSON, good, "Authorization: Basic %%%"}, 200, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := gatewaytest.RoundTrip(t, g, c.method, c.path, c.body, c.headers...)
			if a.Status != c.status || a.Code != c.code {
				t.Errorf("status %d, code %q; want %d, %q", a.Status, a.Code, c.status, c.code)
			}
			if strings.Contains(c.name, "unknown user") && a.Text != "invalid username: 'ghost'" {
				t.Errorf("message %q", a.Text)
			}
		})
	}
}

func TestAWrapperIsUsedWhereItsProgramExists(t *testing.T) {
	t.Parallel()
	for wrap, want := range map[string]string{
		"env SANDBOX=e2b-{sandbox}":         "e2b-one\n",
		"jexec -l -U root e2b-{sandbox}":    "\n",
		"/usr/sbin/jexec -l e2b-{sandbox} ": "\n",
	} {
		g := startGateway(t, Options{Wrap: wrap})
		req := gatewaytest.Sh("echo $SANDBOX")
		req.Header().Set("E2b-Sandbox-Id", "one")
		out, errs, _, err := gatewaytest.Begin(t, gatewaytest.Client(t, g), req).Rest()
		if out != want || err != nil {
			t.Errorf("%s: %q, %q, %v; want %q", wrap, out, errs, err, want)
		}
	}
}

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	s := gatewaytest.Begin(t, gatewaytest.Client(t, g), gatewaytest.Sh("sleep 100 & sleep 100; true"))
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
	t.Parallel()
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
		t.Error("the gateway listens on an invalid address")
	}
	if _, err := Start(context.Background(), Options{MetricsPrefix: "a-b"}); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("a prefix that is invalid in a metric name: %v", err)
	}
}

func TestARequestMayIgnoreABodyThatDoesNotCome(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c := gatewaytest.Dial(t, g)
	if _, err := fmt.Fprint(c, "GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if a := c.Answer("GET"); a.Status/100 != 2 {
		t.Errorf("%d", a.Status)
	}
	if rest, err := io.ReadAll(c); err != nil || strings.Contains(string(rest), "HTTP/") {
		t.Errorf("the connection did not end: %q, %v", rest, err)
	}
}
