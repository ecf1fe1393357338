package account

import (
	"fmt"
	"strings"
	"time"

	"assay/internal/load"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// GoodHead handles a head that PlainHead has accepted before.
func (a *Streams) GoodHead(s *Stream) {
	s.set(flagHeaded)
	s.since = a.at
}

// Head handles the head of a response, and checks that it is the head of a stream.
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
	if c.ws {
		a.upgraded(i, s, fields)
		return
	}
	if c.grpc || c.web {
		a.status(i, s, fields, true)
	}
}

// judgeHead returns the failure of a head that is not a stream's, or nil.
func (c *class) judgeHead(status int, fields []wire.Field) *Failure {
	typ := ""
	for _, f := range fields {
		if strings.EqualFold(f.Name, "content-type") {
			typ = f.Value
		}
	}
	if c.ws {
		return judgeSwitch(status, typ)
	}
	if status != 200 {
		return &Failure{Outcome: bundle.StreamServerError, Detail: fmt.Sprintf("HTTP %d", status), Refused: refuses(status, typ)}
	}
	if !c.Dialect.StreamType(typ) {
		return &Failure{
			Outcome: bundle.StreamServerError, Refused: true,
			Detail: fmt.Sprintf("HTTP 200 with content-type %.80q, want the type of a %s stream", typ, c.Dialect.Protocol),
		}
	}
	return nil
}

// judgeSwitch returns the failure of a response that does not switch to WebSocket, or nil.
func judgeSwitch(status int, contentType string) *Failure {
	if status == 101 {
		return nil
	}
	return &Failure{
		Outcome: bundle.StreamServerError, Refused: status/100 == 2 || refuses(status, contentType),
		Detail: fmt.Sprintf("HTTP %d in response to the upgrade, want 101", status),
	}
}

// refuses reports whether a status means that the URL is wrong, and not that the gateway
// is in trouble. A 400 that is not JSON comes from something else, since the request is
// correct: a proxy, or a TLS server that got plain HTTP.
func refuses(status int, contentType string) bool {
	switch status {
	case 400:
		return !strings.Contains(strings.ToLower(contentType), "json")
	case 401, 403, 404, 405, 406, 407, 415, 426, 501, 505:
		return true
	}
	return status >= 300 && status < 400
}

// PlainHead reports whether a head is that of a good stream of a class and has no gRPC
// fields, which Head would have to read.
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

// bad notes that the response is an error; its body is the text of the error.
func (a *Streams) bad(i int32, s *Stream, f *Failure) {
	a.extra(i, s).rpc = f
	s.set(flagBad)
}

// maxErrBody bounds the kept part of the body of an error, and maxReply the kept part of
// a unary response: a List of 20,000 processes fits.
const (
	maxErrBody = 4 << 10
	maxReply   = 32 << 20
)

// Body handles a piece of the response body.
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
	case a.class(s).ws:
		a.feedFrames(i, s, p)
	default:
		a.feedEnvelopes(i, s, p)
	}
}

// status reads a gRPC status from trailers, or from a head. Where it is optional, a missing
// one is no breach.
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
		a.Breach(i, s, fmt.Sprintf("grpc.status: %d is not one of the 16 codes", st.Code))
		return
	}
	a.rpcError(i, s, c.Name, st.Message)
}

// rpcError handles an RPC error. Before a start event, some codes mean that no stream will
// ever start at this target.
func (a *Streams) rpcError(i int32, s *Stream, code, message string) {
	never := code == "unauthenticated" || code == "permission_denied" || code == "unimplemented"
	a.bad(i, s, &Failure{Outcome: bundle.StreamServerError, Refused: never && s.pid == 0, Detail: fmt.Sprintf("%s: %.200s", code, message)})
}

// Breach notes a breach of HTTP or of the protocol in a response. Only the first one of a
// stream is kept. Reading goes on.
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

// GoodEnd handles trailers that consist of grpc-status 0, and ends the stream. It returns
// false, and does nothing, when the stream does not expect them.
func (a *Streams) GoodEnd(i int32, s *Stream) bool {
	if !s.has(flagHeaded) || s.has(flagCall|flagEOS|flagBad) || !a.class(s).grpc {
		return false
	}
	s.set(flagEOS)
	a.End(i, s, nil)
	return true
}

// End handles the end of a complete response.
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
	if !a.class(s).ws { // a WebSocket ended with its Close frame
		s.since = a.at
	}
	a.finish(i, s, a.verdict(i, s))
}

// trailers handles the fields after the body.
func (a *Streams) trailers(i int32, s *Stream, fields []wire.Field) {
	if !a.class(s).grpc {
		a.Breach(i, s, "HTTP trailers, which only gRPC uses")
		return
	}
	if !s.has(flagBad) && !s.has(flagEOS) {
		a.status(i, s, fields, true)
	}
}

// verdict returns the failure of a complete response, or nil.
func (a *Streams) verdict(i int32, s *Stream) *Failure {
	if s.has(flagExtra) {
		switch x := a.extras[i]; {
		case x.rpc != nil:
			if len(x.errBody) > 0 {
				x.rpc.Detail += fmt.Sprintf(": %.200q", x.errBody)
			}
			return x.rpc
		case x.wrong != "":
			return corrupt(x.wrong)
		}
	}
	ndjson := a.class(s).ndjson
	switch {
	case a.class(s).ws && s.ends == 0:
		return &Failure{Outcome: bundle.StreamEOSMissing, Detail: "the WebSocket was closed with 1000, but no exit message came"}
	case !s.has(flagEOS) && !ndjson:
		return &Failure{Outcome: bundle.StreamEOSMissing, Detail: "the response is complete, but has no end of stream"}
	case s.ends == 0 && ndjson:
		return &Failure{Outcome: bundle.StreamEOSMissing, Detail: "the response is complete, but has no end line"}
	case s.ends == 0:
		return corrupt("the stream ended well, but without an end event")
	}
	return nil
}

// Fail ends an entry that has no complete response.
func (a *Streams) Fail(i int32, s *Stream, f *Failure) {
	if s.has(flagCall) {
		a.called(i, s, f)
		return
	}
	if s.has(flagEOS) && a.class(s).ws && a.givenUp(i, s) == nil {
		a.End(i, s, nil) // how the connection ends after the Close frames is of no interest
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

// givenUp returns why the stream was given up; nil when it was not.
func (a *Streams) givenUp(i int32, s *Stream) *Failure {
	if !s.has(flagExtra) {
		return nil
	}
	return a.extras[i].given
}

// finish ends the stream; f is nil when it ended well. A process that still runs is killed.
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
	if s.pid != 0 && s.ends == 0 && s.kill == killNone && !a.class(s).ws {
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

// report gives the result of a stream to the sink. The stream, its kill and its input are over.
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
		a.decide(i, s, &r)
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
		// Only after a hang-up is it certain that the process ended by itself.
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
		a.leftOpen = append(a.leftOpen, leftOpen{process{a.run.box(s.request), s.pid}, a.class(s).ws, r})
		return
	}
	a.sink.Ended(r)
}

// leftOpen is a stream whose process may still run. Its result waits for the sweep.
type leftOpen struct {
	process

	ws     bool // the pid is not known
	result load.Result
}

// process identifies a process: two sandboxes may have the same pids.
type process struct {
	box int32
	pid uint32
}

// box returns the sandbox of a request with an index in Requests.
func (r *Run) box(request int32) int32 { return request % int32(r.boxes) } //nolint:gosec // a handful of classes, at most a thousand sandboxes

// decide sets the outcome of a stream without a failure. It is called last, because the
// outcome depends on the result of a kill.
func (a *Streams) decide(i int32, s *Stream, r *load.Result) {
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
		return fmt.Sprintf("the command ended by itself after %d lines, with exit code %d: it never ends, so something else killed it", a.linesOf(i, s), s.code)
	case c.Check.Kind == load.CheckSequence && s.code != 0:
		return fmt.Sprintf("exit code %d, want 0", s.code)
	}
	return ""
}

// overdue returns the failure of an entry that is overdue at this time, or nil.
func (a *Streams) overdue(s *Stream, now int64) *Failure {
	if s.has(flagCall) {
		return overdueCall(s, now)
	}
	lim := &a.plan.Limits
	quiet := time.Duration(now - s.since)
	switch s.phase {
	case phaseWaiting:
		if limit := lim.Connect + lim.FirstEvent; quiet > limit {
			if f := a.driver.Waiting(s, quiet.Round(time.Millisecond)); f != nil {
				return f
			}
			return &Failure{Outcome: bundle.StreamBlocked, Detail: fmt.Sprintf("not opened within %v", limit)}
		}
	case phaseSent:
		if quiet > lim.FirstEvent {
			return a.silent(s, lim.FirstEvent)
		}
	case phaseLive:
		if silence := a.class(s).Silence; silence > 0 && quiet > silence {
			return stalled("no output for %v", quiet.Round(time.Millisecond))
		}
		switch waited := time.Duration(now - s.doneAt); {
		case waited <= lim.End:
		case s.kill == killDone || s.kill == killGone:
			return stalled("no end within %v of the response to the kill", lim.End)
		case s.kill == killSent && a.class(s).ws:
			return stalled("no exit message within %v of the kill", lim.End)
		}
	case phaseEnding:
		if quiet > lim.End {
			return a.unended(s, quiet.Round(time.Millisecond))
		}
	case phaseFree, phaseOver:
	}
	return nil
}

// unended returns the failure of a stream that does not end after its end event.
func (a *Streams) unended(s *Stream, quiet time.Duration) *Failure {
	switch {
	case !a.class(s).ws:
		return stalled("no end of stream for %v after the end event", quiet)
	case s.has(flagEOS):
		return stalled("the connection is still open %v after the Close frame", quiet)
	}
	return stalled("no Close frame for %v after the exit message", quiet)
}

// silent returns the failure of a stream without a start event.
func (a *Streams) silent(s *Stream, limit time.Duration) *Failure {
	if s.has(flagHeard) && a.class(s).ws {
		return stalled("no complete response to the upgrade within %v", limit)
	}
	if s.has(flagHeard) {
		return stalled("no start event within %v", limit)
	}
	return &Failure{Outcome: bundle.StreamAcceptStall, Detail: fmt.Sprintf("the connection was accepted, but no byte came within %v", limit)}
}
