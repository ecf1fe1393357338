package virtual

import (
	"os"
	"runtime"
	"testing"
)

func descriptorCount(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("SKIPPED: descriptors cannot be counted here: %v", err)
	}
	return len(entries)
}

// memoryInUse returns the bytes of the heap and of goroutine stacks. It collects
// twice, because pools survive one collection.
func memoryInUse() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}
