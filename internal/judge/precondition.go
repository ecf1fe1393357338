package judge

import (
	"encoding/json"
	"strings"

	"assay/internal/record/surface"
	"assay/scenarios"
)

// preconditions are the preconditions of a script, derived from its text alone.
type preconditions struct {
	steps map[string]*scenarios.Step // by location
	// needed maps each process that later steps act on to the rule that its start proves, "" for
	// none.
	needed map[string]string
	// subjects are the exchanges that clauses judge.
	subjects map[string]bool
	// alive maps a step to the process that must not have ended before it.
	alive map[string]string
}

func preconditionsOf(s *scenarios.Scenario) *preconditions {
	p := &preconditions{
		steps: map[string]*scenarios.Step{}, needed: map[string]string{}, subjects: s.Subjects(), alive: map[string]string{},
	}
	l := &lives{preconditions: p, proves: map[string]string{}, over: map[string]bool{}, streams: map[string]string{}}
	s.EachStep(l.step)
	return p
}

// lives follows the processes of a script through its steps.
type lives struct {
	*preconditions
	proves  map[string]string // by process
	over    map[string]bool   // processes that may have ended
	streams map[string]string // attached exchange -> process
}

func (l *lives) step(st *scenarios.Step) {
	l.steps[st.At] = st
	if call, _ := st.Call(); call.Target != nil {
		l.needs(st, call.Target.To, call.Ends)
	}
	if _, t := st.Socket(); t != nil {
		l.needs(st, t.To, true)
	}
	switch {
	case st.Start != nil:
		l.begins(st.Start)
	case st.Connect != nil:
		l.streams[st.Connect.As] = st.Connect.To
	case st.Send != nil:
		for name := range l.proves {
			if mentions(st.Send, "${"+name+".pid}") {
				l.needs(st, name, true)
			}
		}
	case st.Await != nil:
		l.waits(st.Await)
	}
}

// begins records a started process. If it has a time limit, or the step waits for its end, it may
// have ended before the next step.
func (l *lives) begins(s *scenarios.Start) {
	l.proves[s.As] = s.Proves
	l.over[s.As] = s.Wait == "end" || s.TimeoutMS != nil
}

// needs records that a step acts on a process. After a step that may end the process, later
// steps do not require it to run.
func (l *lives) needs(st *scenarios.Step, process string, ends bool) {
	rule, started := l.proves[process]
	if !started {
		return
	}
	l.needed[process] = rule
	if !l.over[process] && !st.Raced() {
		l.alive[st.At] = process
	}
	l.over[process] = l.over[process] || ends
}

// waits records that an await needs a process, and whether it waits for its end.
func (l *lives) waits(a *scenarios.Await) {
	process := a.On
	if p, attached := l.streams[a.On]; attached {
		process = p
	}
	rule, started := l.proves[process]
	if !started {
		return
	}
	l.needed[process] = rule
	if a.Done || a.Event == "end" {
		l.over[process] = true
	}
}

// mentions reports whether a request contains a text.
func mentions(s *scenarios.Send, text string) bool {
	if strings.Contains(s.Path, text) {
		return true
	}
	for _, v := range []any{s.Message, s.JSON, s.Body, s.Headers, s.Query, s.Multipart} {
		if p, err := json.Marshal(v); err == nil && strings.Contains(string(p), text) {
			return true
		}
	}
	return false
}

// explicit returns the await step at that location, or nil.
func (p *preconditions) explicit(at string) *scenarios.Await {
	if st := p.steps[at]; st != nil {
		return st.Await
	}
	return nil
}

// helper reports whether the step at that location is a precondition: a call about a process that
// is not part of a race and that no clause judges.
func (p *preconditions) helper(at, name string) bool {
	st := p.steps[at]
	if _, named := p.subjects[name]; st == nil || st.Raced() || named {
		return false
	}
	if st.Send != nil {
		return preparesFiles(st.Send)
	}
	call, _ := st.Call()
	return call.Target != nil
}

// preparesFiles reports whether a send that no clause judges must succeed: it calls a surface
// beside processes, on whose state later steps depend.
func preparesFiles(s *scenarios.Send) bool {
	return strings.HasPrefix(s.RPC, "filesystem.") || surface.Of(s.Surface).Keeps
}

// reuses reports whether a step sends on the connection of an earlier exchange.
func (p *preconditions) reuses(at string) bool {
	st := p.steps[at]
	if st == nil || st.Send == nil || st.Send.On == "" {
		return false
	}
	for _, other := range p.steps {
		if other.Open != nil && other.Open.As == st.Send.On {
			return false
		}
	}
	return true
}
