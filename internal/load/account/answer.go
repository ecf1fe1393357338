package account

import (
	"fmt"
	"strings"
	"time"

	"assay/internal/bundle"
	"assay/internal/load"
	"assay/internal/wire"
)

// GoodHead takes a head that PlainHead has accepted before.
func (a *Streams) GoodHead(s *Stream) {
	s.set(flagHeaded)
	s.since = a.at
}

// Head takes the status and fields of a response, and checks whether it is a stream at all.
func (a *Streams) Head(i int32, s *Stream, status int, fields []wire.Field) {
	s.set(flagHeaded)
	s.since = a.at
	if s.has(flagCall) {
		c := a.extras[i].call
		c.answer.Status, c.answer.Fields = status, fields
		return
	}
	c := a.class(s)
	if f := c.judgeHead(status, fields); f != nil {
		a.bad(i, s, f)
		return
	}
	if c.grpc || c.web {
		a.status(i, s, fields, true)
	}
}

// judgeHead returns why a head is not that of a stream, or nil.
func (c *class) judgeHead(status int, fields []wire.Field) *Failure {
	typ := ""
	for _, f := range fields {
		if strings.EqualFold(f.Name, "content-type") {
			typ = f.Value
		}
	}
	if status != 200 {
		return &Failure{Outcome: bundle.StreamServerError, Detail: fmt.Sprintf("HTTP %d", status), Refused: refuses(status, typ)}
	}
	if !c.Dialect.StreamType(typ) {
		return &Failure{
			Outcome: bundle.StreamServerError, Refused: true,
			Detail: fmt.Sprintf("HTTP 200 with content-type %.80q, want that of a %s stream", typ, c.Dialect.Protocol),
		}
	}
	return nil
}

// refuses reports whether a status says that this is the wrong place, and not that the
// right place is in trouble. A correct request that is called wrong in plain text was
// read by something else: a TLS server without TLS, a proxy.
func refuses(status int, contentType string) bool {
	switch status {
	case 400:
		return !strings.Contains(strings.ToLower(contentType), "json")
	case 401, 403, 404, 405, 406, 407, 415, 426, 501, 505:
		return true
	}
	return status >= 300 && status < 400
}

// PlainHead reports whether a head is that of a good stream of a class, without fields
// that Head would have to look at.
func (a *Streams) PlainHead(class, status int, fields []wire.Field) bool {
	if a.classes[class].judgeHead(status, fields) != nil {
		return false
	}
	for _, f := range fields {
		if len(f.Name) >= 5 && strings.EqualFold(f.Name[:5], "grpc-") {
			return false
		}
	}
	return true
}

// bad notes that the response is an error; the body that follows is its text.
func (a *Streams) bad(i int32, s *Stream, f *Failure) {
	a.extra(i, s).rpc = f
	s.set(flagBad)
}

// maxErrBody bounds what is kept of the body of an error, and maxReply what is kept of
// a unary response: a List of 20,000 processes fits.
const (
	maxErrBody = 4 << 10
	maxReply   = 32 << 20
)

// Body takes a piece of the response body.
func (a *Streams) Body(i int32, s *Stream, p []byte) {
	switch {
	case s.has(flagCall):
		if a := &a.extras[i].call.answer; len(a.Body)+len(p) <= maxReply {
			a.Body = append(a.Body, p...)
		}
	case s.has(flagBad) && !s.has(flagEOS):
		if x := a.extras[i]; len(x.errBody) < maxErrBody {
			x.errBody = append(x.errBody, p...)
		}
	case a.class(s).ndjson:
		a.feedLines(i, s, p)
	default:
		a.feedEnvelopes(i, s, p)
	}
}

// status reads a gRPC status from trailers, or from a head, where it is optional.
func (a *Streams) status(i int32, s *Stream, fields []wire.Field, optional bool) {
	st, ok, violations := wire.DecodeGRPCStatus(fields)
	for _, v := range violations {
		if ok || !optional {
			a.violation(i, s, v)
		}
	}
	if !ok {
		return
	}
	s.set(flagEOS)
	if st.Code == 0 {
		return
	}
	c, known := wire.CodeByNumber(st.Code)
	if !known {
		a.Breach(i, s, fmt.Sprintf("grpc.status: %d is none of the 16 codes", st.Code))
		return
	}
	a.rpcError(i, s, c.Name, st.Message)
}

// rpcError takes an RPC error. Before a start event, some codes say that no client will
// ever get one here.
func (a *Streams) rpcError(i int32, s *Stream, code, message string) {
	never := code == "unauthenticated" || code == "permission_denied" || code == "unimplemented"
	a.bad(i, s, &Failure{Outcome: bundle.StreamServerError, Refused: never && s.pid == 0, Detail: fmt.Sprintf("%s: %.200s", code, message)})
}

// Breach notes a breach of HTTP or of the protocol in a response. The first one counts.
// The response goes on.
func (a *Streams) Breach(i int32, s *Stream, detail string) {
	if s.has(flagCall) {
		return
	}
	if x := a.extra(i, s); x.wrong == "" {
		x.wrong = detail
	}
}

func (a *Streams) violation(i int32, s *Stream, v wire.Violation) {
	a.Breach(i, s, fmt.Sprintf("%s at byte %d: %s", v.Kind, v.Off, v.Detail))
}

// GoodEnd takes trailers that are nothing but grpc-status 0, and ends the stream. false
// means that they are unexpected here, and that nothing was done.
func (a *Streams) GoodEnd(i int32, s *Stream) bool {
	if !s.has(flagHeaded) || s.has(flagCall|flagEOS|flagBad) || !a.class(s).grpc {
		return false
	}
	s.set(flagEOS)
	a.End(i, s, nil)
	return true
}

// End takes the end of a complete response.
func (a *Streams) End(i int32, s *Stream, trailers []wire.Field) {
	if s.has(flagCall) {
		c := a.extras[i].call
		c.answer.Trailers = trailers
		a.called(i, s, nil)
		return
	}
	if len(trailers) > 0 || a.class(s).grpc {
		a.trailers(i, s, trailers)
	}
	if !s.has(flagBad) {
		a.closeBody(i, s)
	}
	s.since = a.at
	a.finish(i, s, a.verdict(i, s))
}

// trailers takes the fields behind the body.
func (a *Streams) trailers(i int32, s *Stream, fields []wire.Field) {
	if !a.class(s).grpc {
		a.Breach(i, s, "HTTP trailers, which only gRPC has")
		return
	}
	if !s.has(flagBad) && !s.has(flagEOS) {
		a.status(i, s, fields, true)
	}
}

// verdict returns how a complete response failed, or nil.
func (a *Streams) verdict(i int32, s *Stream) *Failure {
	if s.has(flagExtra) {
		switch x := a.extras[i]; {
		case x.rpc != nil:
			if len(x.errBody) > 0 && !x.rpc.Said {
				x.rpc.Detail += fmt.Sprintf(": %.200q", x.errBody)
			}
			return x.rpc
		case x.wrong != "":
			return corrupt(x.wrong)
		}
	}
	ndjson := a.class(s).ndjson
	switch {
	case !s.has(flagEOS) && !ndjson:
		return &Failure{Outcome: bundle.StreamEOSMissing, Detail: "the answer is complete, and has no end of stream"}
	case s.ends == 0 && ndjson:
		return &Failure{Outcome: bundle.StreamEOSMissing, Detail: "the answer is complete, and has no end line"}
	case s.ends == 0:
		return corrupt("the stream ended well, without an end event")
	}
	return nil
}

// Fail takes the end of an entry without a whole response.
func (a *Streams) Fail(i int32, s *Stream, f *Failure) {
	if s.has(flagCall) {
		a.called(i, s, f)
		return
	}
	if s.has(flagExtra) {
		x := a.extras[i]
		if x.given != nil {
			f = x.given
		}
		switch {
		case x.rpc != nil:
			f = x.rpc
		case x.wrong == "":
		case x.wrong == f.Detail:
			f = corrupt(x.wrong)
		default:
			f = corrupt(strings.TrimSuffix(x.wrong+"; then "+f.Detail, "; then "))
		}
	}
	a.finish(i, s, f)
}

// finish ends the stream; f is nil when all was well. A process that still runs is killed.
func (a *Streams) finish(i int32, s *Stream, f *Failure) {
	if s.phase == phaseOver || s.phase == phaseFree {
		return
	}
	if s.pid == 0 && s.has(flagOpened) && s.phase >= phaseSent && (f == nil || f.Outcome != bundle.StreamServerError) {
		s.set(flagUncertain)
	}
	if f != nil {
		a.extra(i, s).result = f
	}
	if f == errHungUp {
		s.set(flagHungUp)
		a.sink.HungUp()
	}
	a.dropCut(s)
	s.Conn = None
	s.phase = phaseOver
	if s.pid != 0 && s.ends == 0 && s.kill == killNone {
		if s.has(flagHungUp) && a.schedule.killing != killAll {
			s.parts++
			a.schedule.deferred = append(a.schedule.deferred, Waiter{i, s.Number})
		} else {
			a.queueKill(i, s)
		}
	}
	a.left(s, f != nil && !s.has(flagHungUp))
	if s.parts--; s.parts == 0 {
		a.report(i, s)
	}
}

// report gives the result to the sink. All parts have ended.
func (a *Streams) report(i int32, s *Stream) {
	r := load.Result{
		Stream: s.Number, Opened: s.has(flagOpened), KillSent: s.has(flagKillSent),
		Uncertain: s.has(flagUncertain), Disconnected: s.has(flagHungUp),
	}
	if s.has(flagExtra) && a.extras[i].result != nil {
		f := a.extras[i].result
		r.Outcome, r.Message, r.Refused = f.Outcome, f.Detail, f.Refused
	}
	if r.Outcome == bundle.StreamOK {
		a.settle(i, s, &r)
	}
	switch {
	case s.pid == 0:
		r.Fate = load.NoProcess
	case s.kill == killDone:
		r.Fate = load.FateKilled
	case s.ends > 0 && s.code == 0:
		r.Fate = load.EndedOK
	case s.ends > 0:
		r.Fate = load.EndedError
	case s.kill == killGone:
		// Only a stream that was hung up on is known to have ended by itself.
		r.Fate, r.Uncertain = load.EndedUnseen, r.Uncertain || !r.Disconnected
	default:
		r.Fate, r.Uncertain = load.LeftOpen, true
	}
	if s.kill == killFailed {
		r.Uncertain = true
	}
	if r.Uncertain {
		a.run.uncertain.Add(1)
	}
	a.dropExtra(i, s)
	s.phase = phaseFree
	a.entries.Put(i)
	if r.Fate == load.LeftOpen {
		a.leftOpen = append(a.leftOpen, leftOpen{s.pid, r})
		return
	}
	a.sink.Ended(r)
}

// leftOpen is a stream whose process may still run. Its result waits for the sweep.
type leftOpen struct {
	pid    uint32
	result load.Result
}

// settle finds the outcome of a response without a fault: only now it is known whether the
// process was killed.
func (a *Streams) settle(i int32, s *Stream, r *load.Result) {
	from := s.intended
	if s.kill == killDone {
		r.Outcome = bundle.StreamKilled
		from = s.killedAt
	} else if wrong := a.whole(i, s); wrong != "" {
		r.Outcome, r.Message = bundle.StreamCorrupt, wrong
		return
	}
	a.record(s.class, load.EndOfStream, s.since-from)
}

// whole checks the output of a command that ended by itself.
func (a *Streams) whole(i int32, s *Stream) (wrong string) {
	if wrong = a.endedOutput(i, s); wrong != "" {
		return wrong
	}
	c := a.class(s)
	switch {
	case c.Endless:
		return fmt.Sprintf("the command ended by itself after %d lines, with exit code %d: it never does, so somebody killed it", a.linesOf(i, s), s.code)
	case c.Check.Kind == load.CheckSequence && s.code != 0:
		return fmt.Sprintf("exit code %d, want 0", s.code)
	}
	return ""
}

// overdue returns why an entry is to be given up at this time, or nil.
func (a *Streams) overdue(s *Stream, now int64) *Failure {
	if s.has(flagCall) {
		return overdueCall(s, now)
	}
	lim := &a.plan.Limits
	quiet := time.Duration(now - s.since)
	switch s.phase {
	case phaseWaiting:
		if limit := lim.Connect + lim.FirstEvent; quiet > limit {
			return &Failure{Outcome: bundle.StreamBlocked, Detail: fmt.Sprintf("not opened within %v", limit)}
		}
	case phaseSent:
		if quiet > lim.FirstEvent {
			return silent(s, lim.FirstEvent)
		}
	case phaseLive:
		if silence := a.class(s).Silence; silence > 0 && quiet > silence {
			return stalled("no event for %v", quiet.Round(time.Millisecond))
		}
		if (s.kill == killDone || s.kill == killGone) && time.Duration(now-s.doneAt) > lim.End {
			return stalled("no end within %v of the answer to the kill", lim.End)
		}
	case phaseEnding:
		if quiet > lim.End {
			return stalled("no end of stream for %v after the end event", quiet.Round(time.Millisecond))
		}
	case phaseFree, phaseOver:
	}
	return nil
}

// silent is the failure of a stream without a first event.
func silent(s *Stream, limit time.Duration) *Failure {
	if s.has(flagHeard) {
		return stalled("no start event within %v", limit)
	}
	return &Failure{Outcome: bundle.StreamAcceptStall, Detail: fmt.Sprintf("the connection was accepted, and not a byte came within %v", limit)}
}
