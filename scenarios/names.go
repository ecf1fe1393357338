package scenarios

import (
	"cmp"
	"strconv"
	"strings"
)

// Exchange is one exchange that the steps of a script make.
type Exchange struct {
	Name string
	// Step is the step that makes it.
	Step *Step
	// Explicit is set when the script gives the name (`as`, or a and b of a race).
	Explicit bool
	// Process is set when the step starts a process, so that `to` may name it.
	Process bool
}

// Exchanges lists the exchanges that the steps of one iteration make, in the
// order of the script. A response on a raw connection has the name of the connection.
func (s *Scenario) Exchanges() []Exchange {
	var all []Exchange
	s.EachStep(func(step *Step) {
		if e, ok := step.exchange(); ok {
			all = append(all, e)
		}
	})
	return all
}

// exchange returns the exchange that the step makes. Its name is the step's `as`, or a or
// b for a side of a race, or the kind of the step.
func (s *Step) exchange() (Exchange, bool) {
	call, ok := s.Call()
	if !ok {
		return Exchange{}, false
	}
	e := Exchange{Name: call.Kind, Step: s, Process: call.Starts}
	if name := cmp.Or(call.As, raceName(s.At)); name != "" {
		e.Name, e.Explicit = name, true
	}
	return e, true
}

// raceName returns a or b if the step is a side of a race itself, otherwise "".
func raceName(at string) string {
	for _, side := range []string{"a", "b"} {
		if strings.HasSuffix(at, ".race."+side) {
			return side
		}
	}
	return ""
}

// source returns the place of the step in the file: "/steps/1/race/a".
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
	s.EachStep(func(step *Step) {
		if step.Open != nil {
			names = append(names, step.Open.As)
		}
	})
	return names
}
