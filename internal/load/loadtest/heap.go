package loadtest

import "runtime"

// Heap returns the bytes of the heap that are in use. It collects twice, because a pool
// survives one collection.
func Heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // far below
}
