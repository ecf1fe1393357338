//go:build linux && (amd64 || arm64)

package fast_test

import (
	"io"
	"net"
	"testing"

	"assay/internal/load"
	"assay/internal/load/fast"
	"assay/internal/load/loadtest"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// What does not fit into the buffers of a socket is written when there is room again.
func TestInputThatDoesNotFitIsWrittenLater(t *testing.T) {
	t.Parallel()
	const size = 8 << 20 // more than the buffers of both ends, of which that of the gateway is small
	got, last := make(chan int, 1), make(chan wire.WSOpcode, 1)
	addr := loadtest.Attach(t, func(c *loadtest.Socket) {
		_ = c.Conn.(*net.TCPConn).SetReadBuffer(256 << 10)
		n := 0
		for {
			op, p, ok := c.Next()
			if !ok || op == wire.WSText {
				break
			}
			n += len(p)
		}
		got <- n
		_, _ = io.WriteString(c.Conn, loadtest.Exit(0)+loadtest.CloseWS(1000))
		op, _, _ := c.Next()
		last <- op
	})
	c := loadtest.Drive(t.Context(), t, fast.Engine{}, loadtest.Plan(t, addr, loadtest.OverWS, func(p *load.Plan) {
		p.Classes[0].Stdin, p.Classes[0].Check = make([]byte, size), load.Check{}
	}))
	c.Want(t, map[bundle.StreamOutcome]int64{bundle.StreamOK: 1})
	if n := <-got; n != size {
		t.Errorf("%d bytes of input arrived, want %d", n, size)
	}
	if op := <-last; op != wire.WSClose {
		t.Errorf("a %v follows the input, want close", op)
	}
}
