package transport

import (
	"fmt"
	"slices"
	"sync"

	"assay/internal/bundle"
	"assay/internal/wire"
)

// Exchange is an exchange under way: one request and everything that comes back
// for it. Every method is safe for concurrent use.
type Exchange struct {
	mu       *sync.Mutex // the connection's, or its own without one
	conn     *Conn
	recorder *Recorder
	name     string
	method   string
	counted  bool // among the connection's unsent

	rec           bundle.Exchange // Outputs and Body are not set before record
	informational []int
	answer        answer // how the body is decoded; nil before the head
	outputs       map[string]*store
	body          *store // the entity as it came, when the answer is not enveloped
	plain         []byte // the entity without its Content-Encoding, when it had one
	decoded       bool   // plain is set
	kept          budget
	pings         int64        // bytes of the body that were keepalive events
	content       int64        // the most that came of the others
	progressed    bundle.Stamp // when the last of them came
	trailers      []wire.Field // as they came
	trailersOff   int64        // of their HEADERS frame in the connection's bytes, on HTTP/2

	over    bool
	changed broadcast
	done    chan struct{}
}

// answer decodes the body of one response.
type answer interface {
	feed(p []byte, at bundle.Stamp)
	close() // the body is complete
}

// MarkSent stamps the end of the request. Bytes written after it, before
// another exchange is announced, belong to none.
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
// end of this exchange, and never once it has returned. Take it before looking
// at the state.
func (x *Exchange) Changed() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.changed.wait()
}

// Snapshot is a consistent copy of what has come so far. It is cheap: slices
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
	s.Events = slices.Clip(s.Events)
	s.Violations = slices.Clip(s.Violations)
	if s.Response != nil {
		r := *s.Response
		s.Response = &r
	}
	return s
}

// Output is all that came so far on a stream (stdout, stderr, pty), not
// redacted; do not modify it.
func (x *Exchange) Output(stream string) []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	if s := x.outputs[stream]; s != nil {
		return slices.Clip(s.kept)
	}
	return nil
}

// BodyBytes is the entity body so far of an exchange that is not enveloped, not
// redacted, its Content-Encoding removed once it is complete; do not modify it.
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

// Progressed is when content last came: the head, or bytes of the body that belong to
// no keepalive event. It is the zero Stamp before.
func (x *Exchange) Progressed() bundle.Stamp {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.progressed
}

// Done is closed when the exchange has returned.
func (x *Exchange) Done() <-chan struct{} { return x.done }

// Conn is where it runs, nil for one that failed before.
func (x *Exchange) Conn() *Conn { return x.conn }

// GiveUp ends an exchange that is still under way with that outcome (no-answer,
// stalled, aborted). Its connection stays as it is, for the recorder to close;
// what comes on it later for this exchange is not recorded as its answer.
func (x *Exchange) GiveUp(o bundle.Outcome, detail string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.end(o, detail)
}

// Abort marks that the script itself ends the exchange: when it is cut from now
// on, by whomever, it is recorded as aborted. An answer that is complete stays complete.
func (x *Exchange) Abort() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.rec.Aborted = true
}

// begin takes a head; 1xx are only noted.
func (x *Exchange) begin(h wire.Head) {
	if x.over {
		return
	}
	if h.Status < 200 {
		if len(x.informational) < maxInformational {
			x.informational = append(x.informational, h.Status)
		}
		return
	}
	redact := x.recorder.redact
	x.rec.Response = &bundle.Response{
		Proto: h.Proto, Status: h.Status, Reason: redact.text(h.Reason),
		Headers: redact.headers(fields(h.Fields)), Informational: x.informational,
		Framing: h.Framing, Head: x.recorder.clock.Stamp(),
	}
	x.answer = x.choose(fields(h.Fields))
	x.progressed = x.rec.Response.Head
	x.changed.fire()
}

// feed takes entity bytes.
func (x *Exchange) feed(p []byte) {
	if x.over || x.answer == nil {
		return
	}
	x.rec.Response.Body += int64(len(p))
	x.answer.feed(p, x.conn.lastRead)
	// A keepalive event that comes in pieces counts until it is whole, and the next one does not.
	if content := x.rec.Response.Body - x.pings; content > x.content {
		x.content, x.progressed = content, x.conn.lastRead
	}
	x.changed.fire()
}

// complete ends an answer as its framing says.
func (x *Exchange) complete(trailers []wire.Field) {
	if x.over || x.answer == nil {
		return
	}
	now := x.recorder.clock.Stamp()
	x.rec.Response.Ended = &now
	x.trailers = trailers
	x.rec.Response.Trailers = x.recorder.redact.headers(fields(trailers))
	x.answer.close()
	x.end(bundle.OutcomeComplete, "")
}

// cut ends an exchange whose connection has ended under it.
func (x *Exchange) cut(o bundle.Outcome, detail string) {
	if x.rec.Aborted {
		o = bundle.OutcomeAborted
	}
	x.end(o, detail)
}

// abort ends an exchange that we have ended.
func (x *Exchange) abort(detail string) {
	x.rec.Aborted = true
	x.end(bundle.OutcomeAborted, detail)
}

// end is the only way for an exchange to return; the first call counts.
func (x *Exchange) end(o bundle.Outcome, detail string) {
	if x.over {
		return
	}
	x.over = true
	x.notUnsent()
	now := x.recorder.clock.Stamp()
	x.rec.Returned = &now
	x.rec.Outcome = o
	x.rec.Detail = x.recorder.redact.text(detail)
	x.changed.fire()
	close(x.done)
}

// progress says in words how far the answer had come, for the detail of a cut.
func (x *Exchange) progress() string {
	r := x.rec.Response
	if r == nil {
		return " before any answer"
	}
	return fmt.Sprintf(" after %d body bytes of a %d answer", r.Body, r.Status)
}

// record is the exchange as it is kept, and in words what was left out.
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
			b = bundle.NewBlob(redact.bytes(x.plain), nil, redact.bytes(expected["body"]))
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

// fields turns decoded field lines into recorded ones.
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
