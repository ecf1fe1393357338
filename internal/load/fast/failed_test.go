//go:build linux && (amd64 || arm64)

package fast

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/load"
	"assay/internal/load/account"
	"assay/internal/load/loadtest"
)

// A loop that cannot work ends the run, with its error.
func TestALoopThatFailsEndsTheOthers(t *testing.T) {
	for failing := range 2 {
		ticker := &loadtest.Ticker{Kill: loadtest.KillOK, End: loadtest.Chunk(loadtest.EndEvent(-1)+loadtest.EOS) + loadtest.LastChunk}
		addr := loadtest.Listen(t, ticker.Serve)
		p := loadtest.Plan(t, addr, loadtest.Endless, func(p *load.Plan) { p.Streams, p.Duration = 4, time.Hour })
		sink := loadtest.NewTally()
		r := account.NewRun(p, sink)
		loops, err := Engine{Loops: 2}.build(r, p, sink, dialer{to: netip.MustParseAddrPort(addr)})
		if err != nil {
			t.Fatal(err)
		}
		loops[failing].poll.close()
		loops[failing].poll.fd = -1
		over := make(chan error)
		go func() {
			over <- drive(loops, func() {
				for _, l := range loops {
					l.Wake()
				}
			})
		}()
		select {
		case err := <-over:
			if r.Finish(); !errors.Is(err, unix.EBADF) {
				t.Errorf("%v, want %v", err, unix.EBADF)
			}
		case <-time.After(loadtest.Patience):
			t.Fatal("the other loop does not end")
		}
		for _, l := range loops {
			l.close()
		}
	}
}
