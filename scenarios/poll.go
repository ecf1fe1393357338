package scenarios

import (
	"fmt"
	"slices"
)

// Poll returns for how long the step repeats its request until the answer is what the clauses
// expect, zero for a step that makes it once.
func (s *Step) Poll() Span {
	switch {
	case s.List != nil:
		return s.List.Poll
	case s.Send != nil:
		return s.Send.Poll
	}
	return Span{}
}

// Expected returns the matches that clauses have for an exchange.
func (s *Scenario) Expected(name string) []*Match {
	var all []*Match
	for i := range s.Expect {
		if m := s.Expect[i].Subjects[name]; m != nil {
			all = append(all, m)
		}
	}
	return all
}

// lookRPCs are the procedures that read state. GetWatcherEvents is none: it takes the events away.
var lookRPCs = []string{"process.Process/List", "filesystem.Filesystem/Stat", "filesystem.Filesystem/ListDir"}

// looks reports whether the step, or one that runs concurrently in it, reads the state of the target and changes nothing.
func (s *Step) looks() bool {
	switch r := s.Send; {
	case r == nil:
		return s.List != nil || s.Scrape != nil || slices.ContainsFunc(s.Parallel, func(p Step) bool { return p.looks() })
	case r.RPC != "":
		return slices.Contains(lookRPCs, r.RPC)
	case r.JSON != nil, r.Body != nil, r.Multipart != nil:
		return false
	default:
		return r.Method == "" || r.Method == "GET" || r.Method == "HEAD"
	}
}

// checkPoll checks that a step can poll, and that a clause says for what.
func (c *checker) checkPoll(at string, s *Step) {
	if s.Poll().IsZero() {
		return
	}
	e, _ := s.exchange()
	call, _ := s.Call()
	place := c.key(at + "/" + call.Kind + "/poll")
	switch r := s.Send; {
	case !s.looks():
		c.errorf(place, "a list, a GET, or the call of List, Stat or ListDir", "only a request that changes nothing can be repeated")
	case s.Raced():
		c.errorf(place, "", "a side of a race makes its request once")
	case r != nil && (r.On != "" || r.Wait != "" || r.Finish != ""):
		c.errorf(place, "remove on, wait and finish", "a poll waits for whole responses, each on a connection of its own")
	case len(c.s.Expected(e.Name)) == 0:
		c.errorf(place, "add a clause about "+e.Name, "no clause says for what the poll waits")
	}
}

// lintPauses reports each pause in front of a look at state without a comment that says why. State that comes a moment
// later is polled: a pause is too short for a slow target, and too long for all others.
func lintPauses(s *Scenario, d *document) {
	for i := range len(s.Steps) - 1 {
		if s.Steps[i].Pause == nil || !s.Steps[i+1].looks() {
			continue
		}
		if n := d.at(fmt.Sprintf("/steps/%d/pause", i)); n.LineComment == "" {
			d.errorf(n, "give the next step poll: 3s+10rtt; or say behind the pause, after a #, why it must be one",
				"a pause in front of a look at state needs a reason")
		}
	}
}
