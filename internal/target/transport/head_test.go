package transport_test

import (
	"testing"

	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

func TestRequestHeadKeepsOrderAndSpelling(t *testing.T) {
	got := string(transport.RequestHead("POST", "/a/B", []bundle.Header{{Name: "hOsT", Value: "x"}, {Name: "a", Value: ""}, {Name: "hOsT", Value: "y"}}))
	if want := "POST /a/B HTTP/1.1\r\nhOsT: x\r\na: \r\nhOsT: y\r\n\r\n"; got != want {
		t.Errorf("head = %q, want %q", got, want)
	}
}
