package account

import (
	"fmt"
	"math"
	"time"

	"assay/internal/load"
	"assay/internal/record/bundle"
)

// stage is the progress of the run.
type stage uint8

const (
	stageRun   stage = iota // streams begin
	stageGrace              // streams may end by themselves
	stageKill               // all processes are killed
	stageSweep              // processes that may still run are listed and killed
	stageDone
)

// which is the set of processes that are killed as soon as they start.
type which uint8

const (
	killNothing which = iota
	killEndless
	killAll
)

// schedule decides when streams begin and end.
type schedule struct {
	begun   bool
	stage   stage
	killing which
	until   int64 // when the stage ends
	hurried bool  // an interrupt has shortened stageKill
	timers  timers

	pacer    load.Pacer
	next     int      // the pacer's number of the stream after the next one
	nextAt   int64    // when the next stream begins
	some     bool     // there is a next stream
	ready    int      // places that may be filled at once
	full     bool     // as many streams have begun as the plan's count
	streams  int64    // streams of this part that have begun
	open     int      // streams that are not over
	deferred []Waiter // kills of hung-up streams, which wait for stageKill
}

// unreported returns the number of streams without a result.
func (a *Streams) unreported() int { return a.entries.Live() - a.calling }

// advance finds the next stream of this part in the pacer. The parts of a run take turns.
func (a *Streams) advance() {
	sc := &a.schedule
	at, ok := sc.pacer.At(sc.next)
	p := a.plan
	sc.nextAt, sc.some = int64(at), ok && (p.Duration == 0 || at < p.Duration) && (p.Count == 0 || sc.next < p.Count)
	sc.next += len(a.run.parts)
}

// Tend does everything that is due: it begins streams, kills or hangs up on those whose
// time has come, and advances the stage.
func (a *Streams) Tend(now int64) {
	sc := &a.schedule
	if !sc.begun {
		sc.begun = true
		a.advance()
	}
	for len(sc.timers) > 0 && sc.timers[0].at <= now {
		a.expire(sc.timers.pop())
	}
	if sc.stage == stageRun {
		a.beginDue(now)
	}
	a.advanceStage(now)
}

// beginDue begins every stream that is due. A stream that was due within the duration
// begins even when the driver is late, and its latencies include the delay; a free place is
// filled only within the duration.
func (a *Streams) beginDue(now int64) {
	sc := &a.schedule
	if a.run.interrupted.Load() {
		return
	}
	for sc.some && sc.nextAt <= now {
		at := sc.nextAt
		a.Begin(at)
		a.advance()
	}
	if a.plan.Duration > 0 && now >= int64(a.plan.Duration) {
		return
	}
	for ; sc.ready > 0; sc.ready-- {
		a.Begin(now)
	}
}

// expire handles a timer.
func (a *Streams) expire(t timer) {
	if t.stream == None {
		within := a.plan.Duration == 0 || t.at < int64(a.plan.Duration)
		if a.schedule.stage == stageRun && within && !a.run.interrupted.Load() {
			a.begin(t.at, t.fails)
		}
		return
	}
	s := a.entries.At(t.stream)
	if s.Number != t.number || s.phase != phaseLive || s.has(flagCall) {
		return
	}
	if a.plan.Stream(s.Number).Kill {
		a.requestKill(t.stream, s)
		return
	}
	a.giveUp(t.stream, s, errHungUp)
}

// Begin begins a stream with the given intended start.
func (a *Streams) Begin(intended int64) { a.begin(intended, 0) }

// begin begins a stream at a place at which the last streams failed before their start event.
func (a *Streams) begin(intended int64, fails uint8) {
	number := int64(a.index) + a.schedule.streams*int64(len(a.run.parts))
	if a.plan.Count > 0 && number >= int64(a.plan.Count) {
		a.schedule.full = true
		return
	}
	a.schedule.streams++
	i := a.entries.Take()
	s := a.entries.At(i)
	*s = Stream{
		Number: number, intended: intended, since: intended, phase: phaseWaiting, parts: 1, Conn: None, cut: None, fails: fails,
		class: uint16(a.plan.Stream(number).Class), //nolint:gosec // a handful of classes
	}
	s.request = int32(int(s.class)*a.run.boxes + a.plan.Box(number)) //nolint:gosec // a handful of classes, at most a thousand sandboxes
	s.next = a.class(s).Check.First
	a.schedule.open++
	if most := a.plan.MaxOpen; most > 0 && a.run.open.Add(1) > int64(most) {
		a.at = a.now()
		a.Fail(i, s, &Failure{
			Outcome: bundle.StreamBlocked,
			Detail:  fmt.Sprintf("%d streams are open already: this machine has no descriptors or ports for more", most),
		})
		return
	}
	a.record(s.class, load.StartLag, a.now()-intended)
	a.driver.Open(i, s)
}

// retryPause is how long the closed model waits before it replaces a stream that failed after
// its start event. Before one that failed earlier it waits for Plan.Backoff.
const retryPause = 250 * time.Millisecond

// left frees the place of a stream that is over. In the closed model another stream takes
// it: at once, or after a pause when the stream failed or its class has a think time.
func (a *Streams) left(s *Stream, failed bool) {
	sc := &a.schedule
	sc.open--
	a.ended++
	a.due = true
	if a.plan.MaxOpen > 0 {
		a.run.open.Add(-1)
	}
	if a.plan.Open() || sc.stage != stageRun {
		return
	}
	pause, fails := a.class(s).Think, uint8(0)
	switch {
	case failed && !s.has(flagStarted):
		if fails = s.fails; fails < math.MaxUint8 {
			fails++
		}
		pause = max(pause, a.plan.Backoff(s.Number, int(fails)))
		a.sink.BackedOff()
	case failed:
		pause = max(pause, retryPause)
	}
	if pause == 0 {
		sc.ready++
		return
	}
	sc.timers.push(timer{at: a.now() + int64(pause), stream: None, fails: fails})
}

// exhausted reports whether all streams of the plan have begun, whatever its duration.
func (a *Streams) exhausted() bool {
	sc := &a.schedule
	if a.plan.Open() {
		return !sc.some && a.plan.Count > 0
	}
	next := int64(a.index) + sc.streams*int64(len(a.run.parts))
	return sc.full || a.plan.Count > 0 && next >= int64(a.plan.Count)
}

// advanceStage goes to the next stage when the present one is over.
func (a *Streams) advanceStage(now int64) {
	sc := &a.schedule
	interrupted := a.run.interrupted.Load()
	over := a.plan.Duration > 0 && now >= int64(a.plan.Duration)
	if sc.stage == stageRun && (interrupted || over || a.exhausted() && sc.open == 0) {
		sc.stage, sc.until = stageGrace, now+int64(a.plan.Limits.Grace)
		a.kill(killEndless)
		if !a.run.patient {
			sc.until = now
		}
	}
	if sc.stage == stageGrace && (interrupted || sc.open == 0 || now >= sc.until) {
		// Two fifths of the time are left for the sweep.
		sc.stage, sc.until = stageKill, now+int64(a.plan.Limits.Ending(interrupted)*3/5)
		sc.hurried = interrupted
		a.kill(killAll)
		if interrupted {
			a.cancelWaiting()
		}
	}
	if sc.stage == stageKill && interrupted && !sc.hurried {
		sc.hurried = true
		sc.until = min(sc.until, now+int64(a.plan.Limits.Ending(true)*3/5))
	}
	if sc.stage == stageKill && a.unreported() > 0 && now >= sc.until {
		a.abandon(interrupted)
	}
	if sc.stage == stageKill && a.unreported() == 0 {
		sc.stage, sc.until = stageSweep, now+int64(a.plan.Limits.Ending(interrupted)/5)
		a.run.drained()
	}
	if sc.stage == stageSweep && a.maySweep() && (a.sweeping == 0 || now >= sc.until) {
		sc.stage = stageDone
	}
}

// ending reports whether the process of a stream is killed as soon as it starts.
func (a *Streams) ending(s *Stream) bool {
	k := a.schedule.killing
	return k == killAll || k == killEndless && a.class(s).Endless
}

// kill kills the running processes of a set, and from now on those that start. With killAll
// it also kills the processes of streams that the driver hung up on.
func (a *Streams) kill(what which) {
	sc := &a.schedule
	sc.killing = what
	for i := range a.entries.Used() {
		if s := a.entries.At(i); s.phase == phaseLive && !s.has(flagCall) && a.ending(s) {
			a.requestKill(i, s)
		}
	}
	if what != killAll {
		return
	}
	for _, w := range sc.deferred {
		s := a.entries.At(w.Stream)
		s.parts-- // queueKill counts it again
		a.queueKill(w.Stream, s)
	}
	sc.deferred = nil
}

// cancelWaiting gives up the streams that still wait for a connection.
func (a *Streams) cancelWaiting() {
	for i := range a.entries.Used() {
		if s := a.entries.At(i); s.phase == phaseWaiting && !s.has(flagCall) {
			a.giveUp(i, s, cancelled("interrupted before it was opened"))
		}
	}
}

// abandon gives up every stream and call that has not ended in time.
func (a *Streams) abandon(interrupted bool) {
	after := a.plan.Limits.Ending(interrupted) * 3 / 5
	a.dropCalls()
	for i := range a.entries.Used() {
		s := a.entries.At(i)
		switch {
		case s.phase == phaseFree || s.phase == phaseOver:
		case s.has(flagCall):
			a.giveUp(i, s, cancelled("%v", errNoTime))
		case !interrupted && s.phase == phaseSent:
			a.giveUp(i, s, a.silent(s, after))
		case !interrupted && s.phase == phaseWaiting && a.driver.Waiting(s, after) != nil:
			a.giveUp(i, s, a.driver.Waiting(s, after))
		default:
			a.giveUp(i, s, cancelled("not ended within %v of the kill", after))
		}
	}
	a.dropCalls() // drop the kills that giveUp has queued
}

// dropCalls drops the queued calls.
func (a *Streams) dropCalls() {
	for a.kills.Len() > 0 {
		a.kills.Pop()
	}
	for a.calls.Len() > 0 {
		c := a.calls.Pop()
		if c.kind == callKill {
			a.entries.At(c.victim).doneAt = a.now()
		}
		a.answeredCall(c, errNoTime)
	}
}

// maySweep reports whether this part may end. The first part waits for all others, and
// then begins the sweep.
func (a *Streams) maySweep() bool {
	if a.index != 0 {
		return true
	}
	if a.run.undrained.Load() > 0 {
		a.schedule.until = a.now() + int64(a.plan.Limits.Ending(a.run.interrupted.Load())/5)
		return false
	}
	if !a.run.swept && a.run.uncertain.Load() > 0 {
		a.run.swept = true
		a.sweep()
	}
	return true
}

// Done reports whether this part is over.
func (a *Streams) Done() bool { return a.schedule.stage == stageDone }

// Pause returns how long the driver may wait before the next Tend and Scan.
func (a *Streams) Pause(now int64) time.Duration {
	sc := &a.schedule
	if sc.ready > 0 && sc.stage == stageRun || sc.stage == stageDone || a.kills.Len() > 0 {
		return 0
	}
	at := max(a.scanAt, now)
	if sc.stage == stageRun && sc.some {
		at = min(at, sc.nextAt)
	}
	if len(sc.timers) > 0 {
		at = min(at, sc.timers[0].at)
	}
	if sc.stage == stageRun && a.plan.Duration > 0 {
		at = min(at, int64(a.plan.Duration))
	}
	if sc.stage != stageRun && sc.stage != stageSweep {
		at = min(at, sc.until)
	}
	return time.Duration(max(at-now, 0))
}
