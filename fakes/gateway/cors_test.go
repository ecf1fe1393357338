package gateway

import (
	"strings"
	"testing"

	"assay/fakes/gatewaytest"
)

func TestPagesOfOtherOriginsMayCall(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Token: "secret"})
	const origin = "Origin: http://page.example"
	a := gatewaytest.RoundTrip(t, g, "OPTIONS", gatewaytest.StartPath, nil, origin, "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: content-type,x-grpc-web")
	if a.Status != 204 || a.Header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(a.Header.Get("Access-Control-Allow-Methods"), "POST") ||
		a.Header.Get("Access-Control-Allow-Headers") != "content-type,x-grpc-web" {
		t.Errorf("W26: %d %v", a.Status, a.Header)
	}
	a = gatewaytest.RoundTrip(t, g, "POST", gatewaytest.ListPath, []byte("{}"), gatewaytest.UnaryJSON, origin, "X-Access-Token: secret")
	if a.Status != 200 || a.Header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(a.Header.Get("Access-Control-Expose-Headers"), "Grpc-Status") {
		t.Errorf("W27: %d %v", a.Status, a.Header)
	}
	a = gatewaytest.RoundTrip(t, g, "OPTIONS", gatewaytest.StartPath, nil, origin)
	if a.Status != 405 || a.Header.Get("Allow") != "POST" {
		t.Errorf("OPTIONS that is not a preflight: %d %v", a.Status, a.Header)
	}
	a = gatewaytest.RoundTrip(t, g, "POST", gatewaytest.ListPath, []byte("{}"), gatewaytest.UnaryJSON, "X-Access-Token: secret")
	if len(a.Header["Vary"]) != 0 || a.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("without Origin: %v", a.Header)
	}
}
