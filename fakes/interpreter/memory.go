package interpreter

import (
	"runtime/metrics"
	"time"

	"go.starlark.net/starlark"

	"assay/internal/crash"
)

const (
	// maxHeap limits the heap of this process without garbage, but with everything else in it: while it is larger, no code begins or goes on.
	// This is coarse, as it is for a fake that serves clients on loopback: one operation may still take more.
	maxHeap = 4 << 30
	// heapEvery is how often a run looks at the heap.
	heapEvery = 10 * time.Millisecond
)

// errMemory is why code ends for which there is no room.
const errMemory = "out of memory"

// watchHeap cancels a thread while the heap of this process is larger than a limit, until stop is called.
func watchHeap(thread *starlark.Thread, limit uint64) (stop func()) {
	heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	check := func() {
		if metrics.Read(heap); heap[0].Value.Uint64() > limit {
			thread.Cancel(errMemory)
		}
	}
	check()
	done := make(chan struct{})
	crash.Go(func() {
		ticker := time.NewTicker(heapEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				check()
			}
		}
	})
	return func() { close(done) }
}
