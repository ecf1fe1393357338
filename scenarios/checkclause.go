package scenarios

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// checkClause checks the i-th clause: its rule, the exchanges that it names, its patterns.
func (c *checker) checkClause(i int) {
	cl := &c.s.Expect[i]
	at := fmt.Sprintf("/expect/%d", i)
	if _, ok := c.nodes[at]; !ok {
		at = "/expect"
	}
	c.checkClauseRule(at, cl)
	for _, name := range slices.Sorted(maps.Keys(cl.Subjects)) {
		c.checkSubject(at, name, cl.Subjects[name])
	}
	for _, o := range cl.Orders {
		place := at + "/orders/" + o.Name
		if len(o.Subjects) == 0 {
			c.errorf(c.at(place), "", "the order %q names no exchange, so it matches anything", o.Name)
		}
		for _, name := range slices.Sorted(maps.Keys(o.Subjects)) {
			c.checkSubject(place, name, o.Subjects[name])
		}
	}
	for j, name := range cl.Parity {
		c.checkNamed(fmt.Sprintf("%s/parity/%d", at, j), name)
	}
	for j, instant := range cl.Sequence {
		name, _, _ := strings.Cut(instant, ".")
		c.checkNamed(fmt.Sprintf("%s/sequence/%d", at, j), name)
	}
	c.checkMetrics(at+"/metrics", cl)
}

func (c *checker) checkClauseRule(at string, cl *Clause) {
	switch {
	case cl.Rule == "" && len(c.s.Rules) > 1:
		c.errorf(c.at(at), "the rules are "+strings.Join(c.s.Rules, ", "), "the clause must name its rule: the scenario has %d", len(c.s.Rules))
	case cl.Rule != "" && !slices.Contains(c.s.Rules, cl.Rule):
		c.errorf(c.at(at+"/rule"), didYouMean(cl.Rule, c.s.Rules), "the scenario does not list the rule %q", cl.Rule)
	}
}

// checkNamed checks that an expectation names exactly one exchange or connection of the script.
func (c *checker) checkNamed(place, name string) {
	known := slices.Concat(c.names, c.conns)
	if !slices.Contains(known, name) {
		hint := didYouMean(name, slices.Concat(known, clauseFields))
		if hint == "" {
			hint = "the steps make: " + strings.Join(known, ", ")
		}
		c.errorf(c.key(place), hint, "no step makes an exchange %q", name)
		return
	}
	c.unique(place, name)
}

// checkSubject checks one exchange of a clause and its match.
func (c *checker) checkSubject(at, name string, m *Match) {
	place := at + "/" + name
	for _, written := range []string{"stream", "each " + name, "each stream"} {
		if _, ok := c.nodes[place]; !ok {
			place = at + "/" + written
		}
	}
	c.checkNamed(place, name)
	c.checkMatch(place, m)
	names := map[string]bool{}
	for i := range m.Any {
		at := fmt.Sprintf("%s/any/%d", place, i)
		if names[m.Any[i].Name] {
			c.errorf(c.at(at), "", "two responses are called %q", m.Any[i].Name)
		}
		names[m.Any[i].Name] = true
		c.checkMatch(at, &m.Any[i].Match)
	}
}

func (c *checker) checkMatch(at string, m *Match) {
	if m == nil {
		return
	}
	if m.Events != "" {
		if _, err := CompileEvents(m.Events); err != nil {
			c.errorf(c.at(at+"/events"), "", "%v", err)
		}
	}
	if m.OK != nil && *m.OK && m.Error != nil {
		c.errorf(c.at(at), "", "a response cannot be ok and have an error")
	}
	for name, o := range map[string]*OutputMatch{"stdout": m.Stdout, "stderr": m.Stderr, "pty": m.PTY} {
		c.checkOutput(at+"/"+name, o)
	}
	for name, pattern := range m.HeaderMatches {
		c.checkRegexp(at+"/header-matches/"+name, pattern)
	}
	c.checkBody(at+"/body", m.Body)
	if m.Messages != nil {
		c.checkMessages(at+"/messages", m.Messages)
	}
	for field, list := range map[string][]string{"lists": m.Lists, "not-lists": m.NotLists} {
		for i, name := range list {
			place := fmt.Sprintf("%s/%s/%d", at, field, i)
			c.refer(place, name, "a process", c.procs)
		}
	}
}

func (c *checker) checkMessages(at string, m *MessagesMatch) {
	if m.Count != nil && len(m.All) > 0 && *m.Count != len(m.All) {
		c.errorf(c.at(at), "", "the count is %d, and all are %d", *m.Count, len(m.All))
	}
	all := at
	if _, mapping := c.nodes[at+"/all"]; mapping {
		all += "/all"
	}
	for i := range m.All {
		c.checkBody(fmt.Sprintf("%s/%d", all, i), &m.All[i])
	}
	for i := range m.Some {
		c.checkBody(fmt.Sprintf("%s/some/%d", at, i), &m.Some[i])
	}
	for i := range m.None {
		c.checkBody(fmt.Sprintf("%s/none/%d", at, i), &m.None[i])
	}
}

func (c *checker) checkBody(at string, m *BodyMatch) {
	if m == nil {
		return
	}
	c.checkRegexp(at+"/matches", m.Matches)
	for name, pattern := range m.Fields {
		if pattern != nil {
			c.checkRegexp(at+"/fields/"+name, *pattern)
		}
	}
	if m.Of != nil {
		c.checkBytes(at+"/of", *m.Of)
	}
	c.checkVars(at+"/json", m.JSON)
	c.checkVars(at+"/json-has", m.JSONHas)
	c.checkVars(at+"/json-list", m.JSONList)
}

func (c *checker) checkRegexp(at, pattern string) {
	if _, err := regexp.Compile(pattern); err != nil {
		c.errorf(c.at(at), "", "%q is not a regular expression: %v", pattern, err)
	}
}

func (c *checker) checkOutput(at string, o *OutputMatch) {
	if o == nil {
		return
	}
	c.checkRegexp(at+"/matches", o.Matches)
	for _, b := range []*Bytes{&o.Bytes, o.PrefixOf, o.SuffixOf} {
		if b == nil {
			continue
		}
		c.checkBytes(at, *b)
	}
}

// checkMetrics checks that nothing else can change the counters. A race has no fixed
// number of iterations: a change of `repeat.times` means one per iteration there, and
// no other number is accepted.
func (c *checker) checkMetrics(at string, cl *Clause) {
	if len(cl.Metrics) == 0 {
		return
	}
	if !c.s.Exclusive {
		c.errorf(c.key(at), "add exclusive: true", "other scenarios change the counters too, so a script that compares them must run alone")
	}
	if !slices.Contains(c.s.Needs, "metrics.prometheus") {
		c.errorf(c.key(at), "add needs: [metrics.prometheus]", "not every target has the counters")
	}
	if !c.hasOrders() {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(cl.Metrics)) {
		change := cl.Metrics[name]
		n, err := strconv.Atoi(change)
		switch {
		case err != nil || n == 0:
		case n == c.s.Repeat.Times:
			cl.Metrics[name] = "+n"
		default:
			c.errorf(c.at(at+"/"+name), "write +n for one per iteration", "a race has no fixed number of iterations, so the change %s cannot be known", change)
		}
	}
}

func (c *checker) hasOrders() bool {
	return slices.ContainsFunc(c.s.Expect, func(cl Clause) bool {
		return slices.ContainsFunc(cl.Orders, func(o Order) bool { return o.Min > 0 })
	})
}
