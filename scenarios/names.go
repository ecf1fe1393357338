package scenarios

import (
	"strconv"
	"strings"
)

// Exchange is one exchange that a script's steps make, as far as the script says.
type Exchange struct {
	Name string
	// Step is the step that makes it.
	Step *Step
	// Explicit is set when the script gave the name (`as`, or a race's a and b).
	Explicit bool
	// Process is set when the step starts a process, so that `to` may name it.
	Process bool
}

// Exchanges lists the exchanges that the steps of one iteration make, in the
// order of the script. The answers on a raw connection bear the connection's name.
func (s *Scenario) Exchanges() []Exchange {
	var all []Exchange
	s.walk(func(step *Step, fallback string) {
		if e, ok := step.exchange(fallback); ok {
			all = append(all, e)
		}
	})
	return all
}

// ExchangeName is the name under which the step's exchange is recorded: its
// `as`, else the name that its place gives it (a and b of a race), else its kind; ""
// for a step that makes none.
func (s *Step) ExchangeName() string {
	e, _ := s.exchange(raceName(s.At))
	return e.Name
}

// raceName is a or b for the step that is directly one side of a race, else "".
func raceName(at string) string {
	for _, side := range []string{"a", "b"} {
		if strings.HasSuffix(at, ".race."+side) {
			return side
		}
	}
	return ""
}

// exchange says what exchange the step makes; fallback is the name that its place gives it.
func (s *Step) exchange(fallback string) (Exchange, bool) {
	var as, kind string
	var process bool
	switch {
	case s.Send != nil:
		as, kind = s.Send.As, "send"
		process = strings.HasSuffix(s.Send.RPC, "/Start") || s.Send.Surface == "commands"
	case s.Start != nil:
		as, kind, process = s.Start.As, "start", true
	case s.Connect != nil:
		as, kind = s.Connect.As, "connect"
	case s.Signal != nil:
		as, kind = s.Signal.As, "signal"
	case s.Input != nil:
		as, kind = s.Input.As, "input"
	case s.CloseStdin != nil:
		as, kind = s.CloseStdin.As, "close-stdin"
	case s.Update != nil:
		as, kind = s.Update.As, "update"
	case s.List != nil:
		as, kind = s.List.As, "list"
	default:
		return Exchange{}, false
	}
	for _, name := range []string{as, fallback} {
		if name != "" {
			return Exchange{Name: name, Step: s, Explicit: true, Process: process}, true
		}
	}
	return Exchange{Name: kind, Step: s, Process: process}, true
}

// walk visits every step, the steps inside a step before it is left, with the name that its place gives it.
func (s *Scenario) walk(visit func(step *Step, fallback string)) {
	for i := range s.Steps {
		s.Steps[i].walk("", visit)
	}
}

func (s *Step) walk(fallback string, visit func(*Step, string)) {
	visit(s, fallback)
	for i := range s.Parallel {
		s.Parallel[i].walk("", visit)
	}
	if s.Race != nil {
		s.Race.A.walk("a", visit)
		s.Race.B.walk("b", visit)
	}
}

// source is the place of the step in the file: "/steps/1/race/a".
func (s *Step) source() string {
	var b strings.Builder
	for _, part := range strings.Split(s.At, ".") {
		name, index, listed := strings.Cut(strings.TrimSuffix(part, "]"), "[")
		b.WriteString("/" + name)
		if listed {
			if _, err := strconv.Atoi(index); err == nil {
				b.WriteString("/" + index)
			}
		}
	}
	return b.String()
}

// connections lists the names of opened connections.
func (s *Scenario) connections() []string {
	var names []string
	s.walk(func(step *Step, _ string) {
		if step.Open != nil {
			names = append(names, step.Open.As)
		}
	})
	return names
}

// EachStep visits every step of the script in its order, also those inside of others.
func (s *Scenario) EachStep(visit func(*Step)) {
	s.walk(func(step *Step, _ string) { visit(step) })
}
