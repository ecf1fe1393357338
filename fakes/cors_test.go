package fakes

import (
	"strings"
	"testing"
)

func TestPagesOfOtherOriginsMayCall(t *testing.T) {
	g := startGateway(t, Options{Token: "secret"})
	const origin = "Origin: http://page.example"
	a := roundTrip(t, g, "OPTIONS", startPath, nil, origin, "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: content-type,x-grpc-web")
	if a.status != 204 || a.header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(a.header.Get("Access-Control-Allow-Methods"), "POST") ||
		a.header.Get("Access-Control-Allow-Headers") != "content-type,x-grpc-web" {
		t.Errorf("W26: %d %v", a.status, a.header)
	}
	a = roundTrip(t, g, "POST", listPath, []byte("{}"), unaryJSON, origin, "X-Access-Token: secret")
	if a.status != 200 || a.header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(a.header.Get("Access-Control-Expose-Headers"), "Grpc-Status") {
		t.Errorf("W27: %d %v", a.status, a.header)
	}
	a = roundTrip(t, g, "OPTIONS", startPath, nil, origin)
	if a.status != 405 || a.header.Get("Allow") != "POST" {
		t.Errorf("OPTIONS that is no preflight: %d %v", a.status, a.header)
	}
	a = roundTrip(t, g, "POST", listPath, []byte("{}"), unaryJSON, "X-Access-Token: secret")
	if len(a.header["Vary"]) != 0 || a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("without Origin: %v", a.header)
	}
}
