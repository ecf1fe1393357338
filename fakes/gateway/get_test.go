package gateway

import (
	"strings"
	"testing"

	"assay/fakes/gatewaytest"
)

// TestGetIsHeldAgainstTheProtocol covers section 7 of the rules.
func TestGetIsHeldAgainstTheProtocol(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	const path = "/assay.v1.Probe/Safe"
	cases := []struct {
		name, query, body string
		status            int
		code              string
	}{
		{"C100: a message", "?connect=v1&encoding=json&message=%7B%7D", "", 200, ""},
		{"C102: in any order", "?message=%7B%7D&encoding=json&connect=v1", "", 200, ""},
		{"C103: unknown parameters", "?message=%7B%7D&encoding=json&later=1", "", 200, ""},
		{"C104: base64", "?message=e30&encoding=json&base64=1", "", 200, ""},
		{"C104: padded base64", "?message=e30%3D&encoding=json&base64=1", "", 200, ""},
		{"C104: no base64", "?message=%7B%7D&encoding=json&base64=1", "", 400, "invalid_argument"},
		{"C105: another value of base64", "?message=%7B%7D&encoding=json&base64=2", "", 200, ""},
		{"C106: unknown encoding", "?message=%7B%7D&encoding=xml", "", 415, ""},
		{"C106: a protocol for an encoding", "?message=%7B%7D&encoding=grpc", "", 415, ""},
		{"C107: unknown compression", "?message=%7B%7D&encoding=json&compression=br", "", 501, "unimplemented"},
		{"C108: an empty message is not decompressed", "?message=&encoding=proto&compression=gzip", "", 200, ""},
		{"C110: no message", "?encoding=json", "", 400, "invalid_argument"},
		{"C110: no encoding", "?message=%7B%7D", "", 415, ""},
		{"C111: another version", "?connect=v2&message=%7B%7D&encoding=json", "", 400, "invalid_argument"},
		{"C112: a body", "?message=%7B%7D&encoding=json", "x", 400, "invalid_argument"},
		{"a query that cannot be read", "?message=%zz&encoding=json", "", 400, "invalid_argument"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := gatewaytest.RoundTrip(t, g, "GET", path+c.query, []byte(c.body))
			if a.Status != c.status || a.Code != c.code {
				t.Errorf("%d %q (%s), want %d %q", a.Status, a.Code, a.Text, c.status, c.code)
			}
			if c.status == 200 && !strings.Contains(c.query, "proto") && !strings.Contains(string(a.Body), `"method":"GET"`) {
				t.Errorf("body %q", a.Body)
			}
			if a.Header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("C114: Vary %q", a.Header.Get("Vary"))
			}
		})
	}
	if a := gatewaytest.RoundTrip(t, g, "POST", path, []byte("{}"), gatewaytest.UnaryJSON); a.Status != 200 {
		t.Errorf("C101: POST: %d", a.Status)
	}
	if a := gatewaytest.RoundTrip(t, g, "DELETE", path, nil); a.Status != 405 || a.Header.Get("Allow") != "GET, POST" {
		t.Errorf("C7: %d, Allow %q", a.Status, a.Header.Get("Allow"))
	}
	if a := gatewaytest.RoundTrip(t, g, "GET", "/assay.v1.Probe/Unary?message=%7B%7D&encoding=json", nil); a.Status != 405 || a.Header.Get("Allow") != "POST" {
		t.Errorf("C6: %d, Allow %q", a.Status, a.Header.Get("Allow"))
	}
}
