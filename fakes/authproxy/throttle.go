package authproxy

import (
	"context"
	"fmt"

	"golang.org/x/time/rate"
)

// pieces is how many pieces a second's worth of bytes is sent in.
const pieces = 10

// throttle limits the bytes of one connection. nil does not.
type throttle struct{ limiter *rate.Limiter }

func newThrottle(bytesPerSecond int) *throttle {
	if bytesPerSecond <= 0 {
		return nil
	}
	return &throttle{rate.NewLimiter(rate.Limit(bytesPerSecond), max(1, bytesPerSecond/pieces))}
}

// write hands p to write in pieces, each when its time has come.
func (t *throttle) write(ctx context.Context, p []byte, write func([]byte) (int, error)) (n int, err error) {
	if t == nil {
		return write(p)
	}
	for len(p) > 0 {
		piece := p[:min(len(p), t.limiter.Burst())]
		if err := t.limiter.WaitN(ctx, len(piece)); err != nil {
			return n, fmt.Errorf("wait for the bandwidth: %w", err)
		}
		m, err := write(piece)
		if n += m; err != nil {
			return n, err
		}
		p = p[m:]
	}
	return n, nil
}
