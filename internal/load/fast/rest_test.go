//go:build linux && (amd64 || arm64)

package fast

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/load"
)

// The time of a TLS handshake is the gateway's as long as the loop does not delay it.
func TestALoopRestsShortlyDuringHandshakes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	l, _ := bench(t, load.ProtocolConnect, load.CodecJSON, load.HTTP11, fiveLines)
	l.resting.fixed = time.Minute
	if nap := l.nap(); nap != time.Minute {
		t.Errorf("without a handshake it rests for %v", nap)
	}
	l.shakes.open = 1
	if nap := l.nap(); nap != callNap {
		t.Errorf("during a handshake it rests for %v", nap)
	}
	l.resting.fixed = -1
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
