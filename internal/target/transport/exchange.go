package transport

import (
	"fmt"
	"slices"
	"sync"

	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// Exchange is one request and its response, while they are under way and afterwards.
// Every method is safe for concurrent use.
type Exchange struct {
	mu      *sync.Mutex // of the connection, if there is one
	conn    *Conn
	name    string
	method  string
	counted bool // in Conn.unsent
	account

	rec           bundle.Exchange // Outputs and Body are not set before record
	lent          int             // the number of rec.Frames that a snapshot shares
	informational []int
	answer        answer // decodes the body; nil before the head
	outputs       map[string]*store
	body          *store // the received body, when it is not enveloped
	plain         []byte // the body without its Content-Encoding, if it had one
	decoded       bool   // plain is set
	kept          budget
	pings         int64        // bytes of the body that belong to keepalive events
	content       int64        // the largest number of other bytes
	progressed    bundle.Stamp // when the last other byte arrived
	trailers      []wire.Field // as received
	trailersOff   int64        // of their HEADERS frame in the connection's bytes, on HTTP/2

	over      bool
	abandoned bool
	changed   broadcast
	done      chan struct{}
}

// extent is how far a response is read: bytes of the body, and frames; and a connection: HTTP/2
// frames without content.
type extent struct {
	bytes  int64
	frames int
	busy   int
}

// farthest is the usual extent: no scenario asks for a quarter of it, nor for a hundredth of busy.
// Once several responses of the run were left unread, shortest applies.
var (
	farthest = extent{64 << 20, 400_000, 50_000}
	shortest = extent{4 << 20, 50_000, 5_000}
)

// answer decodes the body of one response.
type answer interface {
	feed(p []byte, at bundle.Stamp)
	close() // the body is complete
}

// MarkSent stamps the end of the request. Bytes that are written after it, before
// another exchange is announced, belong to no exchange.
func (x *Exchange) MarkSent() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.notUnsent()
	if x.rec.Sent == nil {
		now := x.recorder.clock.Stamp()
		x.rec.Sent = &now
		x.changed.fire()
	}
}

func (x *Exchange) notUnsent() {
	if x.counted {
		x.counted = false
		x.conn.unsent--
	}
}

// Changed returns a channel that is closed at the next event, frame, head or
// end of this exchange, and never after it has returned. Take it before reading
// the state.
func (x *Exchange) Changed() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.changed.wait()
}

// Snapshot returns a consistent copy of the record so far. It is cheap: slices
// are shared, and their contents do not change afterwards. Outcome is empty
// while the exchange is under way. Outputs and Body are not set; see Output and BodyBytes.
func (x *Exchange) Snapshot() bundle.Exchange {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.snapshot()
}

func (x *Exchange) snapshot() bundle.Exchange {
	s := x.rec
	s.Frames = slices.Clip(s.Frames)
	x.lent = len(s.Frames)
	s.Events = slices.Clip(s.Events)
	s.Violations = slices.Clip(s.Violations)
	if s.Response != nil {
		r := *s.Response
		s.Response = &r
	}
	return s
}

// frame returns a frame to change it. A snapshot keeps it as it was.
func (x *Exchange) frame(i int) *bundle.Frame {
	if i < x.lent {
		x.rec.Frames = slices.Clone(x.rec.Frames)
		x.lent = 0
	}
	return &x.rec.Frames[i]
}

// Output returns the data received so far on a stream (stdout, stderr, pty), not
// redacted; do not modify it.
func (x *Exchange) Output(stream string) []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	if s := x.outputs[stream]; s != nil {
		return slices.Clip(s.kept)
	}
	return nil
}

// BodyBytes returns the body received so far, if it is not enveloped. It is not
// redacted; its Content-Encoding is removed once it is complete. Do not modify it.
func (x *Exchange) BodyBytes() []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.decoded:
		return x.plain
	case x.body != nil:
		return slices.Clip(x.body.kept)
	default:
		return nil
	}
}

// Progressed returns the time of the latest content: the head, or bytes of the body that
// belong to no keepalive event. It is the zero Stamp before the head.
func (x *Exchange) Progressed() bundle.Stamp {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.progressed
}

// Done is closed when the exchange has returned.
func (x *Exchange) Done() <-chan struct{} { return x.done }

// Conn returns the connection of the exchange, nil if there was none.
func (x *Exchange) Conn() *Conn { return x.conn }

// GiveUp ends an exchange under way with an outcome (no-answer, stalled, aborted).
// It does not close the connection. A later response is not recorded in this exchange, and what HTTP/1.1 brings after
// that is recorded but not decoded: nobody waits for it, and what it answers is no longer known.
func (x *Exchange) GiveUp(o bundle.Outcome, detail string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.abandoned = x.abandoned || !x.over
	x.end(o, detail)
}

// Abort marks that the script itself ends the exchange: if either side cuts it from now
// on, it is recorded as aborted. A complete response stays complete.
func (x *Exchange) Abort() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.rec.Aborted = true
}

// begin takes the head of a response; of 1xx it notes only the status.
func (x *Exchange) begin(h wire.Head) {
	if x.over {
		return
	}
	if h.Status < 200 && !x.switches(h.Status) {
		if len(x.informational) < maxInformational {
			x.informational = append(x.informational, h.Status)
		}
		return
	}
	redact := x.recorder.redact
	size := 0
	for _, f := range h.Fields {
		size += fieldSize(f.Name, f.Value)
	}
	if !x.keep(size) {
		return
	}
	x.rec.Response = &bundle.Response{
		Proto: h.Proto, Status: h.Status, Reason: redact.Text(h.Reason),
		Headers: redact.headers(fields(h.Fields)), Informational: x.informational,
		Framing: h.Framing, Head: x.recorder.clock.Stamp(),
	}
	x.answer = x.choose(fields(h.Fields))
	if x.switches(h.Status) {
		x.rec.Response.Framing = framingUpgrade
		x.checkUpgrade(h)
	}
	x.progressed = x.rec.Response.Head
	x.changed.fire()
}

// feed takes bytes of the body.
func (x *Exchange) feed(p []byte) {
	if x.over || x.answer == nil {
		return
	}
	x.rec.Response.Body += int64(len(p))
	switch most := x.recorder.memory.extent(); {
	case x.rec.Response.Body > most.bytes:
		x.leaveUnread(fmt.Sprintf("it is longer than %s", bundle.Megabytes(most.bytes)))
		return
	case x.kept.seen() > most.frames:
		x.leaveUnread(fmt.Sprintf("it has more than %d frames", most.frames))
		return
	}
	x.answer.feed(p, x.conn.lastRead)
	// A partial keepalive event counts as content until it is complete; the next one does not.
	if content := x.rec.Response.Body - x.pings; content > x.content {
		x.content, x.progressed = content, x.conn.lastRead
	}
	x.changed.fire()
}

// complete ends a response where its framing ends it.
func (x *Exchange) complete(trailers []wire.Field) {
	if x.over || x.answer == nil {
		return
	}
	size := 0
	for _, f := range trailers {
		size += fieldSize(f.Name, f.Value)
	}
	if !x.keep(size) {
		return
	}
	now := x.recorder.clock.Stamp()
	x.rec.Response.Ended = &now
	x.trailers = trailers
	x.rec.Response.Trailers = x.recorder.redact.headers(fields(trailers))
	x.answer.close()
	x.end(bundle.OutcomeComplete, "")
}

// cut ends an exchange whose connection or stream has ended.
func (x *Exchange) cut(o bundle.Outcome, detail string) {
	if x.rec.Aborted {
		o = bundle.OutcomeAborted
	}
	x.end(o, detail)
}

// abort ends an exchange from our side.
func (x *Exchange) abort(detail string) {
	x.rec.Aborted = true
	x.end(bundle.OutcomeAborted, detail)
}

// end makes the exchange return. Only the first call has an effect.
func (x *Exchange) end(o bundle.Outcome, detail string) {
	if x.over {
		return
	}
	x.over = true
	x.hidePacked()
	x.answer = nil
	x.rest()
	x.notUnsent()
	now := x.recorder.clock.Stamp()
	x.rec.Returned = &now
	x.rec.Outcome = o
	x.rec.Detail = x.recorder.redact.Text(detail)
	x.changed.fire()
	close(x.done)
}

// progress describes how much of the response had arrived, for the detail of a cut.
func (x *Exchange) progress() string {
	r := x.rec.Response
	if r == nil {
		return " before any answer"
	}
	return fmt.Sprintf(" after %d body bytes of a %d answer", r.Body, r.Status)
}

// record returns the record of the exchange and describes its omissions.
func (x *Exchange) record(expected map[string][]byte) (rec bundle.Exchange, dropped string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	rec = x.snapshot()
	redact := x.recorder.redact
	for name, s := range x.outputs {
		if rec.Outputs == nil {
			rec.Outputs = map[string]*bundle.Blob{}
		}
		b := s.blob(redact, expected[name])
		rec.Outputs[name] = &b
	}
	if x.body != nil {
		b := x.body.blob(redact, expected["body"])
		if x.decoded {
			b = redact.blob(x.plain, expected["body"])
		}
		rec.Body = &b
	}
	dropped = x.kept.left()
	if dropped != "" {
		if rec.Detail != "" {
			rec.Detail += "; "
		}
		rec.Detail += "not recorded: " + dropped
	}
	return rec, dropped
}

// fields converts decoded field lines to recorded ones.
func fields(fs []wire.Field) []bundle.Header {
	if len(fs) == 0 {
		return nil
	}
	hs := make([]bundle.Header, len(fs))
	for i, f := range fs {
		hs[i] = bundle.Header(f)
	}
	return hs
}
