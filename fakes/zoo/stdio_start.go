package zoo

import (
	"bytes"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/fakes/gateway"
	"assay/fakes/virtual"
)

// stdioStartFaults returns the faults in what the stdio surface starts, and in the table and the counters of that.
func stdioStartFaults() []fault {
	return []fault{
		{Fault{
			ID:     "stdio-arguments-split",
			Title:  "Arguments behind a script are split at white space",
			Breaks: []string{"stdio.start.arguments"},
			Source: "gateways that join the arguments, and leave them to a shell",
		}, onArgs(func(args []string) []string {
			var out []string
			for n, a := range args {
				if n < 2 || a == "" {
					out = append(out, a)
					continue
				}
				out = append(out, strings.Fields(a)...)
			}
			return out
		})},
		{Fault{
			ID:     "stdio-empty-argument-dropped",
			Title:  "Empty arguments are dropped",
			Breaks: []string{"stdio.start.many-arguments"},
			Source: "gateways that filter parameters without a value",
		}, onArgs(func(args []string) []string {
			return slices.DeleteFunc(args, func(a string) bool { return a == "" })
		})},
		{Fault{
			ID:     "stdio-terminal-ignored",
			Title:  "The parameter pty is ignored",
			Breaks: []string{"stdio.pty.terminal", "stdio.pty.size", "stdio.pty.resize", "stdio.pty.interrupt"},
			Source: "Bun.spawn, which has no terminals",
		}, onQuery(func(q url.Values) { q.Del("pty") })},
		{Fault{
			ID:     "stdio-terminal-size-ignored",
			Title:  "Every terminal begins with 80 columns and 24 rows",
			Breaks: []string{"stdio.pty.size"},
			Source: "gotty and ttyd before the first resize",
		}, onQuery(func(q url.Values) {
			q.Del("cols")
			q.Del("rows")
		})},
		{Fault{
			ID:     "stdio-unlisted",
			Title:  "Processes of the stdio surface are not in List",
			Breaks: []string{"stdio.list.shown"},
			Source: "gateways with one process table per surface",
		}, onTable(func(next gateway.Table) gateway.Table { return unlisted{next} })},
		{Fault{
			ID:     "stdio-kill-ignored",
			Title:  "A SIGKILL to a process of the stdio surface succeeds and does nothing",
			Breaks: []string{"stdio.list.killed", "stdio.signal.delivered"},
			Source: "gateways with one process table per surface, whose signals go to the first one",
		}, onTable(func(next gateway.Table) gateway.Table { return unkillable{next} })},
		{Fault{
			ID:     "stdio-uncounted",
			Title:  "Processes of the stdio surface are not counted",
			Breaks: []string{"stdio.parity.metrics"},
			Source: "conjure-go#379: counters in the handlers of one surface",
		}, uncounted},
	}
}

// onQuery changes the query of every handshake that has a valid one.
func onQuery(change func(q url.Values)) func(*build) {
	return onAttachRequest(func(r *http.Request) {
		if q, err := url.ParseQuery(r.URL.RawQuery); err == nil && isWSUpgrade(r) {
			change(q)
			r.URL.RawQuery = q.Encode()
		}
	})
}

// onArgs changes the arguments of every command.
func onArgs(change func(args []string) []string) func(*build) {
	return onQuery(func(q url.Values) { q["arg"] = change(q["arg"]) })
}

// isAttached reports whether a process belongs to the stdio surface.
func isAttached(p *gateway.Process) bool { return p.Raw }

// unlisted hides the processes of the stdio surface.
type unlisted struct{ gateway.Table }

func (u unlisted) List() []*gateway.Process { return slices.DeleteFunc(u.Table.List(), isAttached) }

// unkillable ignores SIGKILL to the processes of the stdio surface.
type unkillable struct{ gateway.Table }

func (u unkillable) Kill(s gateway.Selector) error {
	if p, err := u.Find(s); err == nil && isAttached(p) {
		return nil
	}
	return u.Table.Kill(s)
}

// uncounted removes the processes of the stdio surface from the counters.
func uncounted(b *build) {
	books := &hidden{finished: map[gateway.Finish]uint64{}}
	onTable(func(next gateway.Table) gateway.Table { return hiddenStart{next, books} })(b)
	onEnding(func(p *gateway.Process, e gateway.Ending, _ gateway.Counters) gateway.Ending {
		books.end(p, e)
		return e
	})(b)
	b.Seams.Tally = around(b.Seams.Tally, books.subtract)
}

// hidden counts what does not count.
type hidden struct {
	mu       sync.Mutex
	started  uint64
	finished map[gateway.Finish]uint64
}

func (h *hidden) end(p *gateway.Process, e gateway.Ending) {
	if !isAttached(p) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	how := gateway.FinishError
	switch {
	case p.Killed() || !e.Exited:
		how = gateway.FinishKilled
	case e.Code == 0:
		how = gateway.FinishOK
	}
	h.finished[how]++
}

func (h *hidden) subtract(t gateway.Tally) gateway.Tally {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.Started -= h.started
	running := int64(h.started)
	for how, n := range h.finished {
		t.Finished[how] -= min(n, t.Finished[how])
		running -= int64(n)
	}
	t.Active = max(0, t.Active-int(running))
	return t
}

// hiddenStart hides every start of the stdio surface.
type hiddenStart struct {
	gateway.Table
	books *hidden
}

func (h hiddenStart) Start(s gateway.Spec) (*gateway.Process, *gateway.Subscriber, error) {
	p, sub, err := h.Table.Start(s)
	if err == nil && s.Raw {
		h.books.mu.Lock()
		defer h.books.mu.Unlock()
		h.books.started++
	}
	return p, sub, err
}

// refuseUnknown looks for the program before it starts a command of the stdio surface.
func refuseUnknown(b *build) {
	exists := programsOf(b)
	onTable(func(next gateway.Table) gateway.Table { return careful{next, exists} })(b)
}

// programsOf returns a function that looks for a program in the newest sandbox, because all have the same programs.
func programsOf(b *build) (exists func(program string) bool) {
	all := sandboxesOf(b)
	return func(program string) bool {
		boxes := all()
		return gateway.HasProgram(boxes[len(boxes)-1], program)
	}
}

// careful starts only programs that exist.
type careful struct {
	gateway.Table
	exists func(program string) bool
}

func (c careful) Start(s gateway.Spec) (*gateway.Process, *gateway.Subscriber, error) {
	if s.Raw && !c.exists(s.Config.GetCmd()) {
		return nil, nil, &virtual.SpawnError{Reason: "no such program: " + s.Config.GetCmd()}
	}
	return c.Table.Start(s)
}

// headWait is how long the head of an accepted handshake waits for a frame.
const headWait = 50 * time.Millisecond

// heldHead is a connection that holds the head of an accepted handshake back until the next write.
type heldHead struct {
	net.Conn
	mu   sync.Mutex
	head []byte
	stop func() bool
}

func (h *heldHead) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.head == nil && bytes.HasPrefix(p, []byte("HTTP/1.1 101 ")) {
		h.head = bytes.Clone(p)
		h.stop = time.AfterFunc(headWait, h.flush).Stop
		return len(p), nil
	}
	if len(h.head) > 0 {
		h.stop()
		head := h.head
		h.head = []byte{}
		if _, err := h.Conn.Write(append(head, p...)); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	return h.Conn.Write(p)
}

// flush sends the head alone.
func (h *heldHead) flush() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.head) > 0 {
		_, _ = h.Conn.Write(h.head) // the next write returns the same error
		h.head = []byte{}
	}
}

// CloseWrite tells the client that nothing follows.
func (h *heldHead) CloseWrite() error {
	h.flush()
	return closeWrite(h.Conn)
}
