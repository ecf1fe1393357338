package load

import "assay/internal/base/machine"

// spareFiles is how many descriptors are reserved for everything but streams: kills,
// scrapes, files, the terminal.
const spareFiles = 64

// capacity holds the limits of this process. A zero value is unknown, and limits nothing.
type capacity struct {
	files int // descriptors that it may have
	used  int // descriptors that it has
	ports int // local ports for connections to one address

	memory int64 // available bytes
}

// thisMachine reads the capacity of this process.
func thisMachine() capacity {
	c := capacity{memory: machine.FreeMemory()}
	c.files, c.used = machine.Descriptors()
	if low, high, ok := machine.Ports(); ok {
		c.ports = high - low + 1
	}
	return c
}

// room returns how many HTTP/1.1 streams can be open, 0 when that is unknown. With an
// embedded gateway, each takes two descriptors.
func (m capacity) room(embedded bool) int {
	each := 1
	if embedded {
		each = 2
	}
	n := 0
	if m.files > 0 {
		n = max(1, (m.files-m.used-spareFiles)/each)
	}
	if m.ports > 0 && (n == 0 || m.ports-spareFiles < n) {
		n = max(1, m.ports-spareFiles)
	}
	return n
}
