package judge

import (
	"encoding/json"
	"slices"
	"strings"

	"assay/scenarios"
)

// premises are what a script takes for granted: found by reading it, before anything was seen.
type premises struct {
	steps map[string]*scenarios.Step // by place
	// needed are the processes that later steps act on, by name, with the rule that their
	// start proves, "" for none.
	needed map[string]string
	// named are the exchanges that clauses speak of.
	named map[string]bool
	// alive says of a step which process must not have ended before it.
	alive map[string]string
	// raced are the steps inside a race, of which nothing is taken for granted.
	raced map[string]bool
}

func premisesOf(s *scenarios.Scenario) *premises {
	p := &premises{
		steps: map[string]*scenarios.Step{}, needed: map[string]string{}, named: namedIn(s),
		alive: map[string]string{}, raced: map[string]bool{},
	}
	l := &lives{premises: p, proves: map[string]string{}, over: map[string]bool{}, streams: map[string]string{}}
	for i := range s.Steps {
		l.step(&s.Steps[i], false)
	}
	return p
}

// namedIn are the exchanges that some clause speaks of.
func namedIn(s *scenarios.Scenario) map[string]bool {
	named := map[string]bool{}
	for i := range s.Expect {
		c := &s.Expect[i]
		for name := range c.Subjects {
			named[name] = true
		}
		for j := range c.Orders {
			for name := range c.Orders[j].Subjects {
				named[name] = true
			}
		}
		for _, name := range c.Parity {
			named[name] = true
		}
		for _, instant := range c.Sequence {
			name, _, _ := strings.Cut(instant, ".")
			named[name] = true
		}
	}
	return named
}

// lives follows the processes of a script through its steps.
type lives struct {
	*premises
	proves  map[string]string // by process
	over    map[string]bool   // processes that may have ended
	streams map[string]string // exchange -> process, of those that attached
}

func (l *lives) step(st *scenarios.Step, race bool) {
	l.steps[st.At] = st
	if race {
		l.raced[st.At] = true
	}
	switch {
	case st.Start != nil:
		l.begins(st.Start)
	case st.Connect != nil:
		l.needs(st.At, st.Connect.To, false, race)
		l.streams[st.Connect.As] = st.Connect.To
	case st.Signal != nil:
		l.needs(st.At, st.Signal.To, true, race)
	case st.Input != nil:
		l.needs(st.At, st.Input.To, true, race)
	case st.CloseStdin != nil:
		l.needs(st.At, st.CloseStdin.To, true, race)
	case st.Update != nil:
		l.needs(st.At, st.Update.To, false, race)
	case st.Send != nil:
		for name := range l.proves {
			if mentions(st.Send, "${"+name+".pid}") {
				l.needs(st.At, name, true, race)
			}
		}
	case st.Await != nil:
		l.waits(st.Await)
	}
	for i := range st.Parallel {
		l.step(&st.Parallel[i], race)
	}
	if st.Race != nil {
		l.step(&st.Race.A, true)
		l.step(&st.Race.B, true)
	}
}

// begins notes a process. One that has a limit, or whose end is waited for, may be over when the next step comes.
func (l *lives) begins(s *scenarios.Start) {
	l.proves[s.As] = s.Proves
	l.over[s.As] = s.Wait == "end" || s.TimeoutMS != nil
}

// needs notes that a step acts on a process. After one that may end it nothing is
// known of it any more.
func (l *lives) needs(at, process string, ends, race bool) {
	rule, started := l.proves[process]
	if !started {
		return
	}
	l.needed[process] = rule
	if !l.over[process] && !race {
		l.alive[at] = process
	}
	l.over[process] = l.over[process] || ends
}

// waits notes what an await says of a process: that it is there, or that it ends.
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

// mentions reports whether a request holds a text anywhere.
func mentions(s *scenarios.Send, text string) bool {
	if strings.Contains(s.Path, text) {
		return true
	}
	for _, v := range []any{s.Message, s.JSON, s.Body, s.Headers} {
		if p, err := json.Marshal(v); err == nil && strings.Contains(string(p), text) {
			return true
		}
	}
	return false
}

// proven reports whether a rule is one that the exchanges of an await can break by ending.
func endsOnly(a *scenarios.Await) bool {
	return a.Output == "" && a.Event == "" && a.Frames == 0
}

// explicit reports whether a wait of that place is an await of the script.
func (p *premises) explicit(at string) *scenarios.Await {
	if st := p.steps[at]; st != nil {
		return st.Await
	}
	return nil
}

// helper reports whether a step makes a call that must succeed for the rest to mean anything: one about a
// process that no clause speaks of.
func (p *premises) helper(at, name string) bool {
	st := p.steps[at]
	if st == nil || p.raced[at] || p.named[name] {
		return false
	}
	return st.Signal != nil || st.Input != nil || st.CloseStdin != nil || st.Update != nil || st.Connect != nil
}

// reuses reports whether a step sends on the connection of an earlier exchange.
func (p *premises) reuses(at string) bool {
	st := p.steps[at]
	if st == nil || st.Send == nil || st.Send.On == "" {
		return false
	}
	return !slices.ContainsFunc(p.opened(), func(name string) bool { return name == st.Send.On })
}

// opened are the connections that the script opens by themselves.
func (p *premises) opened() []string {
	var names []string
	for _, st := range p.steps {
		if st.Open != nil {
			names = append(names, st.Open.As)
		}
	}
	return names
}
