//go:build unix

package osproc

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"assay/fakes/virtual"
)

// input is our end of stdin: a pipe, or the terminal.
type input struct {
	f      *os.File
	turn   chan struct{} // has a token during a write
	closed atomic.Bool   // by CloseStdin
}

func newInput(f *os.File) *input { return &input{f: f, turn: make(chan struct{}, 1)} }

// write writes all of b, until ctx is done.
func (in *input) write(ctx context.Context, b []byte) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	select {
	case in.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-in.turn }()
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = in.f.SetWriteDeadline(time.Unix(1, 0)) // the file may be closed
	})
	_, err := in.f.Write(b)
	if !stop() {
		<-interrupted
		_ = in.f.SetWriteDeadline(time.Time{})
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return context.Cause(ctx)
	case in.closed.Load():
		return virtual.ErrStdinClosed
	}
	return virtual.ErrBrokenPipe // EPIPE, EIO of a terminal, or closed at the end of the process
}

func (in *input) close() {
	_ = in.f.Close() // may be closed already
}
