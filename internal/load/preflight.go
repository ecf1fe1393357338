package load

import (
	"fmt"
	"net/netip"
	"runtime"

	"assay/internal/base/machine"
)

const (
	// portsEach is how many connections one source address makes to one destination: the
	// kernel prefers half of its 28,232 ports, and searches the others one by one.
	portsEach = 10_000
	// loopFiles is the descriptors of another event loop: to poll, to wake it, and a
	// connection for its calls.
	loopFiles = 3
	// maxProcesses bounds the worker processes of a run.
	maxProcesses = 64
	// fewest is how many streams a worker process must be able to hold.
	fewest = 16
)

// preflight is the resources that a plan needs, computed before anything is opened.
type preflight struct {
	connections int
	descriptors int // in one process
	processes   int // 1 is this process alone; more are worker processes
	sources     []netip.Addr
	memory      int64 // bytes, approximately
	upgrades    bool  // some streams need a connection of their own, to upgrade it
	remote      bool  // the workers are on machines of their own
	wanted      bool  // the user asked for so many processes
}

// Sizer is an engine that knows the memory that an open stream takes.
type Sizer interface {
	// StreamBytes returns the approximate memory of an open stream of the plan.
	StreamBytes(p *Plan) int64
}

// splitting says how a plan may be shared among processes of this machine.
type splitting struct {
	embedded bool // the gateway runs in this process
	may      bool // worker processes may be started
	workers  int  // so many are; 0 is as many as the plan needs
}

// Looper is an engine that runs event loops.
type Looper interface {
	// EventLoops returns the number of event loops of a process that runs the plan.
	EventLoops(p *Plan) int
}

// loops returns the number of event loops of all processes that share the plan; 0 for an
// engine without event loops.
func (f *preflight) loops(p *Plan, e Engine) int {
	l, ok := e.(Looper)
	switch {
	case !ok:
		return 0
	case f.processes <= 1:
		return l.EventLoops(p)
	}
	part := *p
	part.Parts = f.processes
	return f.processes * l.EventLoops(&part)
}

// fit computes the resources that a plan needs, checks that the machine has them, and sets
// MaxOpen and Sources of the plan.
func (m capacity) fit(p *Plan, e Engine, split splitting) (preflight, error) {
	f := preflight{processes: max(split.workers, 1), wanted: split.workers > 0, upgrades: p.upgrades()}
	streams := share(p.Streams, p.Part, p.Parts)
	if p.Open() {
		streams = p.Wanted()
	}
	f.connections = streams
	loops := f.loops(p, e)
	if p.Multiplexed() {
		f.connections = max(f.processes*H2Connections((p.Wanted()+f.processes-1)/f.processes), loops)
	} else if p.Open() {
		p.MaxOpen = m.room(split.embedded)
		if !p.endless() { // the gateway's speed decides how many are open; MaxOpen bounds it
			f.connections = min(streams, p.MaxOpen)
			streams = f.connections
		}
	}
	if s, ok := e.(Sizer); ok {
		f.memory = int64(streams) * s.StreamBytes(p)
	}
	f.sources = m.sources(p.Addr, f.connections)
	p.Sources = f.sources
	f.descriptors = f.connections + spareFiles + loopFiles*max(loops/f.processes-1, 0)
	switch {
	case f.wanted && !split.embedded:
		f.descriptors -= f.connections - (f.connections+f.processes-1)/f.processes // each has its own
	case f.wanted: // those of the gateway
	case split.embedded:
		f.descriptors += f.connections
	case m.files > 0 && f.descriptors > m.files-m.used && split.may && !p.Multiplexed():
		f.share(m)
	}
	return f, m.holds(&f, split.embedded)
}

// share computes how many worker processes the connections need.
func (f *preflight) share(m capacity) {
	each := m.files - m.used - spareFiles
	if each < fewest {
		return
	}
	if n := (f.connections + each - 1) / each; n <= maxProcesses {
		f.processes = n
		f.descriptors = (f.connections+n-1)/n + spareFiles
	}
}

// sources returns the addresses to dial a loopback target from, when one has too few
// ports. With nil, the kernel chooses.
func (m capacity) sources(addr string, connections int) []netip.Addr {
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

// holds returns an error for a resource that the machine does not have.
func (m capacity) holds(f *preflight, embedded bool) error {
	where := ""
	if embedded {
		where = ", two for each stream because the embedded gateway runs in the same process"
	}
	const share = "use --http h2c (h2-tls for https), where streams share connections"
	raise, fewer := ", "+share+", or open fewer", "open fewer, or "+share
	if f.upgrades {
		raise, fewer = ", or open fewer", "open fewer"
	}
	ports := m.ports * max(len(f.sources), 1)
	switch {
	case m.files > 0 && f.descriptors > m.files-m.used:
		return &machine.LimitError{
			What: fmt.Sprintf("%d connections need %d file descriptors%s: this process may have %d, and %d are in use", f.connections, f.descriptors, where, m.files, m.used),
			Mend: fmt.Sprintf("raise the limit (ulimit -n %d)%s", f.descriptors+m.used, raise),
		}
	case m.ports > 0 && f.connections+spareFiles > ports:
		return &machine.LimitError{
			What: fmt.Sprintf("%d connections to one address need as many local ports: this machine has %d", f.connections, ports),
			Mend: "widen net.ipv4.ip_local_port_range" + raise,
		}
	case m.memory > 0 && f.memory > m.memory:
		return &machine.LimitError{
			What: fmt.Sprintf("the streams need about %s of memory: this machine has %s", megabytes(f.memory), megabytes(m.memory)),
			Mend: fewer,
		}
	}
	return nil
}

// lines describes the resources that the plan needs.
func (f *preflight) lines(m capacity, p *Plan) []string {
	if f.remote {
		return []string{fmt.Sprintf("shared among %s; each checks its own machine", plural(f.processes, "worker", "workers"))}
	}
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
	switch {
	case f.wanted:
		all = append(all, "shared among "+plural(f.processes, "worker process", "worker processes"))
	case f.processes > 1:
		all = append(all, fmt.Sprintf("too many for one process: shared among %d worker processes", f.processes))
	}
	return all
}

func megabytes(n int64) string {
	if n >= 10<<30 {
		return fmt.Sprintf("%d GB", n>>30)
	}
	return fmt.Sprintf("%d MB", max(n>>20, 1))
}
