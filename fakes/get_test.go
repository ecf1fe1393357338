package fakes

import (
	"strings"
	"testing"
)

// TestGetIsHeldAgainstTheProtocol goes through section 7 of the rules.
func TestGetIsHeldAgainstTheProtocol(t *testing.T) {
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
			a := roundTrip(t, g, "GET", path+c.query, []byte(c.body))
			if a.status != c.status || a.code != c.code {
				t.Errorf("%d %q (%s), want %d %q", a.status, a.code, a.text, c.status, c.code)
			}
			if c.status == 200 && !strings.Contains(c.query, "proto") && !strings.Contains(string(a.body), `"method":"GET"`) {
				t.Errorf("body %q", a.body)
			}
			if a.header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("C114: Vary %q", a.header.Get("Vary"))
			}
		})
	}
	if a := roundTrip(t, g, "POST", path, []byte("{}"), unaryJSON); a.status != 200 {
		t.Errorf("C101: POST: %d", a.status)
	}
	if a := roundTrip(t, g, "DELETE", path, nil); a.status != 405 || a.header.Get("Allow") != "GET, POST" {
		t.Errorf("C7: %d, Allow %q", a.status, a.header.Get("Allow"))
	}
	if a := roundTrip(t, g, "GET", "/assay.v1.Probe/Unary?message=%7B%7D&encoding=json", nil); a.status != 405 || a.header.Get("Allow") != "POST" {
		t.Errorf("C6: %d, Allow %q", a.status, a.header.Get("Allow"))
	}
}
