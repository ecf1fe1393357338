package fakes

import "net/http"

// framingVariants cut answers in other places.
func framingVariants() []variantDecorator {
	return []variantDecorator{
		{Variant{
			ID:     "one-byte-chunks",
			Title:  "Every byte of a chunked answer is an HTTP chunk of its own",
			Source: "rig#1758; RFC 9112 section 7.1: chunk borders mean nothing",
		}, onConn(reframe{perChunk: 1})},
		{Variant{
			ID:     "chunk-extensions",
			Title:  "Every chunk has extensions",
			Source: "RFC 9112 section 7.1.1: unknown extensions are ignored",
		}, onConn(reframe{extension: `;sig=0a1b;note="a;b"`})},
		{Variant{
			ID:     "one-byte-data",
			Title:  "The first 4 KiB of an answer over HTTP/2 are DATA frames of one byte each, the rest of 61",
			Source: "RFC 9113 section 6.1: the borders of DATA frames mean nothing",
		}, onAnswer(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.ProtoMajor >= 2 {
				w = &byteWriter{ResponseWriter: w}
			}
			next.ServeHTTP(w, r)
		})},
	}
}

// singleBytes is how much of an answer a byteWriter cuts into bytes, and restPiece
// the length of what it cuts the rest into: a frame per byte of some megabytes
// would prove nothing more, and take minutes on a busy machine.
const (
	singleBytes = 4 << 10
	restPiece   = 61
)

// byteWriter flushes the first bytes of an answer one by one.
type byteWriter struct {
	http.ResponseWriter
	written int
}

func (b *byteWriter) Write(p []byte) (n int, err error) {
	flush := http.NewResponseController(b.ResponseWriter)
	for n < len(p) {
		piece := 1
		if b.written >= singleBytes {
			piece = min(restPiece, len(p)-n)
		}
		if _, err := b.ResponseWriter.Write(p[n : n+piece]); err != nil {
			return n, err
		}
		n, b.written = n+piece, b.written+piece
		if err := flush.Flush(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// Flush sends the head when there is nothing else.
func (b *byteWriter) Flush() {
	// An error shows again at the next write.
	_ = http.NewResponseController(b.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (b *byteWriter) Unwrap() http.ResponseWriter { return b.ResponseWriter }
