package reproduce

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// Failure is a verdict to reproduce.
type Failure struct {
	// Instance is the scenario that ran, with its Observation.
	Instance    scenarios.Instance
	Observation *bundle.Observation
	Verdict     bundle.Verdict
	// Replay is the command that runs the instance again.
	Replay string
}

// untriable says why a failure is not tried again; "" for one that may be.
func (f Failure) untriable() string {
	switch {
	case f.Instance.Scenario.Destructive:
		return "it can kill the target"
	case f.Verdict.Untried:
		return f.Observation.Confirm.Like + " showed the same alone"
	}
	return ""
}

// source is the connection on which a failure occurred, ready to be written as bytes.
type source struct {
	Failure
	it   *bundle.Iteration
	conn *bundle.Conn
	// exchanges are those of the connection in the order of their requests; x is the one
	// that the verdict points to, or the first.
	exchanges []*bundle.Exchange
	x         *bundle.Exchange
	writes    []write
	others    int // other connections of the iteration
}

// write is a sent piece, and the pause before it.
type write struct {
	data  []byte
	pause time.Duration
}

// errNoBytes and the errors of sourceOf are reasons for the report.
var errNoBytes = errors.New("the verdict points at no connection: it spans several, or the counters")

// sourceOf finds the connection that shows a failure by itself. The error says why there
// is none.
func sourceOf(f Failure) (*source, error) {
	s := &source{Failure: f}
	if err := s.find(); err != nil {
		return nil, err
	}
	if err := s.standsAlone(); err != nil {
		return nil, err
	}
	s.writes = writesOf(s.conn)
	return s, nil
}

// find locates the iteration, the connection and the exchange of the evidence.
func (s *source) find() error {
	e := s.Verdict.Evidence
	if e == nil || e.Iteration < 0 || e.Iteration >= len(s.Observation.Iterations) {
		return errNoBytes
	}
	s.it = &s.Observation.Iterations[e.Iteration]
	id := e.Conn
	if e.Exchange >= 0 && e.Exchange < len(s.it.Exchanges) {
		id = s.it.Exchanges[e.Exchange].Conn
	}
	for i := range s.it.Conns {
		if s.it.Conns[i].ID == id {
			s.conn = &s.it.Conns[i]
		}
	}
	if s.conn == nil {
		return errNoBytes
	}
	used := map[int]bool{}
	for i := range s.it.Exchanges {
		x := &s.it.Exchanges[i]
		if x.Conn == id {
			s.exchanges = append(s.exchanges, x)
		} else if !x.Housekeeping() {
			used[x.Conn] = true
		}
	}
	s.others = len(used)
	slices.SortStableFunc(s.exchanges, func(a, b *bundle.Exchange) int { return int(a.Invoked.N - b.Invoked.N) })
	if len(s.exchanges) > 0 {
		s.x = s.exchanges[0]
	}
	if e.Exchange >= 0 && e.Exchange < len(s.it.Exchanges) {
		s.x = &s.it.Exchanges[e.Exchange]
	}
	return nil
}

// standsAlone returns an error if the bytes of the connection cannot be sent again by
// themselves.
func (s *source) standsAlone() error {
	switch {
	case s.conn.DialError != "" || s.conn.Sent.Len == 0:
		return errors.New("nothing was sent on the connection")
	case !s.conn.Sent.Whole():
		return fmt.Errorf("%d bytes were sent, and the record does not have all of them", s.conn.Sent.Len)
	case len(s.exchanges) > maxExchanges:
		return fmt.Errorf("the connection carried %d requests", len(s.exchanges))
	}
	var why error
	s.Instance.Scenario.EachStep(func(st *scenarios.Step) {
		if why == nil {
			why = s.steered(st)
		}
	})
	if why != nil {
		return why
	}
	return s.alone()
}

const maxExchanges = 16

// steered returns an error if a step controls the connection in a way that a pipe cannot,
// or makes its bytes depend on another connection.
func (s *source) steered(st *scenarios.Step) error {
	switch {
	case st.Race != nil:
		return errors.New("the scenario is a race of several connections")
	case st.Read != nil:
		return errors.New("the script controls how fast it reads")
	case st.Close != nil && st.Close.How != "" && s.named(st.Close.On):
		return fmt.Errorf("the script ends the connection in the middle (%s)", st.Close.How)
	case st.Send != nil && st.Send.Finish != "" && s.stepped(st.At):
		return fmt.Errorf("the script ends the connection after the request (%s)", st.Send.Finish)
	}
	process := processOf(st)
	if !s.stepped(st.At) && (st.Write == nil || !s.named(st.Write.To)) {
		if s.named(process) {
			return fmt.Errorf("another connection controls or attaches to the process %s that it starts", process)
		}
		return nil
	}
	if process != "" {
		return fmt.Errorf("its bytes have the pid of process %s, which another call started", process)
	}
	return nil
}

// named reports whether a name in the script refers to the connection or to an exchange
// on it.
func (s *source) named(name string) bool {
	return name == s.conn.Name && name != "" || slices.ContainsFunc(s.exchanges, func(x *bundle.Exchange) bool { return x.Name == name })
}

// stepped reports whether the step at this place made an exchange of the connection.
func (s *source) stepped(at string) bool {
	return slices.ContainsFunc(s.exchanges, func(x *bundle.Exchange) bool { return x.Step == at })
}

// processOf returns the process of an earlier start that a step refers to, or "".
func processOf(st *scenarios.Step) string {
	call, _ := st.Call()
	if t := call.Target; t != nil && t.To != "" {
		return t.To
	}
	text, err := json.Marshal(st)
	if err != nil {
		return "of an earlier step"
	}
	for _, what := range []string{".pid}", ".tag}"} {
		if before, _, ok := strings.Cut(string(text), what); ok {
			return before[strings.LastIndex(before, "{")+1:]
		}
	}
	return ""
}

// The waits between writes to keep: long ones unchanged, and a short one if the target
// had responded in between.
const (
	leastPause = 50 * time.Millisecond
	longPause  = 10 * time.Second
	turnPause  = 200 * time.Millisecond
)

// writesOf splits the sent bytes where a wait between the pieces matters. It joins pieces
// that followed at once, as a pipe would do.
func writesOf(c *bundle.Conn) []write {
	chunks := c.Writes
	if len(chunks) == 0 {
		chunks = []bundle.Chunk{{Len: int(c.Sent.Len), At: c.Dialed}}
	}
	control := controlFrames(c)
	var out []write
	last := chunks[0].At
	for i, ch := range chunks {
		from, to := ch.Off, ch.Off+int64(ch.Len)
		if i == len(chunks)-1 {
			to = c.Sent.Len
		}
		if from < 0 || to < from || to > c.Sent.Len {
			return []write{{data: c.Sent.Data}}
		}
		data := c.Sent.Data[from:to]
		var pause time.Duration
		switch gap := time.Duration(ch.At.T - last.T); {
		case i == 0 || control[ch.At.N]:
		case gap >= leastPause:
			pause = min(gap, longPause).Round(10 * time.Millisecond)
		case readBetween(c, last, ch.At):
			pause = turnPause
		}
		last = ch.At
		if len(out) > 0 && pause == 0 {
			out[len(out)-1].data = append(out[len(out)-1].data, data...)
			continue
		}
		out = append(out, write{data: bytes.Clone(data), pause: pause})
	}
	return out
}

// readBetween reports whether a response arrived between two writes.
func readBetween(c *bundle.Conn, after, before bundle.Stamp) bool {
	return slices.ContainsFunc(c.Reads, func(r bundle.Chunk) bool { return after.Before(r.At) && r.At.Before(before) })
}

// controlFrames returns the numbers of the writes with only HTTP/2 control frames, whose
// exact timing does not matter.
func controlFrames(c *bundle.Conn) map[int64]bool {
	control := map[int64]bool{}
	for _, f := range c.H2 {
		if f.Dir != "sent" {
			continue
		}
		own := f.Type == "SETTINGS" || f.Type == "WINDOW_UPDATE" || f.Type == "PING"
		was, seen := control[f.At.N]
		control[f.At.N] = own && (was || !seen)
	}
	return control
}

// http2 reports whether the connection spoke HTTP/2.
func (s *source) http2() bool { return s.conn.HTTP != "" && s.conn.HTTP != "1.1" }

// took returns the time from the first request to the last received byte.
func (s *source) took() time.Duration {
	if len(s.exchanges) == 0 {
		return 0
	}
	first, last := s.exchanges[0].Invoked.T, s.exchanges[0].Invoked.T
	for _, x := range s.exchanges {
		if x.Returned != nil {
			last = max(last, x.Returned.T)
		}
	}
	return time.Duration(last - first)
}
