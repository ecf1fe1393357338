package stdio

import (
	"runtime"
	"testing"

	"assay/internal/testkit"
)

// A message has a buffer of at least 512 bytes, as io.ReadAll makes it.
func TestMessagesThatWaitForAProcessAreBounded(t *testing.T) {
	t.Parallel()
	if !testkit.Alone(t) {
		return
	}
	p := newStub(Command{})
	in := stdin{process: p}
	quit := make(chan struct{})
	close(quit) // so that nothing waits for room
	const sent = 2 * maxStdin / inputMemory
	before := heap()
	for range sent {
		if err := in.add(make([]byte, 1, 512), quit); err != nil {
			t.Fatal(err)
		}
	}
	grown := heap() - before
	in.mu.Lock()
	waiting, size := len(in.queue), in.size
	in.mu.Unlock()
	if waiting > sent*2/3 || waiting < sent/3 || size > maxStdin+inputMemory+1 {
		t.Errorf("%d messages wait and count as %d bytes", waiting, size)
	}
	if grown > 2*maxStdin {
		t.Errorf("they take %d bytes", grown)
	}
	in.stop()
	<-p.stdin // the first, which is being written
}

// heap returns the memory in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
