package load

import (
	"fmt"
)

// spareFiles is how many descriptors are kept for what is no stream: kills,
// scrapes, files, the terminal.
const spareFiles = 64

// LimitError says that this machine cannot hold the streams of a plan, and what to do.
// It is a missing precondition (exit code 3), found before anything is opened.
type LimitError struct{ What, Mend string }

// Error is two lines: what does not fit, and the mend.
func (e *LimitError) Error() string { return e.What + "\n  " + e.Mend }

// machine is what this process may open. Zero values are not known, and limit nothing.
type machine struct {
	files int // descriptors it may have
	used  int // descriptors it has
	ports int // local ports for connections to one address
}

// fit checks a plan against the machine, and sets how many streams may be open at
// one time. embedded is set when the other ends of the connections are in this process.
func (m machine) fit(p *Plan, embedded bool) error {
	if p.multiplexed() {
		return m.fitConnections(h2Connections(p.Wanted()), embedded)
	}
	streams := p.Streams
	if p.Open() {
		p.MaxOpen = m.room(embedded)
		if !p.Endless {
			return nil // how many are open at one time is the gateway's doing; MaxOpen bounds it
		}
		streams = p.Wanted()
	}
	return m.fitConnections(streams, embedded)
}

// fitConnections checks that so many connections can be opened.
func (m machine) fitConnections(n int, embedded bool) error {
	each := 1
	where := ""
	if embedded {
		each, where = 2, ", two for each stream because the embedded gateway has the other ends"
	}
	need := n*each + spareFiles
	const mend = "use --http h2c (h2-tls for https), where streams share connections, or open fewer"
	switch {
	case m.files > 0 && need > m.files-m.used:
		return &LimitError{
			What: fmt.Sprintf("%d connections need %d file descriptors%s: this process may have %d, and %d are in use", n, need, where, m.files, m.used),
			Mend: fmt.Sprintf("raise the limit (ulimit -n %d), %s", need+m.used, mend),
		}
	case m.ports > 0 && n+spareFiles > m.ports:
		return &LimitError{
			What: fmt.Sprintf("%d connections to one address need as many local ports: this machine has %d", n, m.ports),
			Mend: "widen net.ipv4.ip_local_port_range, " + mend,
		}
	}
	return nil
}

// room is how many HTTP/1.1 streams can be open, 0 where that is not known.
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
