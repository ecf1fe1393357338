package load

import (
	"fmt"
	"strings"
	"time"

	"assay/internal/wire"
)

// end is called when the HTTP answer is complete.
func (s *stream) end(trailers []wire.Field, now time.Duration) {
	s.now = now
	if s.rpc == nil && !s.eos && s.class.Dialect.Protocol == ProtocolGRPC {
		s.status(trailers, true)
	}
	if len(trailers) > 0 && s.class.Dialect.Protocol != ProtocolGRPC {
		s.breach("HTTP trailers, which only gRPC has")
	}
	if s.rpc == nil {
		s.closeDecoder()
	}
	switch {
	case s.rpc != nil:
		if len(s.errBody) > 0 && !s.rpc.said {
			s.rpc.detail += fmt.Sprintf(": %.200q", s.errBody)
		}
		s.finish(s.rpc)
	case s.wrong != "":
		s.finish(&failure{outcome: Corrupt, detail: s.wrong})
	case !s.eos && s.lines == nil:
		s.finish(&failure{outcome: EOSMissing, detail: "the answer is complete, and has no end of stream"})
	case s.ends == 0 && s.lines != nil:
		s.finish(&failure{outcome: EOSMissing, detail: "the answer is complete, and has no end line"})
	case s.ends == 0:
		s.finish(&failure{outcome: Corrupt, detail: "the stream ended well, without an end event"})
	default:
		s.finish(nil)
	}
}

func (s *stream) closeDecoder() {
	if s.lines != nil {
		s.lines.Close()
	} else {
		s.envelopes.Close()
	}
}

// fail is called when there is no whole answer.
func (s *stream) fail(f *failure, now time.Duration) {
	s.now = now
	s.mu.Lock()
	if s.given != nil {
		f = s.given
	}
	s.mu.Unlock()
	switch {
	case s.rpc != nil:
		f = s.rpc
	case s.wrong == "":
	case s.wrong == f.detail:
		f = &failure{outcome: Corrupt, detail: s.wrong}
	default:
		f = &failure{outcome: Corrupt, detail: strings.TrimSuffix(s.wrong+"; then "+f.detail, "; then ")}
	}
	s.finish(f)
}

// giveUp ends the stream from outside.
func (s *stream) giveUp(f *failure) {
	s.mu.Lock()
	if s.over || s.given != nil {
		s.mu.Unlock()
		return
	}
	s.given = f
	c := s.conn
	s.mu.Unlock()
	if c == nil {
		c = s.run.pool
	}
	c.cancel(s, f)
}

// finish ends the stream; f is nil when all was well. What is still running is killed.
func (s *stream) finish(f *failure) {
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		return
	}
	s.over, s.conn = true, nil
	if f != nil {
		s.result.Outcome, s.result.Message, s.result.Refused = f.outcome, f.detail, f.refused
		s.result.Disconnected = f == errHungUp
	}
	s.result.Uncertain = s.pid == 0 && s.opened && phase(s.phase.Load()) >= phaseSent && (f == nil || f.outcome != ServerError)
	s.disarm()
	orphan := s.pid != 0 && s.ends == 0 && s.kill == killNone
	if orphan {
		s.kill = killQueued
		s.parts++
	}
	last := s.partOver()
	s.mu.Unlock()
	s.phase.Store(uint32(phaseOver))
	s.run.streamLeft(s, f != nil && !s.result.Disconnected)
	if s.result.Disconnected {
		s.run.sink.HungUp()
	}
	switch {
	case orphan && s.result.Disconnected:
		s.run.orphan(s)
	case orphan:
		s.run.caller.push(errand{s: s})
	}
	if last {
		s.report()
	}
}

// partOver takes one part away, and reports whether it was the last. It needs mu.
func (s *stream) partOver() (last bool) {
	s.parts--
	return s.parts == 0
}

// requestKill asks for the death of a running process.
func (s *stream) requestKill() {
	s.mu.Lock()
	if s.over || s.kill != killNone {
		s.mu.Unlock()
		return
	}
	s.kill = killQueued
	s.parts++
	s.mu.Unlock()
	s.run.caller.push(errand{s: s})
}

// sendingKill says whether there is still something to kill.
func (s *stream) sendingKill(now time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if phase(s.phase.Load()) == phaseEnding || s.over && s.ends > 0 {
		return false
	}
	s.kill, s.killedAt, s.result.KillSent = killSent, now, true
	s.run.sink.Killing()
	return true
}

// killAnswered takes how the kill went.
func (s *stream) killAnswered(k killState, why error, now time.Duration) {
	s.mu.Lock()
	s.kill, s.doneAt = k, now
	last := s.partOver()
	s.mu.Unlock()
	if last {
		s.report()
		return
	}
	if k == killFailed {
		s.giveUp(&failure{outcome: Cancelled, detail: fmt.Sprintf("it could not be killed: %v", why)})
	}
}

// report hands the result out; all parts have ended.
func (s *stream) report() {
	if s.result.Outcome == OK {
		s.settle()
	}
	r := &s.result
	r.Opened = s.opened
	switch {
	case s.pid == 0:
		r.Fate = NoProcess
	case s.kill == killDone:
		r.Fate = FateKilled
	case s.ends > 0 && s.code == 0:
		r.Fate = EndedOK
	case s.ends > 0:
		r.Fate = EndedError
	case s.kill == killGone:
		// Whoever hung up knows that it ended by itself; of another, who knows.
		r.Fate, r.Uncertain = EndedUnseen, !r.Disconnected
	default:
		r.Fate, r.Uncertain = LeftOpen, true
	}
	if s.kill == killFailed {
		r.Uncertain = true
	}
	s.run.reported(*r, s.pid)
}

// settle finds out what an answer without fault is: only now it is known whether
// the process was killed.
func (s *stream) settle() {
	from := s.intended
	if s.kill == killDone {
		s.result.Outcome = Killed
		from = s.killedAt
	} else if wrong := s.whole(); wrong != "" {
		s.result.Outcome, s.result.Message = Corrupt, wrong
		return
	}
	s.run.sink.Record(s.worker(), s.part.Class, EndOfStream, s.now-from)
}

// whole checks the output of a command that ended by itself.
func (s *stream) whole() (wrong string) {
	c := s.class.Check
	if wrong = s.out.ended(c, &s.run.same[s.part.Class], s.number); wrong != "" {
		return wrong
	}
	switch {
	case s.class.Endless:
		return fmt.Sprintf("the command ended by itself after %d lines, with exit code %d: it never does, so somebody killed it", s.out.seq.lines, s.code)
	case c.Kind == CheckSequence && s.code != 0:
		return fmt.Sprintf("exit code %d, want 0", s.code)
	}
	return ""
}

// overdue says why the stream is to be given up at this time, nil when it is not.
func (s *stream) overdue(now time.Duration) *failure {
	l := &s.run.plan.Limits
	quiet := now - time.Duration(s.since.Load())
	switch phase(s.phase.Load()) {
	case phaseWaiting:
		if quiet > l.Connect+l.FirstEvent {
			return &failure{outcome: Blocked, detail: fmt.Sprintf("not opened within %v", l.Connect+l.FirstEvent)}
		}
	case phaseSent:
		if quiet > l.FirstEvent {
			return s.silent(l.FirstEvent)
		}
	case phaseLive:
		if s.class.Silence > 0 && quiet > s.class.Silence {
			return &failure{outcome: Stall, detail: fmt.Sprintf("no event for %v", quiet.Round(time.Millisecond))}
		}
		return s.undead(now)
	case phaseEnding:
		if quiet > l.End {
			return &failure{outcome: Stall, detail: fmt.Sprintf("no end of stream for %v after the end event", quiet.Round(time.Millisecond))}
		}
	case phaseOver:
	}
	return nil
}

// silent is a stream without a first event.
func (s *stream) silent(limit time.Duration) *failure {
	if s.alive.Load() {
		return &failure{outcome: Stall, detail: fmt.Sprintf("no start event within %v", limit)}
	}
	return &failure{outcome: AcceptStall, detail: fmt.Sprintf("the connection was accepted, and not a byte came within %v", limit)}
}

// undead is a stream that goes on although its process is dead.
func (s *stream) undead(now time.Duration) *failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	if (s.kill == killDone || s.kill == killGone) && now-s.doneAt > s.run.plan.Limits.End {
		return &failure{outcome: Stall, detail: fmt.Sprintf("no end within %v of the answer to the kill", s.run.plan.Limits.End)}
	}
	return nil
}
