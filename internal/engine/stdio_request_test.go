package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"assay/internal/target"
)

// A handshake may be one that no client makes. The token is in the request, and nowhere in the record.
func TestAHandshakeHasTheMethodVersionAndTokenOfItsScript(t *testing.T) {
	const secret = "a-token-of-sixteen+"
	gw := newMiniature(t)
	b := newBench(t, gw.URL)
	tgt, err := target.New(target.Options{URL: gw.URL, UserAgent: "assay/test", Token: secret})
	if err != nil {
		t.Fatal(err)
	}
	b.options.Target = tgt
	o := b.run(`steps: [{start: {as: p, via: stdio, cmd: c, method: POST, http: "1.0", query: {token: "${token}"}, ` +
		`headers: {Authorization: "Bearer ${token}", x-access-token: null}, wait: end}}]`)
	got := gw.tap.received()[0]
	for _, want := range []string{"POST /attach?cmd=c&token=a-token-of-sixteen%2B HTTP/1.0\r\n", "\r\nAuthorization: Bearer " + secret + "\r\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("the request lacks %q:\n%s", want, got)
		}
	}
	record, err := json.Marshal(o)
	if err != nil || strings.Contains(string(record), "a-token-of-sixteen") {
		t.Errorf("the record has the token, or is none: %v", err)
	}
}
