package zoo

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"

	"connectrpc.com/connect"

	"assay/fakes/gateway"
	"assay/fakes/gatewaytest"
	"assay/fakes/tree"
	"assay/fakes/virtual"
	envd "assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
)

// startGateway returns a gateway that is closed with the test.
func startGateway(t *testing.T, o Options) *gateway.Gateway {
	t.Helper()
	g, err := Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// listed returns the processes of a gateway.
func listed(t *testing.T, c processconnect.ProcessClient) []*envd.ProcessInfo {
	t.Helper()
	res, err := c.List(gatewaytest.Deadline(t), connect.NewRequest(&envd.ListRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	return res.Msg.GetProcesses()
}

// stubBox is a gatewaytest.Box as a sandbox.
type stubBox struct{ *gatewaytest.Box }

func (b stubBox) Files() tree.Tree { return nil }

func (b stubBox) Start(spec virtual.Spec) (gateway.Run, error) {
	p, err := b.Box.Start(spec)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// boxed returns a client of a gateway that runs its commands on a box. Their
// connections are in memory, so both may run in a synctest bubble; done closes
// them.
func boxed(t *testing.T, o Options) (c processconnect.ProcessClient, box *gatewaytest.Box, done func()) {
	t.Helper()
	box = &gatewaytest.Box{}
	o.Seams.Sandbox = func(gateway.Sandbox) gateway.Sandbox { return stubBox{box} }
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	o.Seams.Server = func(_ *http.Server, real net.Listener) net.Listener {
		_ = real.Close()
		return l
	}
	g, err := Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DialContext: l.dial}
	return processconnect.NewProcessClient(&http.Client{Transport: transport}, g.URL()), box, func() {
		transport.CloseIdleConnections()
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// pipeListener listens in memory.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, errors.New("the gateway is closed")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }
