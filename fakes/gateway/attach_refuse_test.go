package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"assay/fakes/gatewaytest"
	"assay/fakes/stdio"
)

// The lines of a handshake.
var handshake = []string{"Connection: keep-alive, Upgrade", "Upgrade: WebSocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}

// upgrade sends the handshake of an attach without some lines and with others, and returns the answer.
func upgrade(t *testing.T, g *Gateway, query string, without string, with ...string) gatewaytest.Answer {
	t.Helper()
	var lines []string
	for _, l := range handshake {
		if without == "" || !strings.HasPrefix(l, without) {
			lines = append(lines, l)
		}
	}
	c := gatewaytest.Dial(t, g)
	c.Request("GET", "/attach?"+query, nil, append(lines, with...)...)
	return c.Answer("GET")
}

func TestWhatCannotBeAttachedIsRefusedBeforeTheUpgrade(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	long := strings.Repeat("x", 64<<10)
	for _, c := range []struct {
		name, query, without string
		with                 []string
		status               int
	}{
		{"no command", "", "", nil, 400},
		{"an empty command", "cmd=&arg=x", "", nil, 400},
		{"two commands", "cmd=true&cmd=false", "", nil, 400},
		{"a malformed query", "cmd=%zz", "", nil, 400},
		{"a NUL byte", "cmd=true&arg=a%00b", "", nil, 400},
		{"257 arguments", "cmd=true" + strings.Repeat("&arg=x", 257), "", nil, 400},
		{"a query beyond 64 KiB", "cmd=true&arg=" + long, "", nil, 414},
		{"a bad pty", "cmd=true&pty=yes", "", nil, 400},
		{"no columns", "cmd=true&pty=1&cols=0", "", nil, 400},
		{"too many rows", "cmd=true&pty=1&rows=65536", "", nil, 400},
		{"a bad session", "cmd=true&session=a/b", "", nil, 400},
		{"an empty session", "cmd=true&session=", "", nil, 400},
		{"a bad role", "cmd=true&session=a&role=root", "", nil, 400},
		{"a role without a session", "cmd=true&role=viewer", "", nil, 400},
		{"a viewer of nothing", "cmd=true&session=a&role=viewer", "", nil, 404},
		{"a session that nobody created", "session=a", "", nil, 404},
		{"no Connection: Upgrade", "cmd=true", "Connection", nil, 400},
		{"another version", "cmd=true", "Sec-WebSocket-Version", []string{"Sec-WebSocket-Version: 8"}, 426},
		{"no key", "cmd=true", "Sec-WebSocket-Key", nil, 400},
		{"two keys", "cmd=true", "", handshake[3:], 400},
		{"a short key", "cmd=true", "Sec-WebSocket-Key", []string{"Sec-WebSocket-Key: eA=="}, 400},
		{"no upgrade at all", "cmd=true", "Upgrade", nil, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := upgrade(t, g, c.query, c.without, c.with...)
			if a.Status != c.status || a.Header.Get("Content-Type") != "text/plain; charset=utf-8" || len(a.Body) == 0 {
				t.Errorf("%d %v %q, want %d", a.Status, a.Header, a.Body, c.status)
			}
			if (a.Header.Get("Sec-WebSocket-Version") == "13") != (c.status == 426) {
				t.Errorf("Sec-WebSocket-Version %q", a.Header["Sec-Websocket-Version"])
			}
		})
	}
	if a := gatewaytest.RoundTrip(t, g, "POST", "/attach?cmd=true", nil, handshake...); a.Status != 405 || a.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d %v", a.Status, a.Header)
	}
	wantBooks(t, g, 0, 0, 0, 0, 0)
}

func TestPagesNeedPermissionToAttach(t *testing.T) {
	t.Parallel()
	const page, evil = "http://page.example", "http://evil.example"
	for _, c := range []struct {
		name, origin string
		o            Options
		status       int
	}{
		{"a page may not", evil, Options{}, 403},
		{"the gateway's own may", "http://test", Options{}, 101},
		{"an allowed one may", page, Options{Origins: []string{page}}, 101},
		{"others may not", evil, Options{Origins: []string{page}}, 403},
		{"all may with a token", evil, Options{Token: "secret"}, 101},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := startGateway(t, c.o)
			conn := gatewaytest.Dial(t, g)
			conn.Request("GET", "/attach?cmd=true&token=secret", nil, append(handshake, "Origin: "+c.origin)...)
			res, err := http.ReadResponse(conn.R, nil)
			if err != nil || res.StatusCode != c.status {
				t.Errorf("%v, %v; want %d", res, err, c.status)
			}
		})
	}
	g := startGateway(t, Options{})
	if a := send(t, g, append([]string{"GET /attach?cmd=true HTTP/1.1", "Host: evil.example"}, handshake...), ""); a.Status != 403 {
		t.Errorf("a host that is not the gateway's: %d", a.Status)
	}
}

func TestFeaturesCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Without: stdio.Features()[1:]})
	for _, query := range []string{"cmd=true&pty=1", "cmd=true&session=a", "cmd=true&session=a&role=driver"} {
		if a := upgrade(t, g, query, ""); a.Status != 400 {
			t.Errorf("%s: %d", query, a.Status)
		}
	}
	c := dialAttach(t, g, "cmd", "cat")
	for _, kind := range []string{"eof", "stdin", "open"} {
		c.text(fmt.Sprintf(`{"type":%q,"pane":"main","data":"x"}`, kind))
		if got := c.untilText(); got != fmt.Sprintf(`{"type":"error","message":"unknown type \"%s\""}`, kind) {
			t.Errorf("%s: %s", kind, got)
		}
	}
	half := startGateway(t, Options{Without: []string{stdio.FeatureShared}})
	dialAttach(t, half, sh("true", "session", "a")...).rest().wantEnd("0")
	if a := upgrade(t, half, "cmd=true&session=b&role=driver", ""); a.Status != 400 {
		t.Errorf("a role without shared sessions: %d", a.Status)
	}
	if err := (&Options{Without: []string{"stdio.sound"}}).complete(); err == nil {
		t.Error("an unknown feature was accepted")
	}
	absent := startGateway(t, Options{Without: []string{stdio.FeatureWS}})
	if a := upgrade(t, absent, "cmd=true", ""); a.Status != 404 || absent.AttachURL() != "" || half.AttachURL() == "" {
		t.Errorf("without the surface: %d at %q", a.Status, absent.AttachURL())
	}
}

func TestAnAttachFollowsTheShellAndTheSandboxOfTheGateway(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Shell: []string{"/bin/sh", "-c"}, Wrap: "env SANDBOX=e2b-{sandbox}"})
	c := dialAttach(t, g, sh("echo $SANDBOX $USER", "sandbox", "two")...).rest()
	if string(c.out[1]) != "e2b-two root\n" {
		t.Errorf("%q %q", c.out[1], c.out[2])
	}
	for _, query := range []url.Values{{"cmd": {"true"}}, {"cmd": {"/bin/sh"}, "arg": {"-l", "-c"}}} {
		if a := upgrade(t, g, query.Encode(), ""); a.Status != 400 {
			t.Errorf("%s: %d", query.Encode(), a.Status)
		}
	}
	full := startGateway(t, Options{Seams: Seams{Table: func(next Table) Table { return fullTable{next} }}})
	if a := upgrade(t, full, "cmd=true", ""); a.Status != 503 {
		t.Errorf("a full table: %d", a.Status)
	}
	broken := startGateway(t, Options{Seams: Seams{Table: func(next Table) Table { return brokenTable{next} }}})
	if a := upgrade(t, broken, "cmd=true", ""); a.Status != 500 {
		t.Errorf("a broken table: %d", a.Status)
	}
}

// fullTable and brokenTable start nothing.
type (
	fullTable   struct{ Table }
	brokenTable struct{ Table }
)

func (fullTable) Start(Spec) (*Process, *Subscriber, error) {
	return nil, nil, connect.NewError(connect.CodeResourceExhausted, errors.New("full"))
}
func (brokenTable) Start(Spec) (*Process, *Subscriber, error) {
	return nil, nil, errors.New("out of order")
}
