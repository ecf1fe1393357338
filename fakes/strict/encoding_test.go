package strict

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect"
)

func TestTheEncodingOfAnAnswerIsOneThatTheClientAccepts(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, sent string
		accept     []string // nil: no header
		want       string
	}{
		{"C30: without a list, the request's encoding counts as accepted", "gzip", nil, "gzip"},
		{"C24: nothing at all is identity", "", nil, ""},
		{"C31: identity is always acceptable", "", []string{"zstd"}, "identity"},
		{"C32: the list is in order of preference", "", []string{"identity, gzip"}, "identity"},
		{"C32: the first that is supported", "", []string{"zstd, gzip"}, "gzip"},
		{"C33: a gzip request that accepts identity gets identity", "gzip", []string{"identity"}, "identity"},
		{"C33: an empty list accepts only identity", "gzip", []string{""}, "identity"},
		{"C35: quality values order the list", "", []string{"gzip;q=0.2, identity;q=0.8"}, "identity"},
		{"C35: quality zero excludes", "gzip", []string{"gzip;q=0"}, "identity"},
		{"C35: quality values do not hide a name", "", []string{"br;q=1.0, gzip; q=0.5"}, "gzip"},
		{"C46: names are compared without case", "", []string{"GZIP"}, "gzip"},
		{"two header lines are one list", "", []string{"br", "gzip"}, "gzip"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := chooseEncoding(c.accept, c.sent); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestTimeoutsArePositiveIntegersOfAtMostTenDigits(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"1": time.Millisecond, "60000": time.Minute, "9999999999": 9999999999 * time.Millisecond, "0005": 5 * time.Millisecond,
	} {
		if got, err := Connect.ParseTimeout(http.Header{"Connect-Timeout-Ms": {value}}); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", value, got, err, want)
		}
	}
	for _, value := range []string{"0", "0000", "-5", "+50", "abc", "1.5", "", " ", "10000000000", "1e3", "0x10", "５"} {
		if got, err := Connect.ParseTimeout(http.Header{"Connect-Timeout-Ms": {value}}); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%q: %v, %v; want invalid_argument", value, got, err)
		}
	}
	if got, err := Connect.ParseTimeout(http.Header{}); got != 0 || err != nil {
		t.Errorf("absent: %v, %v", got, err)
	}
}

func TestWhatDecompressesToMoreThanTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	const piece = 1 << 20
	limit := bytes.Repeat(gzipped(make([]byte, piece)), MaxMessage/piece) // a gzip file may have many parts
	if _, err := gunzip(limit, connect.CodeInternal); err != nil {
		t.Errorf("exactly the limit: %v", err)
	}
	if _, err := gunzip(append(limit, gzipped([]byte("x"))...), connect.CodeInternal); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("one byte more: %v, want resource_exhausted", err)
	}
}
