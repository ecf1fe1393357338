//go:build !unix

package load

import "runtime"

// thisMachine knows nothing here, and limits nothing.
func thisMachine() machine { return machine{} }

// cpuSeconds is not known here.
func cpuSeconds() float64 { return 0 }

// peakMemory is what the runtime has from the system.
func peakMemory() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys) //nolint:gosec // a size in memory
}
