package account

import (
	"errors"
	"fmt"
	"time"

	"assay/internal/load"
	"assay/internal/record/bundle"
)

// callKind is the purpose of a unary call.
type callKind uint8

const (
	callKill  callKind = iota // kills the process of a stream
	callInput                 // writes the input of a process
	callClose                 // closes the input of a process
	callList                  // lists all processes
	callSweep                 // kills a process that no stream knows
)

// Call is a unary call. The driver sends it like a stream.
type Call struct {
	// Request is the request. The driver may keep its encoded form in Wire.
	Request load.Request
	Wire    any

	kind    callKind
	class   *class
	request int32 // the index of the dialect in Run.dialects
	victim  int32 // the stream of the process
	pid     uint32
	answer  load.Answer
}

// callsAtOnce bounds the calls in flight, of all parts: enough to hide the round trip, too few
// to be a load of their own. callTimeout bounds each of them.
const (
	callsAtOnce = 32
	callTimeout = 5 * time.Second
)

// Call returns the call of an entry.
func (a *Streams) Call(i int32) *Call { return a.extras[i].call }

// queueKill queues the kill of a stream's process.
func (a *Streams) queueKill(i int32, s *Stream) {
	s.kill = killQueued
	s.parts++
	a.pushCall(&Call{kind: callKill, class: a.class(s), request: s.request, victim: i, pid: s.pid})
}

// queueInput queues the call that writes the input of a process, or closes it when there
// is none.
func (a *Streams) queueInput(i int32, s *Stream) {
	kind := callInput
	if len(a.class(s).Stdin) == 0 {
		kind = callClose
	}
	s.parts++
	a.pushCall(&Call{kind: kind, class: a.class(s), request: s.request, victim: i, pid: s.pid})
}

func (a *Streams) pushCall(c *Call) {
	a.calls.Push(c)
	a.due = true
}

// requestKill queues the kill of a running process, once.
func (a *Streams) requestKill(i int32, s *Stream) {
	switch {
	case s.kill != killNone || s.phase != phaseLive:
	case a.class(s).ws:
		s.kill = killQueued
		a.kills.Push(Waiter{i, s.Number})
		a.due = true
	default:
		a.queueKill(i, s)
	}
}

// StartCalls sends queued calls, up to this part's share of callsAtOnce in flight, and kills
// over sockets.
func (a *Streams) StartCalls() {
	a.sayKills()
	most := max(callsAtOnce/len(a.run.parts), 1)
	for a.calling < most && a.calls.Len() > 0 {
		a.startCall(a.calls.Pop())
	}
}

// startCall sends a call, except the kill of a process that has ended.
func (a *Streams) startCall(c *Call) {
	if c.kind == callKill {
		s := a.entries.At(c.victim)
		if s.ends > 0 {
			a.killAnswered(c.victim, s, killSkipped, nil)
			return
		}
		s.kill, s.killedAt = killSent, a.now()
		s.set(flagKillSent)
		a.sink.Killing()
	}
	var err error
	if c.Request, err = a.build(c); err != nil {
		a.answeredCall(c, err)
		return
	}
	i := a.entries.Take()
	s := a.entries.At(i)
	a.callNumber--
	*s = Stream{Number: a.callNumber, since: a.now(), Conn: None, cut: None, phase: phaseWaiting, parts: 1}
	s.set(flagCall)
	a.extra(i, s).call = c
	a.calling++
	a.driver.Open(i, s)
}

// build returns the request of a call.
func (a *Streams) build(c *Call) (load.Request, error) {
	d := &a.run.dialects[c.request]
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

// called ends a call, with its whole response or with f.
func (a *Streams) called(i int32, s *Stream, f *Failure) {
	if s.phase == phaseFree {
		return
	}
	x := a.extras[i]
	c := x.call
	if x.given != nil {
		f = x.given
	}
	s.phase = phaseFree
	a.dropExtra(i, s)
	a.entries.Put(i)
	a.calling--
	if f != nil {
		a.answeredCall(c, f)
		return
	}
	message, err := c.class.Dialect.Reply(&c.answer)
	if c.kind == callList && err == nil {
		a.list(c, message)
	}
	a.answeredCall(c, err)
}

// answeredCall acts on the response to a call.
func (a *Streams) answeredCall(c *Call, err error) {
	switch c.kind {
	case callKill:
		state := killDone
		switch {
		case errors.Is(err, load.ErrGone):
			state = killGone
		case err != nil:
			state = killFailed
		}
		a.killAnswered(c.victim, a.entries.At(c.victim), state, err)
	case callSweep:
		if err == nil {
			a.swept[process{a.run.box(c.request), c.pid}] = c.class.ws
		}
		a.sweeping--
	case callList:
		a.sweeping--
	case callInput, callClose:
		a.inputAnswered(c, err)
	}
}

// killAnswered handles the result of a kill.
func (a *Streams) killAnswered(i int32, s *Stream, k killState, why error) {
	s.kill, s.doneAt = k, a.now()
	if s.parts--; s.parts == 0 {
		a.report(i, s)
		return
	}
	if k == killFailed {
		a.giveUp(i, s, cancelled("it could not be killed: %v", why))
	}
}

// inputAnswered handles the result of writing input. It is no failure when a process ends
// before it has read all of its input.
func (a *Streams) inputAnswered(c *Call, err error) {
	i, s := c.victim, a.entries.At(c.victim)
	if c.kind == callInput && err == nil {
		c.kind, c.answer, c.Wire = callClose, load.Answer{}, nil
		a.pushCall(c)
		return
	}
	if s.parts--; s.parts == 0 {
		a.report(i, s)
		return
	}
	if err != nil && !errors.Is(err, load.ErrGone) && !errors.Is(err, errNoTime) && s.phase == phaseLive {
		outcome := bundle.StreamServerError
		if failure := (*Failure)(nil); errors.As(err, &failure) && failure.Outcome == bundle.StreamStall {
			outcome = bundle.StreamStall
		}
		a.giveUp(i, s, &Failure{Outcome: outcome, Detail: fmt.Sprintf("its input could not be written: %v", err)})
	}
}

// overdueCall returns the failure of a call that is overdue at this time, or nil.
func overdueCall(s *Stream, now int64) *Failure {
	if time.Duration(now-s.since) > callTimeout {
		return stalled("no response within %v", callTimeout)
	}
	return nil
}

// sweep lists the processes of this run; list kills those that still run.
func (a *Streams) sweep() {
	for n := range a.run.dialects {
		a.sweeping++
		a.pushCall(&Call{kind: callList, class: &a.classes[n/a.run.boxes], request: int32(n)}) //nolint:gosec // a handful of classes, at most a thousand sandboxes
	}
}

// list queues the kills of the listed processes that belong to this run.
func (a *Streams) list(c *Call, message []byte) {
	pids, err := c.class.Dialect.Listed(message)
	if err != nil {
		return // the ledger counts its processes as unknown
	}
	a.listed = a.listed || c.class.ws
	for _, pid := range pids {
		a.sweeping++
		a.pushCall(&Call{kind: callSweep, class: c.class, request: c.request, pid: pid})
	}
}
