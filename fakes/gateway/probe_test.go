package gateway

import (
	"context"
	"testing"
	"time"

	"assay/fakes/gatewaytest"

	"connectrpc.com/connect"

	"assay/internal/envd/probe"
	"assay/internal/envd/probe/probeconnect"
)

func TestTheProbesDelayEndsAtTheDeadline(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c := probeconnect.NewProbeClient(gatewaytest.HTTPClient(t, g, "1.1"), g.URL())
	req := connect.NewRequest(&probe.UnaryRequest{Script: &probe.Script{DelayMs: maxProbeDelay}})
	req.Header().Set("Connect-Timeout-Ms", "30")
	began := time.Now()
	if _, err := c.Unary(context.Background(), req); connect.CodeOf(err) != connect.CodeDeadlineExceeded || time.Since(began) > gatewaytest.Patience {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}
