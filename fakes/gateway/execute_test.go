package gateway

import (
	"net/http"
	"strings"
	"testing"

	"assay/fakes/gatewaytest"
)

// executeJSON is the header of a well-formed request.
const executeJSON = "Content-Type: application/json"

func TestCodeRunsBehindTheToken(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Token: "secret"})
	for token, want := range map[string]int{"": http.StatusUnauthorized, "wrong": http.StatusUnauthorized, "secret": http.StatusOK} {
		a := gatewaytest.RoundTrip(t, g, http.MethodPost, "/execute", []byte(`{"code":"6 * 7"}`), executeJSON, "X-Access-Token: "+token)
		if a.Status != want || (want == http.StatusOK) != strings.Contains(string(a.Body), `"text":"42"`) {
			t.Errorf("token %q: %d %s", token, a.Status, a.Body)
		}
	}
}

func TestCloseInterruptsCode(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c := gatewaytest.Dial(t, g)
	c.Request(http.MethodPost, "/execute", []byte(`{"code":"print(1)\nsleep(3600)"}`), executeJSON)
	for line := ""; !strings.Contains(line, "stdout"); {
		var err error
		if line, err = c.R.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Close(); err != nil { // waits for the handler
		t.Error(err)
	}
}

func TestAPageRunsNoCodeOfAGatewayWithoutAToken(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	for header, want := range map[string]int{
		"Content-Type: text/plain":    http.StatusUnprocessableEntity,
		"Origin: http://evil.example": http.StatusForbidden,
	} {
		a := gatewaytest.RoundTrip(t, g, http.MethodPost, "/execute", []byte(`{"code":"1"}`), header)
		if a.Status != want {
			t.Errorf("%s: %d %s", header, a.Status, a.Body)
		}
	}
}
