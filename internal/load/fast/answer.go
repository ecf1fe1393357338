//go:build linux && (amd64 || arm64)

package fast

import (
	"fmt"
	"strings"
	"time"

	"assay/internal/load"
	"assay/internal/wire"
)

// The connections tell of an answer: head, body as often as it comes, and at last one of end and
// fail. All of it is done at l.at, the time at which the bytes came in.

// goodHead takes a head that is known to be that of a stream.
func (l *loop) goodHead(s *stream) {
	s.set(flagHeaded)
	s.since = l.at
}

// head looks whether this is a stream's answer at all.
func (l *loop) head(i int32, s *stream, status int, fields []wire.Field) {
	s.set(flagHeaded)
	s.since = l.at
	if s.has(flagCall) {
		c := l.extras[i].call
		c.answer.Status, c.answer.Fields = status, fields
		return
	}
	c := l.class(s)
	if f := c.judgeHead(status, fields); f != nil {
		l.bad(i, s, f)
		return
	}
	if c.grpc || c.web {
		l.status(i, s, fields, true)
	}
}

// judgeHead says why a head is none of a stream.
func (c *class) judgeHead(status int, fields []wire.Field) *failure {
	typ := ""
	for _, f := range fields {
		if strings.EqualFold(f.Name, "content-type") {
			typ = f.Value
		}
	}
	if status != 200 {
		return &failure{outcome: load.ServerError, detail: fmt.Sprintf("HTTP %d", status), refused: load.Refuses(status, typ)}
	}
	if !c.Dialect.StreamType(typ) {
		return &failure{
			outcome: load.ServerError, refused: true,
			detail: fmt.Sprintf("HTTP 200 with content-type %.80q, want that of a %s stream", typ, c.Dialect.Protocol),
		}
	}
	return nil
}

// plainHead reports whether a head is as that of every good stream, with nothing in
// it that is to be looked at.
func (c *class) plainHead(status int, fields []wire.Field) bool {
	if c.judgeHead(status, fields) != nil {
		return false
	}
	for _, f := range fields {
		if len(f.Name) >= 5 && strings.EqualFold(f.Name[:5], "grpc-") {
			return false
		}
	}
	return true
}

// bad says that the answer is an error; what follows is its text.
func (l *loop) bad(i int32, s *stream, f *failure) {
	l.extra(i, s).rpc = f
	s.set(flagBad)
}

// maxErrBody is how much is kept of the body of an error, and maxReply of a unary
// answer: List of 20,000 processes fits.
const (
	maxErrBody = 4 << 10
	maxReply   = 32 << 20
)

// body takes a piece of the answer's content.
func (l *loop) body(i int32, s *stream, p []byte) {
	switch {
	case s.has(flagCall):
		if a := &l.extras[i].call.answer; len(a.Body)+len(p) <= maxReply {
			a.Body = append(a.Body, p...)
		}
	case s.has(flagBad) && !s.has(flagEOS):
		if x := l.extras[i]; len(x.errBody) < maxErrBody {
			x.errBody = append(x.errBody, p...)
		}
	case l.class(s).ndjson:
		l.feedLines(i, s, p)
	default:
		l.feedEnvelopes(i, s, p)
	}
}

// status takes a gRPC status out of trailers, or of a head where it may be absent.
func (l *loop) status(i int32, s *stream, fields []wire.Field, optional bool) {
	st, ok, violations := wire.DecodeGRPCStatus(fields)
	for _, v := range violations {
		if ok || !optional {
			l.violation(i, s, v)
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
		l.breach(i, s, fmt.Sprintf("grpc.status: %d is none of the 16 codes", st.Code))
		return
	}
	l.rpcError(i, s, c.Name, st.Message)
}

// rpcError takes an RPC error. Before a start event, some codes say that nobody
// will ever get one here.
func (l *loop) rpcError(i int32, s *stream, code, message string) {
	never := code == "unauthenticated" || code == "permission_denied" || code == "unimplemented"
	l.bad(i, s, &failure{outcome: load.ServerError, refused: never && s.pid == 0, detail: fmt.Sprintf("%s: %.200s", code, message)})
}

func (l *loop) violation(i int32, s *stream, v wire.Violation) {
	l.breach(i, s, fmt.Sprintf("%s at byte %d: %s", v.Kind, v.Off, v.Detail))
}

// end is called when the HTTP answer is complete.
func (l *loop) end(i int32, s *stream, trailers []wire.Field) {
	if s.has(flagCall) {
		c := l.extras[i].call
		c.answer.Trailers = trailers
		l.called(i, s, nil)
		return
	}
	if len(trailers) > 0 || l.class(s).grpc {
		l.trailers(i, s, trailers)
	}
	if !s.has(flagBad) {
		l.closeBody(i, s)
	}
	s.since = l.at
	l.finish(i, s, l.ended(i, s))
}

// trailers takes the fields after the body.
func (l *loop) trailers(i int32, s *stream, fields []wire.Field) {
	if !l.class(s).grpc {
		l.breach(i, s, "HTTP trailers, which only gRPC has")
		return
	}
	if !s.has(flagBad) && !s.has(flagEOS) {
		l.status(i, s, fields, true)
	}
}

// ended says how a complete answer failed, nil when it did not.
func (l *loop) ended(i int32, s *stream) *failure {
	if s.has(flagExtra) {
		switch x := l.extras[i]; {
		case x.rpc != nil:
			if len(x.errBody) > 0 && !x.rpc.said {
				x.rpc.detail += fmt.Sprintf(": %.200q", x.errBody)
			}
			return x.rpc
		case x.wrong != "":
			return &failure{outcome: load.Corrupt, detail: x.wrong}
		}
	}
	ndjson := l.class(s).ndjson
	switch {
	case !s.has(flagEOS) && !ndjson:
		return &failure{outcome: load.EOSMissing, detail: "the answer is complete, and has no end of stream"}
	case s.ends == 0 && ndjson:
		return &failure{outcome: load.EOSMissing, detail: "the answer is complete, and has no end line"}
	case s.ends == 0:
		return &failure{outcome: load.Corrupt, detail: "the stream ended well, without an end event"}
	}
	return nil
}

// fail is called when there is no whole answer.
func (l *loop) fail(i int32, s *stream, f *failure) {
	if s.has(flagCall) {
		l.called(i, s, f)
		return
	}
	if s.has(flagExtra) {
		x := l.extras[i]
		if x.given != nil {
			f = x.given
		}
		switch {
		case x.rpc != nil:
			f = x.rpc
		case x.wrong == "":
		case x.wrong == f.detail:
			f = &failure{outcome: load.Corrupt, detail: x.wrong}
		default:
			f = &failure{outcome: load.Corrupt, detail: strings.TrimSuffix(x.wrong+"; then "+f.detail, "; then ")}
		}
	}
	l.finish(i, s, f)
}

// finish ends the stream; f is nil when all was well. What is still running is killed.
func (l *loop) finish(i int32, s *stream, f *failure) {
	if s.phase == phaseOver || s.phase == phaseFree {
		return
	}
	if s.pid == 0 && s.has(flagOpened) && s.phase >= phaseSent && (f == nil || f.outcome != load.ServerError) {
		s.set(flagUncertain)
	}
	if f != nil {
		l.extra(i, s).result = f
	}
	if f == errHungUp {
		s.set(flagHungUp)
		l.sink.HungUp()
	}
	l.dropCut(s)
	s.conn, s.mux = none, none
	s.phase = phaseOver
	if s.pid != 0 && s.ends == 0 && s.kill == killNone {
		if s.has(flagHungUp) && l.schedule.killing != killAll {
			s.parts++
			l.schedule.deferred = append(l.schedule.deferred, waiter{i, s.number})
		} else {
			l.queueKill(i, s)
		}
	}
	l.left(s, f != nil && !s.has(flagHungUp))
	if s.parts--; s.parts == 0 {
		l.report(i, s)
	}
}

// report hands the result out; all parts have ended.
func (l *loop) report(i int32, s *stream) {
	r := load.Result{
		Stream: s.number, Opened: s.has(flagOpened), KillSent: s.has(flagKillSent),
		Uncertain: s.has(flagUncertain), Disconnected: s.has(flagHungUp),
	}
	if s.has(flagExtra) && l.extras[i].result != nil {
		f := l.extras[i].result
		r.Outcome, r.Message, r.Refused = f.outcome, f.detail, f.refused
	}
	if r.Outcome == load.OK {
		l.settle(i, s, &r)
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
		// Whoever hung up knows that it ended by itself; of another, who knows.
		r.Fate, r.Uncertain = load.EndedUnseen, r.Uncertain || !r.Disconnected
	default:
		r.Fate, r.Uncertain = load.LeftOpen, true
	}
	if s.kill == killFailed {
		r.Uncertain = true
	}
	if r.Uncertain {
		l.run.uncertain.Add(1)
	}
	l.dropExtra(i, s)
	s.phase = phaseFree
	l.streams.put(i)
	if r.Fate == load.LeftOpen {
		l.leftOpen = append(l.leftOpen, leftOpen{s.pid, r})
		return
	}
	l.sink.Ended(r)
}

// leftOpen is a stream whose process may still run: its result waits until the end,
// when processes are looked for once more.
type leftOpen struct {
	pid    uint32
	result load.Result
}

// settle finds out what an answer without fault is: only now it is known whether
// the process was killed.
func (l *loop) settle(i int32, s *stream, r *load.Result) {
	from := s.intended
	if s.kill == killDone {
		r.Outcome = load.Killed
		from = s.killedAt
	} else if wrong := l.whole(i, s); wrong != "" {
		r.Outcome, r.Message = load.Corrupt, wrong
		return
	}
	l.record(s.class, load.EndOfStream, s.since-from)
}

// whole checks the output of a command that ended by itself.
func (l *loop) whole(i int32, s *stream) (wrong string) {
	if wrong = l.endedOutput(i, s); wrong != "" {
		return wrong
	}
	c := l.class(s)
	switch {
	case c.Endless:
		return fmt.Sprintf("the command ended by itself after %d lines, with exit code %d: it never does, so somebody killed it", l.linesOf(i, s), s.code)
	case c.Check.Kind == load.CheckSequence && s.code != 0:
		return fmt.Sprintf("exit code %d, want 0", s.code)
	}
	return ""
}

// overdue says why the stream is to be given up at this time, nil when it is not.
func (l *loop) overdue(s *stream, now int64) *failure {
	if s.has(flagCall) {
		return overdueCall(s, now)
	}
	lim := &l.plan.Limits
	quiet := time.Duration(now - s.since)
	switch s.phase {
	case phaseWaiting:
		if limit := lim.Connect + lim.FirstEvent; quiet > limit {
			return &failure{outcome: load.Blocked, detail: fmt.Sprintf("not opened within %v", limit)}
		}
	case phaseSent:
		if quiet > lim.FirstEvent {
			return silent(s, lim.FirstEvent)
		}
	case phaseLive:
		if silence := l.class(s).Silence; silence > 0 && quiet > silence {
			return &failure{outcome: load.Stall, detail: fmt.Sprintf("no event for %v", quiet.Round(time.Millisecond))}
		}
		if (s.kill == killDone || s.kill == killGone) && time.Duration(now-s.doneAt) > lim.End {
			return &failure{outcome: load.Stall, detail: fmt.Sprintf("no end within %v of the answer to the kill", lim.End)}
		}
	case phaseEnding:
		if quiet > lim.End {
			return &failure{outcome: load.Stall, detail: fmt.Sprintf("no end of stream for %v after the end event", quiet.Round(time.Millisecond))}
		}
	case phaseFree, phaseOver:
	}
	return nil
}

// silent is a stream without a first event.
func silent(s *stream, limit time.Duration) *failure {
	if s.has(flagAlive) {
		return &failure{outcome: load.Stall, detail: fmt.Sprintf("no start event within %v", limit)}
	}
	return &failure{outcome: load.AcceptStall, detail: fmt.Sprintf("the connection was accepted, and not a byte came within %v", limit)}
}
