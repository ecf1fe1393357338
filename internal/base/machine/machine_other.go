//go:build !unix

package machine

import "runtime"

// Descriptors returns zeros: the limit is unknown.
func Descriptors() (limit, used int) { return 0, 0 }

// NoCore does nothing.
func NoCore() {}

// Ports returns false: the range is unknown.
func Ports() (low, high int, ok bool) { return 0, 0, false }

// FreeMemory returns 0: it is unknown.
func FreeMemory() int64 { return 0 }

// Competition returns false: it is unknown.
func Competition() (c Contest, ok bool) { return c, false }

// CPUSeconds returns 0: it is unknown.
func CPUSeconds() float64 { return 0 }

// PeakMemory returns the memory that the Go runtime has from the system, in bytes.
func PeakMemory() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys) //nolint:gosec // a size in memory
}
