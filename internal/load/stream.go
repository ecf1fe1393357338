package load

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"assay/internal/envd"
	"assay/internal/wire"
)

// phase is how far a stream has come.
type phase uint32

const (
	phaseWaiting phase = iota // for a connection, or for room on one
	phaseSent                 // the request is on its way
	phaseLive                 // the start event came
	phaseEnding               // the end event came
	phaseOver
)

// stream is one call of Start. What belongs to its answer is touched only by the
// connection that reads it; what others look at is atomic, or under mu.
type stream struct {
	run      *portableRun
	class    *Class
	part     Part
	number   int64
	intended time.Duration

	phase atomic.Uint32
	since atomic.Int64 // when the phase began, or the last event came
	alive atomic.Bool  // something came on the connection
	place int          // in run.streams; under run.mu

	mu       sync.Mutex
	conn     canceller
	given    *failure // why the driver gave it up
	over     bool
	parts    int         // the stream itself, its kill, its input
	timer    *time.Timer // until its part is due
	kill     killState
	killedAt time.Duration // when the kill was sent
	doneAt   time.Duration // when it was answered with success
	result   Result

	// The answer.
	opened    bool
	pid       uint32
	ends      int
	code      int32
	sentAt    time.Duration
	last      time.Duration // of the last output event, 0 before it
	eos       bool
	envelopes wire.EnvelopeDecoder
	lines     *wire.LineDecoder
	out       output
	wrong     string   // the first thing that is wrong with the bytes
	rpc       *failure // an RPC error, or a head that is none of a stream
	headed    bool
	errBody   []byte // of an answer that is no stream
	now       time.Duration
}

var _ answer = (*stream)(nil)

// killState is how far the killing of a stream's process has come.
type killState uint8

const (
	killNone    killState = iota
	killQueued            // will be sent
	killSent              // is under way
	killDone              // was answered with success
	killGone              // was answered with not_found: it had ended by itself
	killSkipped           // had ended before the kill was sent
	killFailed            // no, or another answer
)

func newStream(r *portableRun, number int64, intended time.Duration) *stream {
	part := r.plan.Stream(number)
	class := &r.mix[part.Class]
	s := &stream{run: r, class: class, part: part, number: number, intended: intended, parts: 1, out: newOutput(class.Check)}
	s.result.Stream = number
	s.since.Store(int64(intended))
	if class.Dialect.Protocol == ProtocolNDJSON {
		s.lines = &wire.LineDecoder{OnLine: s.line, OnViolation: s.violation}
	} else {
		s.envelopes = wire.EnvelopeDecoder{Protocol: class.Dialect.framing(), OnFrame: s.frame, OnViolation: s.violation}
	}
	return s
}

func (s *stream) worker() int { return int(s.number) }

func (s *stream) become(p phase, now time.Duration) {
	s.since.Store(int64(now))
	s.phase.Store(uint32(p))
}

func (s *stream) opening() bool {
	s.mu.Lock()
	wanted := s.given == nil
	s.mu.Unlock()
	if wanted {
		s.opened = true
		s.run.sink.Opening()
	}
	return wanted
}

func (s *stream) begin(c canceller) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn = c
	return s.given == nil
}

func (s *stream) sent(now time.Duration) {
	s.sentAt = now
	s.become(phaseSent, now)
}

func (s *stream) heard() { s.alive.Store(true) }

// head looks whether this is a stream's answer at all.
func (s *stream) head(status int, fields []wire.Field, now time.Duration) {
	s.now, s.headed = now, true
	s.since.Store(int64(now))
	typ := ""
	for _, f := range fields {
		if strings.EqualFold(f.Name, "content-type") {
			typ = f.Value
		}
	}
	if status != 200 {
		s.rpc = &failure{outcome: ServerError, detail: fmt.Sprintf("HTTP %d", status), refused: refuses(status, typ)}
		return
	}
	if !s.class.Dialect.streamType(typ) {
		s.rpc = &failure{outcome: ServerError, refused: true, detail: fmt.Sprintf("HTTP 200 with content-type %.80q, want that of a %s stream", typ, s.class.Dialect.Protocol)}
		return
	}
	if p := s.class.Dialect.Protocol; p == ProtocolGRPC || p == ProtocolWeb {
		s.status(fields, true)
	}
}

// refuses reports whether a status says that this is the wrong place, not that
// the right one is in trouble. A request that is right and called wrong in plain
// text was read by something else: a TLS server without TLS, a proxy.
func refuses(status int, contentType string) bool {
	switch status {
	case 400:
		return !strings.Contains(strings.ToLower(contentType), "json")
	case 401, 403, 404, 405, 406, 407, 415, 426, 501, 505:
		return true
	}
	return status >= 300 && status < 400
}

func (s *stream) data(p []byte, now time.Duration) {
	s.now = now
	switch {
	case s.rpc != nil && !s.eos:
		if len(s.errBody) < 4<<10 {
			s.errBody = append(s.errBody, p...)
		}
	case s.lines != nil:
		s.lines.Feed(p)
	default:
		s.envelopes.Feed(p)
	}
}

func (s *stream) breach(detail string) {
	if s.wrong == "" {
		s.wrong = detail
	}
}

func (s *stream) violation(v wire.Violation) {
	if s.wrong == "" {
		s.breach(fmt.Sprintf("%s at byte %d: %s", v.Kind, v.Off, v.Detail))
	}
}

// frame takes one envelope.
func (s *stream) frame(f wire.Frame) {
	switch {
	case f.Flags&wire.FlagCompressed != 0:
		s.breach(fmt.Sprintf("a compressed envelope at byte %d, though no encoding was offered", f.Off))
	case f.Flags == 0:
		s.event(f.Payload)
	case f.Flags == wire.FlagEndStream && s.envelopes.Protocol == wire.Connect:
		s.endStream(f.Payload)
	case f.Flags == wire.FlagTrailer && s.envelopes.Protocol == wire.GRPCWeb:
		fields, violations := wire.DecodeWebTrailers(f.Payload)
		for _, v := range violations {
			s.violation(v)
		}
		s.status(fields, false)
	}
}

func (s *stream) line(l wire.Line) {
	s.event(l.Data)
}

// endStream takes the payload of the end-of-stream envelope.
func (s *stream) endStream(p []byte) {
	s.eos = true
	if string(p) == "{}" {
		return
	}
	end, violations := wire.DecodeEndStream(p)
	for _, v := range violations {
		s.violation(v)
	}
	if end.Error != nil {
		s.rpcError(end.Error.Code, end.Error.Message)
	}
}

// status takes a gRPC status out of trailers, or of a head where it may be absent.
func (s *stream) status(fields []wire.Field, optional bool) {
	st, ok, violations := wire.DecodeGRPCStatus(fields)
	for _, v := range violations {
		if ok || !optional {
			s.violation(v)
		}
	}
	if !ok {
		return
	}
	s.eos = true
	if st.Code != 0 {
		c, known := wire.CodeByNumber(st.Code)
		if !known {
			s.breach(fmt.Sprintf("grpc.status: %d is none of the 16 codes", st.Code))
			return
		}
		s.rpcError(c.Name, st.Message)
	}
}

// rpcError takes an RPC error. Before a start event, some codes say that nobody
// will ever get one here.
func (s *stream) rpcError(code, message string) {
	never := code == "unauthenticated" || code == "permission_denied" || code == "unimplemented"
	s.rpc = &failure{outcome: ServerError, refused: never && s.pid == 0, detail: fmt.Sprintf("%s: %.200s", code, message)}
}

// event takes one message.
func (s *stream) event(p []byte) {
	e, problems := s.class.Dialect.event(p)
	if len(problems) > 0 && s.wrong == "" {
		s.breach(fmt.Sprintf("%s: %s", problems[0].Kind, problems[0].Detail))
	}
	s.since.Store(int64(s.now))
	if s.pid == 0 && e.kind != envd.KindStart {
		if s.lines != nil && e.kind == envd.KindUnknown {
			s.errorLine(p)
			return
		}
		s.breach("the event " + e.kind + " comes before start")
		return
	}
	if s.ends > 0 {
		s.breach("the event " + e.kind + " comes after end")
	}
	switch e.kind {
	case envd.KindStart:
		s.started(e)
	case envd.KindData:
		s.output(&e)
	case envd.KindEnd:
		s.ends++
		s.code = e.code
		s.become(phaseEnding, s.now)
	case envd.KindUnknown:
		if s.lines != nil {
			s.errorLine(p)
		}
	}
}

// errorLine takes a line of the alias that is no event: it says what went wrong.
func (s *stream) errorLine(p []byte) {
	s.rpc = &failure{outcome: ServerError, said: true, detail: fmt.Sprintf("the line %.200s", p)}
}

func (s *stream) started(e event) {
	if s.pid != 0 {
		s.breach("a second start event")
		return
	}
	if e.pid == 0 {
		return // reported by the decoder
	}
	s.pid = e.pid
	s.run.sink.Started()
	s.run.sink.Record(s.worker(), s.part.Class, FirstEvent, s.now-s.intended)
	s.run.sink.Record(s.worker(), s.part.Class, FromSent, s.now-s.sentAt)
	s.become(phaseLive, s.now)
	s.begun()
}
