package load

import (
	"fmt"
	"net/netip"
	"runtime"
)

const (
	// portsEach is how many connections one source address makes to one other end:
	// the kernel prefers half of its 28,232 ports, and searches one by one beyond.
	portsEach = 10_000
	// maxProcesses bounds the worker processes of a run.
	maxProcesses = 64
	// fewest is how many streams a worker process must be able to hold.
	fewest = 16
)

// preflight is the need of a plan, found before anything is opened.
type preflight struct {
	connections int
	descriptors int // in one process
	processes   int // 1 is this one alone; more are worker processes
	sources     []netip.Addr
	memory      int64 // bytes, about
}

// Sizer is an engine that knows the memory of an open stream.
type Sizer interface {
	// StreamBytes is about how much memory an open stream of the plan takes.
	StreamBytes(p *Plan) int64
}

// fit checks a plan against the machine, sets how many streams may be open at one
// time and from where they are dialled, and says what the plan takes. embedded is set
// when the other ends of the connections are in this process, and split when worker
// processes may be started.
func (m machine) fit(p *Plan, e Engine, embedded, split bool) (preflight, error) {
	f := preflight{processes: 1}
	streams := p.Streams
	if p.Open() {
		streams = p.Wanted()
	}
	f.connections = streams
	if p.Multiplexed() {
		f.connections = H2Connections(p.Wanted())
	} else if p.Open() {
		p.MaxOpen = m.room(embedded)
		if !p.endless() { // how many are open at one time is the gateway's doing; MaxOpen bounds it
			f.connections = min(streams, p.MaxOpen)
			streams = f.connections
		}
	}
	if s, ok := e.(Sizer); ok {
		f.memory = int64(streams) * s.StreamBytes(p)
	}
	f.sources = m.sources(p.Addr, f.connections)
	p.Sources = f.sources
	f.descriptors = f.connections + spareFiles
	if embedded {
		f.descriptors += f.connections
	}
	if m.files > 0 && f.descriptors > m.files-m.used && split && !embedded && !p.Multiplexed() {
		f.share(m)
	}
	return f, m.holds(&f, embedded)
}

// share finds how many worker processes the connections need.
func (f *preflight) share(m machine) {
	each := m.files - m.used - spareFiles
	if each < fewest {
		return
	}
	if n := (f.connections + each - 1) / each; n <= maxProcesses {
		f.processes = n
		f.descriptors = (f.connections+n-1)/n + spareFiles
	}
}

// sources are the addresses to dial a loopback target from, when one has too few
// ports; none leaves it to the kernel.
func (m machine) sources(addr string, connections int) []netip.Addr {
	to, err := netip.ParseAddrPort(addr)
	if err != nil || !to.Addr().Is4() || !to.Addr().IsLoopback() || connections <= portsEach || runtime.GOOS != "linux" {
		return nil
	}
	var all []netip.Addr
	next := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	for range min((connections+portsEach-1)/portsEach, 200) {
		all = append(all, next)
		next = next.Next()
	}
	return all
}

// holds reports what the machine does not have.
func (m machine) holds(f *preflight, embedded bool) error {
	where := ""
	if embedded {
		where = ", two for each stream because the embedded gateway has the other ends"
	}
	const mend = "use --http h2c (h2-tls for https), where streams share connections, or open fewer"
	ports := m.ports * max(len(f.sources), 1)
	switch {
	case m.files > 0 && f.descriptors > m.files-m.used:
		return &LimitError{
			What: fmt.Sprintf("%d connections need %d file descriptors%s: this process may have %d, and %d are in use", f.connections, f.descriptors, where, m.files, m.used),
			Mend: fmt.Sprintf("raise the limit (ulimit -n %d), %s", f.descriptors+m.used, mend),
		}
	case m.ports > 0 && f.connections+spareFiles > ports:
		return &LimitError{
			What: fmt.Sprintf("%d connections to one address need as many local ports: this machine has %d", f.connections, ports),
			Mend: "widen net.ipv4.ip_local_port_range, " + mend,
		}
	case m.memory > 0 && f.memory > m.memory:
		return &LimitError{
			What: fmt.Sprintf("the streams need about %s of memory: this machine has %s", megabytes(f.memory), megabytes(m.memory)),
			Mend: "open fewer, " + mend,
		}
	}
	return nil
}

// lines say in words what the plan takes of the machine.
func (f *preflight) lines(m machine, p *Plan) []string {
	line := plural(f.connections, "connection", "connections")
	if p.MaxOpen > 0 {
		line = fmt.Sprintf("at most %d streams at one time", p.MaxOpen)
	}
	if m.ports > 0 {
		line += fmt.Sprintf(" · %d local ports", m.ports*max(len(f.sources), 1))
	}
	if n := len(f.sources); n > 1 {
		line += fmt.Sprintf(" of %d addresses from %v on", n, f.sources[0])
	}
	if m.files > 0 {
		line += fmt.Sprintf(" · %d of %d free descriptors", f.descriptors, m.files-m.used)
	}
	if f.memory > 0 && m.memory > 0 {
		line += fmt.Sprintf(" · about %s of %s memory", megabytes(f.memory), megabytes(m.memory))
	}
	all := []string{line}
	if f.processes > 1 {
		all = append(all, fmt.Sprintf("more than one process may have: shared out over %d worker processes", f.processes))
	}
	return all
}

func megabytes(n int64) string {
	if n >= 10<<30 {
		return fmt.Sprintf("%d GB", n>>30)
	}
	return fmt.Sprintf("%d MB", max(n>>20, 1))
}
