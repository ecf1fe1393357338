package zoo

import (
	"io"
	"strings"
	"testing"

	"assay/fakes/gatewaytest"
)

// TestEveryVariantOfTheHeadShows checks the bytes: every client would tolerate
// a variant that changes nothing.
func TestEveryVariantOfTheHeadShows(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"lower-case-headers": "\r\ncontent-type:application/connect+json\r\n",
		"no-reason-phrase":   "HTTP/1.1 200 \r\n",
		"chunk-extensions":   `;sig=0a1b;note="a;b"` + "\r\n",
		"early-hints":        "HTTP/1.1 103 Early Hints\r\n",
		"unknown-headers":    "\r\nServer: gateway/1.0 (sandbox)\r\n",
		"eos-metadata":       `{"metadata":{"x-hops":["1","2"],"x-served-by":["node-7"]}}`,
		"one-byte-chunks":    "\r\n1\r\n\x00\r\n1\r\n",
		"pids-high":          `{"pid":41000`,
		"errors-in-unicode":  "漢字",
	} {
		raw := rawAnswers(t, Options{Variants: []string{id}})
		if !strings.Contains(raw, want) {
			t.Errorf("%s: no %q in %q", id, want, raw)
		}
		if plain := rawAnswers(t, Options{}); strings.Contains(plain, want) {
			t.Errorf("%s: the reference has %q too", id, want)
		}
	}
	if raw := rawAnswers(t, Options{Variants: []string{"no-date"}}); strings.Contains(raw, "Date:") {
		t.Errorf("no-date: %q", raw)
	}
}

// rawAnswers returns the bytes of two responses: a stream and an error.
func rawAnswers(t *testing.T, o Options) string {
	t.Helper()
	g := startGateway(t, o)
	var all strings.Builder
	for path, body := range map[string][]byte{
		gatewaytest.StartPath:             gatewaytest.Envelope(0, gatewaytest.Shell("true")),
		"/process.Process/SendSignal?x=1": []byte(`{"process":{"pid":1},"signal":"SIGNAL_SIGKILL"}`),
	} {
		c := gatewaytest.Dial(t, g)
		typ := gatewaytest.Streaming
		if path != gatewaytest.StartPath {
			typ = gatewaytest.UnaryJSON
		}
		c.Request("POST", path, body, typ, "Connection: close")
		buf := make([]byte, 4096)
		for {
			n, err := c.R.Read(buf)
			all.Write(buf[:n])
			if err != nil {
				break
			}
		}
	}
	return all.String()
}

func TestGzipIsLeftOutByVariants(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"": "gzip", "never-compresses": "", "compresses-large-only": ""} {
		var o Options
		if id != "" {
			o.Variants = []string{id}
		}
		a := gatewaytest.RoundTrip(t, startGateway(t, o), "POST", gatewaytest.ListPath, []byte("{}"), gatewaytest.UnaryJSON, "Accept-Encoding: gzip")
		if got := a.Header.Get("Content-Encoding"); got != want {
			t.Errorf("%q: Content-Encoding %q, want %q", id, got, want)
		}
	}
}

func TestARefusalOfGRPCHasItsStatusInTrailersWhereAVariantSaysSo(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Variants: []string{"status-in-trailers"}})
	res, err := gatewaytest.HTTPClient(t, g, "h2c").Post(g.URL()+"/no.Such/Service", "application/grpc+json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	if res.Trailer.Get("Grpc-Status") != "12" || res.Header.Get("Grpc-Status") != "" {
		t.Errorf("header %v, trailer %v", res.Header, res.Trailer)
	}
}
