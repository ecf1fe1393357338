package reproduce

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/internal/record/bundle"
	"assay/internal/record/surface"
	"assay/scenarios"
)

// alone reports why the bytes of the connection are not enough to show the failure: it
// needs a process that another call started, another response to compare with, or an
// earlier connection that was cut off. Only the replay performs every step.
func (s *source) alone() error {
	if s.it.Index > 0 && s.Instance.Scenario.Repeat.Times > 1 {
		return fmt.Errorf("the failure occurred in iteration %d, but not in all", s.it.Index)
	}
	if s.x == nil {
		return nil
	}
	if why := s.judgedWith(); why != nil {
		return why
	}
	if why := s.beside(); why != nil {
		return why
	}
	return s.before()
}

// judgedWith reports a clause of the rule that compares the response with anything
// outside it.
func (s *source) judgedWith() error {
	for i := range s.Instance.Scenario.Expect {
		c := &s.Instance.Scenario.Expect[i]
		if c.Rule != s.Verdict.Rule && (c.Rule != "" || !slices.Contains(s.Instance.Scenario.Rules, s.Verdict.Rule)) {
			continue
		}
		match, named := c.Subjects[s.x.Name]
		switch {
		case len(c.Orders) > 0:
			return errors.New("the rule is judged over many repetitions")
		case !named && slices.Contains(c.Parity, s.x.Name):
			return errors.New("its response is compared with responses to other calls")
		case !named && s.sequenced(c.Sequence):
			return errors.New("its time is compared with the time of other calls")
		case named && ofProcesses(match):
			return errors.New("its response must name processes that other calls started")
		}
	}
	return nil
}

// sequenced reports whether instants of the connection are compared with others.
func (s *source) sequenced(instants []string) bool {
	ours, theirs := false, false
	for _, instant := range instants {
		name, _, _ := strings.Cut(instant, ".")
		if s.named(name) {
			ours = true
		} else {
			theirs = true
		}
	}
	return ours && theirs
}

// ofProcesses reports whether a matcher names processes of the script.
func ofProcesses(m *scenarios.Match) bool {
	if len(m.Lists)+len(m.NotLists) > 0 {
		return true
	}
	text, err := json.Marshal(m)
	return err != nil || strings.Contains(string(text), ".pid}") || strings.Contains(string(text), ".tag}")
}

// beside reports that other calls ran at the same time: alone the call may succeed.
func (s *source) beside() error {
	var why error
	s.Instance.Scenario.EachStep(func(st *scenarios.Step) {
		if len(st.Parallel) > 0 && strings.HasPrefix(s.x.Step, st.At+".") {
			why = errors.New("other calls ran at the same time")
		}
	})
	return why
}

// before reports effects of earlier connections that the call may depend on.
func (s *source) before() error {
	looks, tagged := looksAtProcesses(s.x), s.tagged()
	for i := range s.it.Exchanges {
		x := &s.it.Exchanges[i]
		if x.Conn == s.conn.ID || x.Housekeeping() || !x.Invoked.Before(s.x.Invoked) {
			continue
		}
		switch {
		case startsProcess(x) && looks:
			return fmt.Errorf("the call looks at processes, and %s had started one", x.Name)
		case startsProcess(x) && tagged:
			return fmt.Errorf("the call uses a tag, and %s had started a process before", x.Name)
		case x.Aborted && x.Returned != nil && x.Returned.Before(s.x.Invoked):
			return fmt.Errorf("%s had been cut off before", x.Name)
		}
	}
	for i := range s.it.Conns {
		c := &s.it.Conns[i]
		if c.ID != s.conn.ID && c.Ended != nil && c.Ended.By == "us" && c.Ended.How != "fin" && c.Ended.At.Before(s.x.Invoked) {
			return errors.New("another connection had been cut off before")
		}
	}
	return nil
}

// startsProcess reports whether a call starts a process.
func startsProcess(x *bundle.Exchange) bool {
	return x.Op == bundle.OpStart || strings.HasSuffix(x.RPC, "/Start") || x.Surface == surface.Commands && x.Shape == bundle.ShapeNDJSON
}

// looksAtProcesses reports whether the response to a call depends on the existing
// processes.
func looksAtProcesses(x *bundle.Exchange) bool {
	if x.Surface == surface.Metrics {
		return true
	}
	service, _, isProcess := strings.Cut(x.RPC, "/")
	return isProcess && strings.HasSuffix(service, "process.Process") && !startsProcess(x) ||
		x.Surface == surface.Commands && !startsProcess(x)
}

// tagged reports whether the call starts a process under a tag.
func (s *source) tagged() bool {
	st := s.step()
	switch {
	case st == nil:
		return false
	case st.Start != nil:
		return st.Start.Tag != nil
	case st.Send != nil:
		message, ok := st.Send.Message.(map[string]any)
		return ok && message["tag"] != nil
	}
	return false
}
