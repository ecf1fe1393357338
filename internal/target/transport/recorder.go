package transport

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"assay/internal/base/crash"
	"assay/internal/base/secret"
	"assay/internal/record/bundle"
)

// Recorder collects the connections and exchanges of one iteration. It is safe for
// concurrent use.
type Recorder struct {
	clock  *Clock
	redact redactor
	memory *Memory
	taken  atomic.Int64 // of memory

	mu        sync.Mutex
	finished  bool
	conns     []*Conn
	failed    []bundle.Conn // connections that could not be opened
	exchanges []*Exchange
	dropped   []string
	nextConn  int

	readers crash.Group
}

// errFinished is returned by Open after Finish.
var errFinished = errors.New("the recorder has finished")

// NewRecorder makes a recorder. redact, which may be nil, overwrites the secrets of the run;
// see the package comment.
func NewRecorder(clock *Clock, redact *secret.Redactor) *Recorder {
	return &Recorder{clock: clock, redact: redactor{redact}}
}

// Within lets the recorder use the memory of a run, and returns it.
func (r *Recorder) Within(m *Memory) *Recorder {
	r.memory = m
	return r
}

// Finish closes every open connection (recorded as ended by us), waits for
// their readers, and returns the connections and exchanges in the order in which they
// began. Exchanges under way are recorded as aborted. expected maps exchange name to
// stream (stdout, stderr, pty, or body) to the bytes that the script expects
// there, so that the first difference can be kept. Nothing is recorded after Finish;
// call it once.
func (r *Recorder) Finish(expected map[string]map[string][]byte) ([]bundle.Conn, []bundle.Exchange) {
	r.mu.Lock()
	r.finished = true
	open := slices.Clone(r.conns)
	r.mu.Unlock()
	for _, c := range open {
		c.finish()
	}
	r.readers.Wait()

	r.mu.Lock()
	conns := slices.Clone(r.failed)
	began := slices.Clone(r.exchanges)
	r.mu.Unlock()
	var dropped []string
	exchanges := make([]bundle.Exchange, 0, len(began))
	for _, x := range began {
		rec, left := x.record(expected[x.name])
		exchanges = append(exchanges, rec)
		if left != "" {
			dropped = append(dropped, fmt.Sprintf("exchange %d (%s): %s", rec.ID, rec.Name, left))
		}
	}
	// Only now it is known whether the peer has sent a secret.
	for _, c := range open {
		rec, left := c.record()
		conns = append(conns, rec)
		if left != "" {
			dropped = append(dropped, fmt.Sprintf("connection %d: %s", c.id, left))
		}
	}
	slices.SortFunc(conns, func(a, b bundle.Conn) int { return a.ID - b.ID })
	r.mu.Lock()
	r.dropped = dropped
	r.mu.Unlock()
	r.give(r.taken.Load())
	return conns, exchanges
}

// Dropped describes what was omitted from the record because of its limits; it
// is complete after Finish.
func (r *Recorder) Dropped() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.dropped)
}

// Failed records an exchange without a connection: its outcome is no-connect and its
// detail err. conn is the id of the failed connection (see DialError), or -1.
func (r *Recorder) Failed(call Call, conn int, err error) *Exchange {
	x := r.newExchange(call, nil, &sync.Mutex{})
	x.mu.Lock()
	defer x.mu.Unlock()
	x.rec.Conn = conn
	detail := ""
	if err != nil {
		detail = err.Error()
	}
	x.end(bundle.OutcomeNoConnect, detail)
	return x
}

// newExchange begins the record of a call and assigns its id.
func (r *Recorder) newExchange(call Call, c *Conn, mu *sync.Mutex) *Exchange {
	x := &Exchange{
		mu: mu, conn: c, name: call.Name, method: call.Method, done: make(chan struct{}), account: account{recorder: r},
		rec: bundle.Exchange{
			Name: call.Name, Step: call.Step, Op: call.Op, Conn: -1,
			RPC: call.RPC, Protocol: call.Protocol, Surface: call.Surface, Sandbox: call.Sandbox, Shape: call.Shape, Codec: call.Codec,
			Request: bundle.Request{
				Method: call.Method, Path: r.redact.Text(call.Path), Headers: r.redact.headers(call.Headers),
				Body: r.redact.blob(call.Body, nil),
			},
		},
	}
	if c != nil {
		x.rec.Conn = c.id
	}
	if x.rec.Shape == "" {
		x.rec.Shape = bundle.ShapePlain
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	x.rec.ID = len(r.exchanges)
	x.rec.Invoked = r.clock.Stamp()
	r.exchanges = append(r.exchanges, x)
	return x
}

// newID takes the next connection id.
func (r *Recorder) newID() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nextConn++
	return r.nextConn - 1
}

// addFailed records a connection that could not be opened.
func (r *Recorder) addFailed(c bundle.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, c)
}

// addConn adds a connection and counts its reader; it returns false after Finish.
func (r *Recorder) addConn(c *Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.finished {
		return false
	}
	r.conns = append(r.conns, c)
	r.readers.Add(1)
	return true
}
