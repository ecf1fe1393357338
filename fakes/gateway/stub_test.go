package gateway

import (
	"context"
	"net/http"
	"testing"

	"assay/fakes/gatewaytest"
	"assay/fakes/tree"
	"assay/fakes/virtual"
)

// stubBox is a gatewaytest.Box as a Sandbox.
type stubBox struct{ *gatewaytest.Box }

var _ Sandbox = stubBox{}

func (b stubBox) Files() tree.Tree { return nil }

func (b stubBox) Start(spec virtual.Spec) (Run, error) {
	p, err := b.Box.Start(spec)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// newStubTable is a table over a stub; it is closed with the test.
func newStubTable(t *testing.T) (*table, *books, *gatewaytest.Box) {
	t.Helper()
	box, b := &gatewaytest.Box{}, &books{}
	tab := newTable(stubBox{box}, Options{}, b, clock{})
	t.Cleanup(func() {
		tab.close()
		tab.wait()
	})
	return tab, b, box
}

// startGateway is a gateway that is closed with the test.
func startGateway(t *testing.T, o Options) *Gateway {
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

// wantBooks compares the counters of a gateway.
func wantBooks(t *testing.T, g *Gateway, started, ok, failed, killed, active int) {
	t.Helper()
	wantTally(t, g.table, g.books, started, ok, failed, killed, active)
}
