package judge

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// unmet is a failed precondition. The expectations after it are not judged; it breaks only the
// rule that the precondition itself proves.
type unmet struct {
	at      bundle.Stamp // when the precondition failed
	text    string
	symptom bundle.Symptom
	// names are the exchanges that are not judged, regardless of when they ended.
	names []string
	// soft keeps expectations that hold nevertheless: an unmet wait whose event came in another way.
	soft bool
	// optional is set if the steps continued.
	optional bool
	// legal is set for an announced choice of the target, to which the expectations do not apply.
	legal bool
	rule  string // the broken rule, "" for none
	x     *bundle.Exchange
	vain  bool  // a wait was not met, and its event could still have come
	limit int64 // the deadline of the wait, 0 if it did not end the wait
}

// unmetPreconditions lists the failed preconditions of an iteration, the earliest first.
func (s *scene) unmetPreconditions() []unmet {
	if s.preconditions == nil {
		return nil
	}
	if s.blocked == nil {
		all := slices.Concat(s.unconnected(), s.unstarted(), s.departed(), s.refusedCalls(), s.vainWaits())
		slices.SortStableFunc(all, func(a, b unmet) int { return order(a.at, b.at) })
		for i := range all {
			if slices.ContainsFunc(all[:i], func(o unmet) bool { return o.rule != all[i].rule && !o.optional }) {
				all[i].rule = "" // it follows from an earlier one
			}
		}
		s.blocked = &all
	}
	return *s.blocked
}

// behind returns the unmet precondition that prevents judging an exchange, or nil. x is nil for an exchange
// that never began.
func (s *scene) behind(name string, x *bundle.Exchange) *unmet {
	all := s.unmetPreconditions()
	for o := range bundle.Each(all) {
		switch {
		case x == nil && !o.optional, slices.Contains(o.names, name):
			return o
		case x == nil, o.optional:
		case o.at.Before(x.Invoked), x.Outcome == bundle.OutcomeAborted && !x.Aborted:
			return o
		}
	}
	return nil
}

// finding returns the finding of an expectation that the unmet precondition prevents from being judged.
func (o *unmet) finding(s *scene) finding {
	grade := inconclusive
	if o.legal {
		grade = unsupported
	}
	return finding{grade: grade, symptom: o.symptom, message: "not judged: " + o.text, at: s.at(o.x, -1)}
}

// breach returns the finding for the rule that the precondition proves.
func (o *unmet) breach(s *scene) finding {
	f := finding{grade: violated, symptom: o.symptom, message: o.text, at: s.at(o.x, -1), vain: o.vain}
	if s.lag > 0 && o.limit > 0 && s.lag >= o.limit/2 {
		f.grade = inconclusive
		f.message += fmt.Sprintf("; the time limit was %s, and this driver itself ran late by up to %s", phrase.Span(o.limit), phrase.Span(s.lag))
	}
	return f
}

// unconnected lists the open steps whose connection could not be opened.
func (s *scene) unconnected() []unmet {
	var out []unmet
	for c := range bundle.Each(s.it.Conns) {
		if c.DialError == "" {
			continue
		}
		out = append(out, unmet{at: c.Dialed, text: "no connection could be opened: " + phrase.Clip(c.DialError), symptom: bundle.SymptomNoConnect})
	}
	return out
}

// unstarted lists the needed processes that did not start.
func (s *scene) unstarted() []unmet {
	var out []unmet
	for x := range bundle.Each(s.it.Exchanges) {
		rule, needed := s.preconditions.needed[x.Name]
		if !needed || x.Op != bundle.OpStart || x.Aborted || begun(x) ||
			x.Outcome == bundle.OutcomeNoConnect || x.Outcome == bundle.OutcomeAborted {
			continue
		}
		out = append(out, unmet{
			at: returned(x), text: fmt.Sprintf("%s did not start: %s", x.Name, answer(x)),
			symptom: shortfallOr(x, bundle.SymptomNoStart), names: []string{x.Name}, rule: rule, x: x,
		})
	}
	return out
}

// departed lists the processes that ended before a step that needs them, although no earlier step
// could have ended them.
func (s *scene) departed() []unmet {
	var out []unmet
	for x := range bundle.Each(s.it.Exchanges) {
		name := s.preconditions.alive[x.Step]
		if name == "" || x.Op == bundle.OpCleanup || !s.hadEnded(name, x.Invoked) {
			continue
		}
		out = append(out, unmet{
			at: s.process(name).Started, text: fmt.Sprintf("%s before %s was sent", s.endText(name), called(x)),
			symptom: bundle.SymptomEndedEarly, names: append(s.streamsOf(name), x.Name), rule: s.preconditions.needed[name], x: s.it.Exchange(name),
		})
	}
	return out
}

// called names an exchange in a message by its kind and, if it differs, its name.
func called(x *bundle.Exchange) string {
	if x.Name == x.Op {
		return "the " + x.Op
	}
	return x.Op + " " + x.Name
}

// streamsOf returns the exchanges with the events of a process.
func (s *scene) streamsOf(name string) []string {
	names := []string{name}
	pid := s.pid(name)
	for x := range bundle.Each(s.it.Exchanges) {
		if slices.ContainsFunc(x.Events, func(e bundle.Event) bool { return e.Kind == bundle.EventStart && e.PID == pid && pid != 0 }) {
			names = append(names, x.Name)
		}
	}
	return names
}

// refusedCalls lists the failed precondition calls (see helper), and the calls whose connection
// the server had already closed.
func (s *scene) refusedCalls() []unmet {
	var out []unmet
	for x := range bundle.Each(s.it.Exchanges) {
		switch {
		case x.Op == bundle.OpCleanup || x.Aborted:
		case s.preconditions.helper(x.Step, x.Name) && (isError(x) || cutShort(x)) && x.Outcome != bundle.OutcomeNoConnect:
			out = append(out, unmet{
				at: x.Invoked, text: fmt.Sprintf("%s was answered with %s", called(x), answer(x)),
				symptom: shortfallOr(x, bundle.SymptomRefused), names: s.actedOn(x), x: x,
			})
		case x.Response == nil && (x.Outcome == bundle.OutcomeClosed || x.Outcome == bundle.OutcomeReset) && s.preconditions.reuses(x.Step):
			out = append(out, unmet{
				at: x.Invoked, text: "the server had closed the connection, which is legal, when " + called(x) + " was sent on it",
				symptom: bundle.SymptomConnection, names: []string{x.Name}, x: x, legal: s.announcedClose(x),
			})
		}
	}
	return out
}

// announcedClose reports whether an earlier response on the connection of an exchange said that
// the connection ends with it.
func (s *scene) announcedClose(x *bundle.Exchange) bool {
	return slices.ContainsFunc(s.it.Exchanges, func(o bundle.Exchange) bool {
		r := o.Response
		return r != nil && o.Conn == x.Conn && o.ID < x.ID && (saysClose(r) || r.Framing == wire.FramingClose)
	})
}

// actedOn returns the exchanges that a call about a process affects: its own and, unless it
// attaches, the streams of the process.
func (s *scene) actedOn(x *bundle.Exchange) []string {
	names := []string{x.Name}
	call, _ := s.preconditions.steps[x.Step].Call()
	if call.Target != nil && call.Target.To != "" && call.Kind != "connect" {
		names = append(names, s.streamsOf(call.Target.To)...)
	}
	return names
}

// vainWaits lists the unmet waits.
func (s *scene) vainWaits() []unmet {
	var out []unmet
	for a := range bundle.Each(s.it.Awaits) {
		if a.Met {
			continue
		}
		x := s.it.Exchange(a.On)
		o := unmet{at: a.Ended, text: s.waitText(a, x), symptom: waitSymptom(a, x), x: x, soft: true, vain: !overBy(a, x)}
		if a.Ended.T-a.Began.T >= a.Deadline {
			o.limit = a.Deadline
		}
		if st := s.preconditions.explicit(a.Step); st != nil && a.What.Kind != bundle.WaitTime {
			o.names, o.optional, o.rule = []string{a.On}, st.Optional, st.Proves
			if st.ForContent() && overBy(a, x) && !s.killedAfterSignal(x) && !givenUp(x) || a.Short {
				// The process ended by itself, which other rules judge, or the wait was too short.
				o.rule = ""
			}
		} else if x != nil && x.Op == bundle.OpStart && !begun(x) {
			o.rule = s.preconditions.needed[a.On] // the implicit wait of the start
		}
		out = append(out, o)
	}
	return out
}

// givenUp reports whether the gateway ended a WebSocket before its process.
func givenUp(x *bundle.Exchange) bool {
	e := x.First(bundle.EventEnd)
	return x.Switched() && e == nil
}

// killedAfterSignal reports whether a signal ended the process of an exchange after the script sent one.
func (s *scene) killedAfterSignal(x *bundle.Exchange) bool {
	e := x.First(bundle.EventEnd)
	if e == nil || e.Exit == nil || e.Exit.Signal == "" {
		return false
	}
	return slices.ContainsFunc(s.it.Exchanges, func(o bundle.Exchange) bool {
		return o.Op == bundle.OpSignal && x.Returned != nil && o.Invoked.Before(*x.Returned)
	})
}

// overBy reports whether an exchange ended by itself before the end of a wait on it.
func overBy(a *bundle.Await, x *bundle.Exchange) bool {
	if x == nil || x.Returned == nil || a.Ended.Before(*x.Returned) {
		return false
	}
	return x.Outcome != bundle.OutcomeStalled && x.Outcome != bundle.OutcomeNoAnswer && x.Outcome != bundle.OutcomeAborted
}

// waitText describes an unmet wait.
func (s *scene) waitText(a *bundle.Await, x *bundle.Exchange) string {
	what := phrase.Clip(a.What.String())
	if a.What.Kind == bundle.WaitOutput {
		text := phrase.Clip(strconv.Quote(a.What.Of))
		if overBy(a, x) {
			return fmt.Sprintf("%s without printing %s", s.overText(a.On, x), text)
		}
		what = "the output " + text
	}
	took := a.Ended.T - a.Began.T
	end := a.What.Kind == bundle.WaitDone || a.What.Kind == bundle.WaitEnd
	atOnce := took < int64(time.Millisecond)
	switch {
	case a.What.Kind == bundle.WaitTime:
		return fmt.Sprintf("the steps ran out of time after %s, in step %s", phrase.Span(took), stepName(a.Step))
	case a.What.Kind == bundle.WaitClosed:
		return fmt.Sprintf("the connection %s was not closed within %s", phrase.Clip(a.On), phrase.Span(took))
	case overBy(a, x) && a.What.Kind != bundle.WaitDone:
		return fmt.Sprintf("%s before %s came", s.overText(a.On, x), what)
	case end && atOnce:
		return phrase.Clip(a.On) + " had not ended when the time for the steps was over"
	case atOnce:
		return fmt.Sprintf("%s had not come on %s when the time for the steps was over", what, phrase.Clip(a.On))
	case end:
		return fmt.Sprintf("%s did not end within %s", phrase.Clip(a.On), phrase.Span(took))
	}
	return fmt.Sprintf("%s did not come on %s within %s", what, phrase.Clip(a.On), phrase.Span(took))
}

// overText describes how an exchange ended: with its process, or otherwise.
func (s *scene) overText(name string, x *bundle.Exchange) string {
	if e := x.First(bundle.EventEnd); e != nil {
		return name + " ended (" + exitShort(e.Exit) + ")"
	}
	return phrase.Clip(name) + " was answered with " + answer(x)
}

func waitSymptom(a *bundle.Await, x *bundle.Exchange) bundle.Symptom {
	if overBy(a, x) {
		switch {
		case shortfall(x) != bundle.SymptomOther:
			return shortfall(x)
		case isError(x):
			return bundle.SymptomRefused
		}
		return bundle.SymptomEndedEarly
	}
	switch a.What.Kind {
	case bundle.WaitOutput, bundle.WaitMessage:
		return bundle.SymptomHeldBack
	case bundle.WaitPID:
		return bundle.SymptomNoStart
	case bundle.WaitDone, bundle.WaitEnd:
		return bundle.SymptomStalled
	case bundle.WaitFrame, bundle.WaitClosed:
		return bundle.SymptomConnection
	case bundle.WaitEvent:
		switch bundle.EventKind(a.What.Of) {
		case bundle.EventData:
			return bundle.SymptomHeldBack
		case bundle.EventStart:
			return bundle.SymptomNoStart
		case bundle.EventEnd:
			return bundle.SymptomStalled
		default:
		}
	default:
	}
	return bundle.SymptomNoAnswer
}

// process returns the record of a process by its name, or nil.
func (s *scene) process(name string) *bundle.Process {
	return bundle.Find(s.it.Processes, func(p *bundle.Process) bool { return p.Name == name })
}

// hadEnded reports whether the end of a process was seen before an instant.
func (s *scene) hadEnded(name string, before bundle.Stamp) bool {
	if p := s.process(name); p != nil {
		return p.Ended != nil && p.Ended.Before(before)
	}
	x := s.it.Exchange(name)
	if x == nil || !x.Switched() {
		return false
	}
	e := x.First(bundle.EventEnd)
	return e != nil && e.At.Before(before)
}

// endText describes the end of a process: "p ended (exit 0)".
func (s *scene) endText(name string) string {
	if x := s.it.Exchange(name); x != nil {
		if e := x.First(bundle.EventEnd); e != nil {
			return name + " ended (" + exitShort(e.Exit) + ")"
		}
	}
	return name + " had ended"
}

// exitShort describes an end event in two words: "exit 0", "SIGKILL".
func exitShort(e *bundle.Exit) string {
	switch {
	case e == nil:
		return "no exit code"
	case e.Signal != "":
		return e.Signal
	}
	return "exit " + strconv.Itoa(int(e.Code))
}
