//go:build !unix

package load

import "runtime"

// thisMachine knows no limits here.
func thisMachine() machine { return machine{} }

// cpuSeconds returns 0: unknown.
func cpuSeconds() float64 { return 0 }

// peakMemory returns the memory that the runtime has from the system.
func peakMemory() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys) //nolint:gosec // a size in memory
}
