package authproxy

import (
	"io"
	"time"

	"assay/internal/base/crash"
)

// idle finds a connection without bytes.
type idle struct {
	after time.Duration // 0: never
	timer *time.Timer
}

// start calls expire when the time is over, unless stop comes first.
func (i *idle) start(expire func()) {
	if i.after > 0 {
		i.timer = time.AfterFunc(i.after, func() {
			defer crash.Catch()
			expire()
		})
	}
}

// moved notes that n bytes have passed.
func (i *idle) moved(n int) {
	if n > 0 && i.timer != nil {
		i.timer.Reset(i.after)
	}
}

// stop ends the timer.
func (i *idle) stop() {
	if i.timer != nil {
		i.timer.Stop()
	}
}

// body is the body of a request; its bytes count.
type body struct {
	io.ReadCloser

	idle *idle
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.idle.moved(n)
	return n, err
}
