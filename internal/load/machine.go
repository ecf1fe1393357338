package load

// spareFiles is how many descriptors are reserved for everything but streams: kills,
// scrapes, files, the terminal.
const spareFiles = 64

// LimitError says that this machine cannot hold the streams of a plan, and what to do.
// It is a missing precondition (exit code 3), found before anything is opened.
type LimitError struct{ What, Mend string }

// Error returns two lines: what does not fit, and the mend.
func (e *LimitError) Error() string { return e.What + "\n  " + e.Mend }

// machine holds the limits of this process. A zero value is unknown, and limits nothing.
type machine struct {
	files int // descriptors that it may have
	used  int // descriptors that it has
	ports int // local ports for connections to one address

	memory int64 // available bytes
}

// room returns how many HTTP/1.1 streams can be open, 0 when that is unknown. With an
// embedded gateway, each takes two descriptors.
func (m machine) room(embedded bool) int {
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
