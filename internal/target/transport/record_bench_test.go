package transport

import (
	"encoding/base64"
	"strings"
	"testing"

	"assay/internal/base/secret"
	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// BenchmarkRecord records a stream of 2,000 events of 100 bytes.
func BenchmarkRecord(b *testing.B) {
	line := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("0123456789", 10)))
	received := []byte("HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\n\r\n")
	received = wire.AppendEnvelope(received, 0, []byte(`{"event":{"start":{"pid":7}}}`))
	for range 2000 {
		received = wire.AppendEnvelope(received, 0, []byte(`{"event":{"data":{"stdout":"`+line+`"}}}`))
	}
	for name, redact := range map[string]*secret.Redactor{
		"without secrets": nil,
		"with a token":    secret.New([]string{"e2b_53ae1fed82754c17ad8077fbc8bcdd90"}),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(received)))
			for b.Loop() {
				c := newConn(NewRecorder(NewClock(), redact), "c", "")
				x := c.Begin(Call{Name: "p", RPC: call.ProcessStart, Shape: bundle.ShapeStream, Codec: "json", Method: "POST"})
				for p := received; len(p) > 0; {
					n := min(len(p), 4096)
					c.feed(p[:n])
					p = p[n:]
				}
				x.GiveUp(bundle.OutcomeStalled, "")
				c.record()
				x.record(nil)
			}
		})
	}
}
