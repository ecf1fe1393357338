//go:build linux && (amd64 || arm64)

package fast

import (
	"fmt"
	"time"

	"assay/internal/load"
)

// stage is how far a loop has come.
type stage uint8

const (
	stageRun   stage = iota // streams begin
	stageGrace              // they may end by themselves
	stageWind               // their processes are killed
	stageSweep              // processes that nobody knows are looked for
	stageDone
)

// which says what is killed.
type which uint8

const (
	killNothing which = iota
	killEndless
	killAll
)

// schedule is when the streams of a loop begin and end.
type schedule struct {
	stage   stage
	killing which // what is killed as soon as it has started
	until   int64
	hurried bool // an interrupt has shortened the killing
	timers  timers

	pacer    load.Pacer
	next     int   // the number in the pacer of the next stream
	nextAt   int64 // when that begins
	some     bool  // there is one
	ready    int   // places that are free at once
	full     bool  // the count of streams has begun
	open     int   // streams that are not over
	deferred []waiter
}

// unreported is how many streams have no result yet.
func (l *loop) unreported() int { return l.streams.live() - l.calling }

// advance finds the next stream of the pacer: every loop takes its part of them.
func (l *loop) advance() {
	sc := &l.schedule
	at, ok := sc.pacer.At(sc.next)
	p := l.plan
	sc.nextAt, sc.some = int64(at), ok && (p.Duration == 0 || at < p.Duration) && (p.Count == 0 || sc.next < p.Count)
	sc.next += l.run.count
}

// tend does what is due: streams begin, are killed, hung up on, and the stages follow
// one another.
func (l *loop) tend(now int64) {
	sc := &l.schedule
	for len(sc.timers) > 0 && sc.timers[0].at <= now {
		l.due(sc.timers.pop())
	}
	if sc.stage == stageRun {
		l.beginDue(now)
	}
	l.advanceStage(now)
}

// beginDue begins every stream whose time has come. One that was due within the duration
// begins also when the loop comes too late for it, and is charged the delay; a place that
// became free is filled only within it.
func (l *loop) beginDue(now int64) {
	sc := &l.schedule
	if l.run.interrupted.Load() {
		return
	}
	for sc.some && sc.nextAt <= now {
		at := sc.nextAt
		l.begin(at)
		l.advance()
	}
	if l.plan.Duration > 0 && now >= int64(l.plan.Duration) {
		return
	}
	for ; sc.ready > 0; sc.ready-- {
		l.begin(now)
	}
}

// due does what a timer is for.
func (l *loop) due(t timer) {
	if t.stream == none {
		if l.schedule.stage == stageRun {
			l.begin(t.at)
		}
		return
	}
	s := l.streams.at(t.stream)
	if s.number != t.number || s.phase != phaseLive || s.has(flagCall) {
		return
	}
	if l.plan.Stream(s.number).Kill {
		l.requestKill(t.stream, s)
		return
	}
	l.giveUp(t.stream, s, errHungUp)
}

// begin begins a stream.
func (l *loop) begin(intended int64) {
	number := l.run.begun.Add(1) - 1
	if l.plan.Count > 0 && number >= int64(l.plan.Count) {
		l.run.begun.Add(-1)
		l.schedule.full = true
		return
	}
	i := l.streams.take()
	s := l.streams.at(i)
	*s = stream{
		number: number, intended: intended, since: intended, phase: phaseWaiting, parts: 1, conn: none, mux: none, cut: none,
		class: uint16(l.plan.Stream(number).Class), //nolint:gosec // a handful of classes
	}
	s.next = l.class(s).Check.First
	l.schedule.open++
	if most := l.plan.MaxOpen; most > 0 && l.run.open.Add(1) > int64(most) {
		l.at = l.clock.now()
		l.fail(i, s, &failure{
			outcome: load.Blocked,
			detail:  fmt.Sprintf("%d streams are open already: this machine has descriptors and ports for no more", most),
		})
		return
	}
	l.record(s.class, load.StartLag, l.clock.now()-intended)
	l.open(i, s)
}

// left is called when a stream is over. In the closed model another takes its place:
// at once, after a while when it failed, after the time to think where there is one.
func (l *loop) left(s *stream, failed bool) {
	sc := &l.schedule
	sc.open--
	l.endings++
	if l.plan.MaxOpen > 0 {
		l.run.open.Add(-1)
	}
	if l.plan.Open() || sc.stage != stageRun {
		return
	}
	pause := l.class(s).Think
	if failed {
		pause = max(pause, load.RetryPause)
	}
	if pause == 0 {
		sc.ready++
		return
	}
	sc.timers.push(timer{at: l.clock.now() + int64(pause), stream: none})
}

// exhausted reports whether no stream will begin any more before the duration is over.
func (l *loop) exhausted() bool {
	sc := &l.schedule
	if l.plan.Open() {
		return !sc.some && l.plan.Count > 0
	}
	return sc.full || l.plan.Count > 0 && l.run.begun.Load() >= int64(l.plan.Count)
}

// advanceStage goes to the next stage when the present one is over.
func (l *loop) advanceStage(now int64) {
	sc := &l.schedule
	interrupted := l.run.interrupted.Load()
	over := l.plan.Duration > 0 && now >= int64(l.plan.Duration)
	if sc.stage == stageRun && (interrupted || over || l.exhausted() && sc.open == 0) {
		sc.stage, sc.until = stageGrace, now+int64(l.plan.Limits.Grace)
		l.kill(killEndless)
		if !l.run.patient {
			sc.until = now
		}
	}
	if sc.stage == stageGrace && (interrupted || sc.open == 0 || now >= sc.until) {
		// Two fifths of the time are kept for what could not be killed in an orderly way.
		sc.stage, sc.until = stageWind, now+int64(l.plan.Limits.Winding(interrupted)*3/5)
		sc.hurried = interrupted
		l.kill(killAll)
		if interrupted {
			l.cancelWaiting()
		}
	}
	if sc.stage == stageWind && interrupted && !sc.hurried {
		sc.hurried = true
		sc.until = min(sc.until, now+int64(l.plan.Limits.Winding(true)*3/5))
	}
	if sc.stage == stageWind && l.unreported() > 0 && now >= sc.until {
		l.abandon(interrupted)
	}
	if sc.stage == stageWind && l.unreported() == 0 {
		sc.stage, sc.until = stageSweep, now+int64(l.plan.Limits.Winding(interrupted)/5)
		l.run.wound(l)
	}
	if sc.stage == stageSweep && l.maySweep() && (l.sweeping == 0 || now >= sc.until) {
		sc.stage = stageDone
	}
}

// ending reports whether a stream is killed as soon as it has started.
func (l *loop) ending(s *stream) bool {
	k := l.schedule.killing
	return k == killAll || k == killEndless && l.class(s).Endless
}

// kill asks for the death of every process that is to be killed from now on, and at
// last of those that were hung up on.
func (l *loop) kill(what which) {
	sc := &l.schedule
	sc.killing = what
	for i := range l.streams.used {
		if s := l.streams.at(i); s.phase == phaseLive && !s.has(flagCall) && l.ending(s) {
			l.requestKill(i, s)
		}
	}
	if what != killAll {
		return
	}
	for _, w := range sc.deferred {
		s := l.streams.at(w.stream)
		s.parts-- // queueKill counts it again
		l.queueKill(w.stream, s)
	}
	sc.deferred = nil
}

// cancelWaiting gives up what was not opened.
func (l *loop) cancelWaiting() {
	for i := range l.streams.used {
		if s := l.streams.at(i); s.phase == phaseWaiting && !s.has(flagCall) {
			l.giveUp(i, s, &failure{outcome: load.Cancelled, detail: "interrupted before it was opened"})
		}
	}
}

// abandon gives up what has not ended by itself by the end of the time for it.
func (l *loop) abandon(interrupted bool) {
	after := l.plan.Limits.Winding(interrupted) * 3 / 5
	l.dropCalls()
	for i := range l.streams.used {
		s := l.streams.at(i)
		switch {
		case s.phase == phaseFree || s.phase == phaseOver:
		case s.has(flagCall):
			l.giveUp(i, s, &failure{outcome: load.Cancelled, detail: errNoTime.Error()})
		case !interrupted && s.phase == phaseSent:
			l.giveUp(i, s, silent(s, after))
		default:
			l.giveUp(i, s, &failure{outcome: load.Cancelled, detail: fmt.Sprintf("not ended %v after it was to be killed", after)})
		}
	}
	l.dropCalls() // that the end of streams asked for
}

// dropCalls gives up the calls that are queued.
func (l *loop) dropCalls() {
	for l.calls.len() > 0 {
		c := l.calls.pop()
		if c.kind == callKill {
			l.streams.at(c.victim).doneAt = l.clock.now()
		}
		l.answeredCall(c, errNoTime)
	}
}

// maySweep reports whether the loop need not wait for the others, and begins the
// sweep when it is the one to do it.
func (l *loop) maySweep() bool {
	if l.index != 0 {
		return true
	}
	if l.run.winding.Load() > 0 {
		l.schedule.until = l.clock.now() + int64(l.plan.Limits.Winding(l.run.interrupted.Load())/5)
		return false
	}
	if !l.run.swept && l.run.uncertain.Load() > 0 {
		l.run.swept = true
		l.sweep()
	}
	return true
}

// pause is how long the loop may wait for events.
func (l *loop) pause(now int64) time.Duration {
	sc := &l.schedule
	if len(l.again) > 0 || sc.ready > 0 && sc.stage == stageRun || sc.stage == stageDone {
		return 0
	}
	at := max(l.scanAt, now)
	if sc.stage == stageRun && sc.some {
		at = min(at, sc.nextAt)
	}
	if len(sc.timers) > 0 {
		at = min(at, sc.timers[0].at)
	}
	if sc.stage == stageRun && l.plan.Duration > 0 {
		at = min(at, int64(l.plan.Duration))
	}
	if sc.stage != stageRun && sc.stage != stageSweep {
		at = min(at, sc.until)
	}
	return time.Duration(max(at-now, 0))
}
