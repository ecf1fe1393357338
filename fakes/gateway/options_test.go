package gateway

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/fakes/gatewaytest"

	"connectrpc.com/connect"

	envd "assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
)

func TestOptionsThatCannotBeServedAreRefused(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"processes": {Processes: "docker"}, "token": {Processes: ProcessesOS}, "HTTP version": {HTTP: []string{"3"}},
		"protocol": {Protocols: []string{"soap"}}, "prefix": {Prefix: "no-slash"}, "home": {Home: "/"}, "no-such-home": {Processes: ProcessesOS, Token: "x", Home: "/no-such-home"},
	} {
		if _, err := Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAGatewayCanServeLessThanEverything(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Protocols: []string{"grpc"}, Prefix: "/box", Shell: []string{"/bin/bash", "-l", "-c"}})
	if !strings.HasSuffix(g.URL(), "/box") {
		t.Errorf("URL %s", g.URL())
	}
	hc := gatewaytest.HTTPClient(t, g, "h2c")
	_, err := processconnect.NewProcessClient(hc, g.URL()).List(gatewaytest.Deadline(t), connect.NewRequest(&envd.ListRequest{}))
	if err == nil {
		t.Error("Connect is served")
	}
	c := processconnect.NewProcessClient(hc, g.URL(), connect.WithGRPC())
	if _, err := c.List(gatewaytest.Deadline(t), connect.NewRequest(&envd.ListRequest{})); err != nil {
		t.Error(err)
	}
	s, err := c.Start(gatewaytest.Deadline(t), gatewaytest.Sh("true"))
	if err != nil || s.Receive() || connect.CodeOf(s.Err()) != connect.CodeInvalidArgument {
		t.Errorf("another shell: %v, %v", err, s.Err())
	}
	out, _, _, err := gatewaytest.Begin(t, c, connect.NewRequest(&envd.StartRequest{
		Process: &envd.ProcessConfig{Cmd: "/bin/bash", Args: []string{"-l", "-c", "echo x"}},
	})).Rest()
	if out != "x\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	old := startGateway(t, Options{HTTP: []string{"1.1"}})
	if _, err := gatewaytest.HTTPClient(t, old, "h2c").Get(old.URL() + "/health"); err == nil {
		t.Error("HTTP/2 is served")
	}
}

func TestRealProcessesHaveAHomeOfTheirOwn(t *testing.T) {
	t.Setenv("HOME", "/the/developer's")
	given := t.TempDir()
	for _, o := range []Options{{}, {Home: given}} {
		o.Processes, o.Token = ProcessesOS, "secret"
		g := startGateway(t, o)
		req := gatewaytest.Sh("echo $HOME; touch ~/left")
		req.Header().Set("X-Access-Token", "secret")
		out, _, _, err := gatewaytest.Begin(t, gatewaytest.Client(t, g), req).Rest()
		home := strings.TrimSpace(out)
		if err != nil || o.Home != "" && home != o.Home || !strings.HasPrefix(home, os.TempDir()) {
			t.Errorf("home %q, %v", home, err)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		_, err = os.Stat(filepath.Join(home, "left"))
		if kept := err == nil; kept != (o.Home != "") {
			t.Errorf("the file in %q: %v", home, err)
		}
	}
}

func TestRealProcessesAreServedLikeVirtualOnes(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Processes: ProcessesOS, Token: "secret"})
	c := gatewaytest.Client(t, g)
	req := gatewaytest.Sh("echo out; echo err >&2; exit 3")
	req.Header().Set("X-Access-Token", "secret")
	out, errs, end, err := gatewaytest.Begin(t, c, req).Rest()
	if out != "out\n" || errs != "err\n" || end.GetExitCode() != 3 || err != nil {
		t.Errorf("%q %q %v %v", out, errs, end, err)
	}
	pty := gatewaytest.Sh("stty size; exit 4")
	pty.Header().Set("X-Access-Token", "secret")
	pty.Msg.Pty = &envd.PTY{Size: &envd.PTY_Size{Cols: 81, Rows: 25}}
	s := gatewaytest.Begin(t, c, pty)
	s.Until(t, "25 81\r\n")
	if _, _, end, err := s.Rest(); end.GetExitCode() != 4 || err != nil {
		t.Errorf("%v %v", end, err)
	}
	wantBooks(t, g, 2, 0, 2, 0, 0)
}
