package judge

import (
	"fmt"
	"strconv"
	"strings"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// scene is one iteration of an observation with the context for judging it.
type scene struct {
	cal bundle.Calibration
	it  *bundle.Iteration
	// many is set if the observation has several iterations; messages then have its index.
	many bool
	// lag is the maximum delay of the driver's own timers, in nanoseconds; 0 if it was not measured.
	lag int64
	// cut is set if the run was interrupted: an exchange that Assay aborted proves nothing.
	cut bool
	// preconditions are the preconditions of the script; nil without a script.
	preconditions *preconditions
	blocked       *[]unmet // nil until unmetPreconditions is called
	// unknown is the last variable that an expectation names and that has no value.
	unknown string
}

// scenes returns the iterations of an observation. s may be nil where the script does not matter.
func scenes(s *scenarios.Scenario, run *bundle.Run, o *bundle.Observation) []*scene {
	var p *preconditions
	if s != nil {
		p = preconditionsOf(s)
	}
	all := make([]*scene, len(o.Iterations))
	for i := range o.Iterations {
		all[i] = &scene{
			cal: calibration(run), it: &o.Iterations[i], preconditions: p,
			many: len(o.Iterations) > 1, cut: o.Interrupted, lag: o.Lag,
		}
	}
	return all
}

func calibration(run *bundle.Run) bundle.Calibration {
	if run == nil {
		return bundle.Calibration{}
	}
	return run.Calibration
}

// unread says why Assay did not read all responses of the iteration; "" if it did. Nothing is
// known about what they would have caused.
func (s *scene) unread() string {
	for x := range bundle.Each(s.it.Exchanges) {
		if x.Unread != "" && !x.Housekeeping() {
			return "not judged: Assay stopped reading the response to " + called(x) + ": " + phrase.Clip(x.Unread)
		}
	}
	return ""
}

// subject returns the exchange of that name, or nil if its step never began. For a raw
// connection without a response it returns an exchange without one.
func (s *scene) subject(name string) *bundle.Exchange {
	if x := s.it.Exchange(name); x != nil {
		return x
	}
	for c := range bundle.Each(s.it.Conns) {
		if c.Name == name && name != "" {
			return silent(c)
		}
	}
	return nil
}

// silent returns an exchange that stands for a connection without a response.
func silent(c *bundle.Conn) *bundle.Exchange {
	x := &bundle.Exchange{ID: -1, Name: c.Name, Op: bundle.OpRaw, Conn: c.ID, Shape: bundle.ShapePlain, Invoked: c.Dialed}
	switch {
	case c.DialError != "":
		x.Outcome, x.Detail = bundle.OutcomeNoConnect, c.DialError
	case c.Ended == nil || c.Ended.By == "us":
		x.Outcome = bundle.OutcomeNoAnswer
	case c.Ended.How == "rst":
		x.Outcome, x.Detail = bundle.OutcomeReset, c.Ended.Err
	default:
		x.Outcome, x.Detail = bundle.OutcomeClosed, c.Ended.Err
	}
	if c.Ended != nil {
		x.Returned = &c.Ended.At
	}
	return x
}

// conn finds a connection by its id, or nil.
func (s *scene) conn(id int) *bundle.Conn {
	return bundle.Find(s.it.Conns, func(c *bundle.Conn) bool { return c.ID == id })
}

// pid returns the pid of a process by its name in the script, or 0 if it is unknown.
func (s *scene) pid(name string) uint32 {
	for p := range bundle.Each(s.it.Processes) {
		if p.Name == name && p.PID != 0 {
			return p.PID
		}
	}
	if n, err := strconv.ParseUint(s.it.Vars[name+".pid"], 10, 32); err == nil {
		return uint32(n)
	}
	if x := s.it.Exchange(name); x != nil {
		if start := x.First(bundle.EventStart); start != nil {
			return start.PID
		}
	}
	return 0
}

// expand replaces each ${name} with the value of the variable; unknown names stay unchanged.
func (s *scene) expand(text string) string {
	out, err := scenarios.Expand(text, func(name string) (string, bool) { return s.variable(name), true })
	if err != nil {
		return text
	}
	return out
}

func (s *scene) variable(name string) string {
	if v, ok := s.it.Vars[name]; ok {
		return v
	}
	if process, ok := strings.CutSuffix(name, ".pid"); ok {
		if pid := s.pid(process); pid != 0 {
			return strconv.FormatUint(uint64(pid), 10)
		}
	}
	if name == "iteration" {
		return strconv.Itoa(s.it.Index)
	}
	s.unknown = name
	return "${" + name + "}"
}

// at returns evidence that points at an exchange; x may be nil.
func (s *scene) at(x *bundle.Exchange, off int64) bundle.Evidence {
	e := nowhere()
	e.Iteration, e.Off = s.it.Index, off
	if x != nil {
		e.Exchange, e.Conn = x.ID, x.Conn
	}
	return e
}

// says puts the iteration and the subject in front of a message.
func (s *scene) says(subject, message string) string {
	if subject != "" && subject != "send" {
		message = subject + ": " + message
	}
	if s.many {
		message = fmt.Sprintf("iteration %d: %s", s.it.Index, message)
	}
	return message
}

// found returns a finding about an exchange; x may be nil.
func (s *scene) found(g grade, x *bundle.Exchange, format string, args ...any) finding {
	return finding{grade: g, message: fmt.Sprintf(format, args...), at: s.at(x, -1)}
}

// interrupted is the finding for an exchange that the end of the run cut; x may be nil.
func (s *scene) interrupted(x *bundle.Exchange) finding {
	return s.found(inconclusive, x, "interrupted")
}

// look is one exchange with the match that judges it.
type look struct {
	*scene
	m *scenarios.Match
	x *bundle.Exchange
}

// fails returns a breach with its message and body offset (-1 for none).
func (l *look) fails(off int64, format string, args ...any) finding {
	return finding{grade: violated, message: fmt.Sprintf(format, args...), at: l.at(l.x, off)}
}

// inconclusive returns a finding for missing evidence.
func (l *look) inconclusive(format string, args ...any) finding {
	return l.found(inconclusive, l.x, format, args...)
}

// toolError returns a finding for a defect of the script or of Assay.
func (l *look) toolError(format string, args ...any) finding {
	return l.found(toolError, l.x, format, args...)
}

// saw returns a finding that holds, with the observed legal response.
func saw(seen string) finding { return finding{seen: seen} }
