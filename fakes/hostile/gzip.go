package hostile

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"net/http"
	"sync"
)

// gzipModes abuse compression, whether or not the client accepts it.
func gzipModes() []Mode {
	// encoded compresses the body of every response in scope.
	encoded := func(id string, scope Scope, body func() []byte) Mode {
		return Mode{ID: id, Layer: "gzip", Scope: scope, front: func(w http.ResponseWriter, r *call) bool {
			w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(body())
			return true
		}}
	}
	// message sends one compressed message in a stream.
	message := func(id string, payload func(*reply) []byte) Mode {
		return Mode{ID: id, Layer: "gzip", Scope: Streams, front: replying(func(p *reply) {
			name := "Connect-Content-Encoding"
			if p.trailed {
				name = "Grpc-Encoding"
			}
			p.w.Header().Set(name, "gzip")
			zipped := payload(p)
			p.envelope(1, uint32(len(zipped)), zipped) //nolint:gosec // below 16 MiB
			p.end()
		})}
	}
	return []Mode{
		encoded("gzip-bomb-unary", Unary, gzipBomb),
		encoded("gzip-bomb-http", Everything, gzipBomb),
		encoded("gzip-bomb-metrics", Metrics, gzipBomb),
		message("gzip-bomb-message", func(*reply) []byte { return gzipBomb() }),
		message("gzip-truncated", func(p *reply) []byte { z := zip(p.started(7)); return z[:len(z)-9] }),
		message("gzip-of-gzip", func(p *reply) []byte { return zip(zip(p.started(7))) }),
		encoded("gzip-truncated-unary", Unary, func() []byte { return zip([]byte("{}"))[:12] }),
	}
}

// gzipBomb is 10 MB that become 10 GiB of spaces, without an end: one block of 16 MiB,
// repeated.
var gzipBomb = sync.OnceValue(func() []byte {
	const block, times = 16 << 20, 640
	var head, body bytes.Buffer
	_ = gzip.NewWriter(&head).Flush()
	z, _ := flate.NewWriter(&body, flate.BestCompression) // the level is valid
	_, _ = z.Write(bytes.Repeat([]byte(" "), block))
	_ = z.Flush()
	return append(head.Bytes(), bytes.Repeat(body.Bytes(), times)...)
})

func zip(p []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(p)
	_ = z.Close()
	return b.Bytes()
}
