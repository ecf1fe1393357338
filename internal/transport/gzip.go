package transport

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// errTooLarge reports that a decompressed message exceeds the limit.
var errTooLarge = errors.New("larger than the limit once decompressed")

// gunzipper decompresses messages independently of each other and reuses its buffers.
// The zero value is ready.
type gunzipper struct {
	zr  *gzip.Reader
	out bytes.Buffer
}

// decode decompresses p into at most limit bytes, which are valid until the next call.
// Anything after the last gzip member is an error; what was read before an error is
// returned with it.
func (g *gunzipper) decode(p []byte, limit int64) ([]byte, error) {
	in := bytes.NewReader(p)
	if g.zr == nil {
		zr, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		g.zr = zr
	} else if err := g.zr.Reset(in); err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	g.out.Reset()
	n, err := io.Copy(&g.out, io.LimitReader(g.zr, limit+1))
	switch {
	case err != nil:
		return g.out.Bytes(), fmt.Errorf("gzip: %w", err)
	case n > limit:
		return g.out.Bytes()[:limit], fmt.Errorf("gzip: %w of %d bytes", errTooLarge, limit)
	}
	return g.out.Bytes(), nil
}
