//go:build linux && (amd64 || arm64)

package fast

import (
	"runtime"
	"sync/atomic"
	"testing"

	"assay/internal/base/tlsloop"
	"assay/internal/load"
	"assay/internal/load/loadtest"
)

// The time of a TLS handshake is the gateway's as long as the loop does not delay it.
func TestALoopRestsShortlyDuringHandshakes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	l, _ := bench(t, load.ProtocolConnect, load.CodecJSON, load.HTTP11, fiveLines)
	l.testStream()
	l.resting.others = veryManyOpen // as many streams are open in each of them
	if nap := l.nap(); nap != veryManyNap {
		t.Errorf("without a handshake it rests for %v", nap)
	}
	c := tlsloop.Client(-1, func(int32, []byte) (int, error) { return 0, nil }, loadtest.ClientTLS())
	l.shakes.Begin(c, 0, func() {})
	defer l.shakes.Wait()
	defer c.End()
	if nap := l.nap(); nap != callNap {
		t.Errorf("during a handshake it rests for %v", nap)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var ran atomic.Bool
	go ran.Store(true)
	for range 3 { // the scheduler may choose the loop again, but not every time
		l.rest()
	}
	if !ran.Load() {
		t.Error("no other goroutine runs before it sleeps")
	}
}
