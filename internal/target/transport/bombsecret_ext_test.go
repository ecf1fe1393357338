//go:build !race

package transport_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"assay/internal/envd/call"
	"assay/internal/target/transport"
)

// A response with a secret behind what is decompressed of it is overwritten in the record:
// whoever has the record can decompress the rest.
func TestASecretBehindTheLimitOfDecompressionIsNotRecorded(t *testing.T) {
	t.Parallel()
	const token = "s3cr3t-token-of-the-run"
	bomb := string(call.Compress(append(make([]byte, 20<<20), token...)))
	for name, tt := range map[string]struct {
		call   transport.Call
		answer string
	}{
		"a body":    {unaryCall(), respond(200, "Content-Type: application/json\r\nContent-Encoding: gzip\r\n", bomb)},
		"NDJSON":    {lineCall(), respond(200, "Content-Type: application/x-ndjson\r\nContent-Encoding: gzip\r\n", bomb)},
		"a message": {startCall(), respond(200, "Content-Type: application/connect+json\r\nConnect-Content-Encoding: gzip\r\n", envelope(1, bomb))},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, token)
			c.done(c.request(c.dial(answering(t, false, tt.answer)), tt.call))
			conns, xs := c.rec.Finish(nil)
			record, err := json.Marshal([]any{conns, xs})
			if err != nil {
				t.Fatal(err)
			}
			end := bomb[len(bomb)-40:]
			for skip := range 3 {
				if strings.Contains(string(record), base64.RawStdEncoding.EncodeToString([]byte(end[skip:skip+36]))) {
					t.Error("the end of the compressed bytes is recorded")
				}
			}
		})
	}
}
