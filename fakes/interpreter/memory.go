package interpreter

import (
	"time"

	"go.starlark.net/starlark"

	"assay/fakes/virtual"
	"assay/internal/crash"
)

// heapEvery is how often a run looks at the heap.
const heapEvery = 10 * time.Millisecond

// errMemory is why code ends for which there is no room.
const errMemory = "out of memory"

// watchHeap cancels a thread while the heap of this process is larger than a limit, until stop is called. One operation may still take more.
func watchHeap(thread *starlark.Thread, limit uint64) (stop func()) {
	check := func() {
		if virtual.HeapSize() > limit {
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
