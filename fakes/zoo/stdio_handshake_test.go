package zoo

import (
	"testing"

	"assay/fakes/gatewaytest"
)

// theKey is the answer to the key of attach.
const theKey = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

func TestVariantsOfTheHandshakeShowInItsAnswer(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Variants: []string{"stdio-odd-head"}})
	res := attach(t, g, script("")).res
	if res.Header.Get("Upgrade") != "WebSocket" || res.Header.Get("Connection") != "keep-alive, upgrade" || res.Header.Get("Sec-WebSocket-Accept") != theKey {
		t.Errorf("%v", res.Header)
	}
	g = startGateway(t, Options{Variants: []string{"stdio-upgrade-required"}})
	if a := gatewaytest.RoundTrip(t, g, "GET", "/attach?cmd=true", nil); a.Status != 426 || a.Header.Get("Upgrade") != "websocket" {
		t.Errorf("status %d, %v", a.Status, a.Header)
	}
	g = startGateway(t, Options{Variants: []string{"stdio-unknown-refused"}})
	for program, want := range map[string]int{"no-such-program": 400, "/no/such/program": 400, "true": 101, "/bin/sh": 101} {
		if got := attach(t, g, []string{"cmd", program}).res.StatusCode; got != want {
			t.Errorf("%s: status %d, want %d", program, got, want)
		}
	}
}
