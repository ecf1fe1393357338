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
			Title:  "Every byte of an answer over HTTP/2 is a DATA frame of its own",
			Source: "RFC 9113 section 6.1: the borders of DATA frames mean nothing",
		}, onAnswer(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.ProtoMajor >= 2 {
				w = byteWriter{w}
			}
			next.ServeHTTP(w, r)
		})},
	}
}

// byteWriter flushes every byte by itself.
type byteWriter struct{ http.ResponseWriter }

func (b byteWriter) Write(p []byte) (int, error) {
	flush := http.NewResponseController(b.ResponseWriter)
	for i := range p {
		if _, err := b.ResponseWriter.Write(p[i : i+1]); err != nil {
			return i, err
		}
		if err := flush.Flush(); err != nil {
			return i + 1, err
		}
	}
	return len(p), nil
}

// Flush sends the head when there is nothing else.
func (b byteWriter) Flush() {
	// An error shows again at the next write.
	_ = http.NewResponseController(b.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (b byteWriter) Unwrap() http.ResponseWriter { return b.ResponseWriter }
