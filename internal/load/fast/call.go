//go:build linux && (amd64 || arm64)

package fast

import (
	"errors"
	"fmt"
	"time"

	"assay/internal/load"
)

// callKind is what a unary call is for.
type callKind uint8

const (
	callKill  callKind = iota // of a stream's process
	callInput                 // to a stream's process
	callClose                 // of a stream's input
	callList                  // of all processes
	callSweep                 // the kill of a process that no stream knows
)

// call is a unary call. Calls go through the loops as streams do.
type call struct {
	kind    callKind
	class   *class
	victim  int32 // the stream that it is for
	pid     uint32
	request *load.Encoded
	answer  load.Answer
}

// errNoTime says that the time for killing was over.
var errNoTime = errors.New("no time was left")

// queueKill asks for the death of a stream's process.
func (l *loop) queueKill(i int32, s *stream) {
	s.kill = killQueued
	s.parts++
	l.calls.push(&call{kind: callKill, class: l.class(s), victim: i, pid: s.pid})
}

// queueInput has a process's input written and closed.
func (l *loop) queueInput(i int32, s *stream) {
	kind := callInput
	if len(l.class(s).Stdin) == 0 {
		kind = callClose
	}
	s.parts++
	l.calls.push(&call{kind: kind, class: l.class(s), victim: i, pid: s.pid})
}

// requestKill asks for the death of a running process, once.
func (l *loop) requestKill(i int32, s *stream) {
	if s.kill == killNone && s.phase == phaseLive {
		l.queueKill(i, s)
	}
}

// startCalls makes calls that are queued, as many as are allowed at one time.
func (l *loop) startCalls() {
	for l.calling < load.CallsAtOnce && l.calls.len() > 0 {
		l.startCall(l.calls.pop())
	}
}

// startCall makes a call, unless it has become needless.
func (l *loop) startCall(c *call) {
	if c.kind == callKill {
		s := l.streams.at(c.victim)
		if s.ends > 0 {
			l.killAnswered(c.victim, s, killSkipped, nil)
			return
		}
		s.kill, s.killedAt = killSent, l.clock.now()
		s.set(flagKillSent)
		l.sink.Killing()
	}
	req, err := c.build()
	if err == nil {
		c.request, err = l.plan.Encode(req)
	}
	if err != nil {
		l.answeredCall(c, err)
		return
	}
	i := l.streams.take()
	s := l.streams.at(i)
	l.callNumber--
	*s = stream{number: l.callNumber, since: l.clock.now(), conn: none, mux: none, cut: none, phase: phaseWaiting, parts: 1}
	s.set(flagCall)
	l.extra(i, s).call = c
	l.calling++
	l.open(i, s)
}

// build is the request of a call.
func (c *call) build() (load.Request, error) {
	d := &c.class.Dialect
	switch c.kind {
	case callInput:
		return d.Input(c.pid, c.class.Stdin)
	case callClose:
		return d.CloseStdin(c.pid)
	case callList:
		return d.List()
	default: // callKill, callSweep
		return d.Kill(c.pid)
	}
}

// called is called when the answer to a call is complete, or there is none.
func (l *loop) called(i int32, s *stream, f *failure) {
	if s.phase == phaseFree {
		return
	}
	x := l.extras[i]
	c := x.call
	if x.given != nil {
		f = x.given
	}
	s.phase = phaseFree
	l.dropExtra(i, s)
	l.streams.put(i)
	l.calling--
	if f != nil {
		l.answeredCall(c, errors.New(f.outcome.String()+": "+f.detail))
		return
	}
	message, err := c.class.Dialect.Reply(c.answer)
	if c.kind == callList && err == nil {
		l.list(c, message)
	}
	l.answeredCall(c, err)
}

// answeredCall does what follows from the answer.
func (l *loop) answeredCall(c *call, err error) {
	switch c.kind {
	case callKill:
		state := killDone
		switch {
		case errors.Is(err, load.ErrGone):
			state = killGone
		case err != nil:
			state = killFailed
		}
		l.killAnswered(c.victim, l.streams.at(c.victim), state, err)
	case callSweep:
		if err == nil {
			l.swept[c.pid] = true
		}
		l.sweeping--
	case callList:
		l.sweeping--
	case callInput, callClose:
		l.inputAnswered(c, err)
	}
}

// killAnswered takes how a kill went.
func (l *loop) killAnswered(i int32, s *stream, k killState, why error) {
	s.kill, s.doneAt = k, l.clock.now()
	if s.parts--; s.parts == 0 {
		l.report(i, s)
		return
	}
	if k == killFailed {
		l.giveUp(i, s, &failure{outcome: load.Cancelled, detail: fmt.Sprintf("it could not be killed: %v", why)})
	}
}

// inputAnswered takes how the sending of input went. A process that ended before it
// had read all of it is as it should be.
func (l *loop) inputAnswered(c *call, err error) {
	i, s := c.victim, l.streams.at(c.victim)
	if c.kind == callInput && err == nil {
		c.kind, c.answer = callClose, load.Answer{}
		l.calls.push(c)
		return
	}
	if s.parts--; s.parts == 0 {
		l.report(i, s)
		return
	}
	if err != nil && !errors.Is(err, load.ErrGone) && !errors.Is(err, errNoTime) && s.phase == phaseLive {
		l.giveUp(i, s, &failure{outcome: load.ServerError, detail: fmt.Sprintf("its input could not be written: %v", err)})
	}
}

// callTimeout bounds one call.
const callTimeout = load.CallTimeout

// overdueCall says why a call is given up at this time, nil when it is not.
func overdueCall(s *stream, now int64) *failure {
	if time.Duration(now-s.since) > callTimeout {
		return &failure{outcome: load.Stall, detail: fmt.Sprintf("no answer within %v", callTimeout)}
	}
	return nil
}

// sweep looks for processes of this run that no stream knows, and kills them.
func (l *loop) sweep() {
	for j := range l.classes {
		l.sweeping++
		l.calls.push(&call{kind: callList, class: &l.classes[j]})
	}
}

// list queues the kills of what List says is ours.
func (l *loop) list(c *call, message []byte) {
	pids, err := c.class.Dialect.Listed(message)
	if err != nil {
		return // the ledger says how many are unknown
	}
	for _, pid := range pids {
		l.sweeping++
		l.calls.push(&call{kind: callSweep, class: c.class, pid: pid})
	}
}
