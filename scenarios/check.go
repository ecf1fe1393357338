package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// checker holds the state that the checks of one script share.
type checker struct {
	*document
	s     *Scenario
	names []string // of exchanges
	conns []string
	procs []string
	twice []string // names already reported as duplicates
}

// checkBytes reports an error in b, and counts what it generates.
func (c *checker) checkBytes(place string, b Bytes) {
	if err := b.check(); err != nil {
		c.errorf(c.at(place), "", "%v", err)
		return
	}
	c.s.GeneratedEach += b.generated()
}

// checkGenerated limits what all byte strings of the script generate together.
func (c *checker) checkGenerated() {
	if c.s.Generated() <= maxResolved {
		return
	}
	mend := ""
	if n := c.s.Repeat.Parallel; n > 1 {
		mend = fmt.Sprintf("lower repeat.parallel: %d iterations run at one time", n)
	}
	c.errorf(c.at("/id"), mend, "the byte strings of this script generate more than %d bytes in all", maxResolved)
}

// checkScenario reports the errors that the schema cannot express.
func checkScenario(s *Scenario, d *document) {
	c := &checker{document: d, s: s, conns: s.connections()}
	if len(s.Steps) == 0 {
		c.errorf(c.at("/id"), "add send, or steps", "the script does nothing")
	}
	c.checkNames()
	if len(s.Permutations()) == 0 {
		c.errorf(c.at("/axes"), "add http: h2c", "gRPC needs HTTP/2, and the axes have HTTP/1.1 only")
	}
	s.EachStep(c.checkStep)
	c.checkSweep()
	c.checkLists()
	for i := range s.Expect {
		c.checkClause(i)
	}
	c.checkGenerated()
}

func (c *checker) checkNames() {
	first := map[string]*Step{}
	for _, e := range c.s.Exchanges() {
		place := c.stepSource(e.Step)
		if e.Name == "stream" {
			c.errorf(c.at(place), "", "no exchange can be called stream: in an expectation, stream means the exchange of a send")
		}
		if other := first[e.Name]; other != nil && (e.Explicit || c.explicit(other)) {
			c.errorf(c.at(place), fmt.Sprintf("the first is on line %d", other.Line), "a second exchange is called %q", e.Name)
			c.twice = append(c.twice, e.Name)
		}
		if first[e.Name] == nil {
			first[e.Name] = e.Step
		}
		c.names = append(c.names, e.Name)
		if e.Process {
			c.procs = append(c.procs, e.Name)
		}
	}
	for _, name := range c.conns {
		if first[name] != nil {
			c.errorf(c.at("/steps"), "", "a connection and an exchange are both called %q", name)
		}
	}
}

func (c *checker) explicit(s *Step) bool {
	e, _ := s.exchange()
	return e.Explicit
}

// stepSource returns the place of the step's kind in the file.
func (c *checker) stepSource(s *Step) string {
	if c.nodes["/steps"] == nil && c.nodes["/send"] != nil {
		return "/send"
	}
	base := s.source()
	if n := c.nodes[base]; n != nil && n.Kind == yaml.MappingNode && len(n.Content) > 0 {
		return base + "/" + n.Content[0].Value
	}
	return base
}

// unique reports a reference to a name that several exchanges have.
func (c *checker) unique(place, name string) {
	n := 0
	for _, other := range c.names {
		if other == name {
			n++
		}
	}
	if n > 1 && !slices.Contains(c.twice, name) {
		c.errorf(c.key(place), "give each of them an `as`", "%d exchanges are called %q", n, name)
	}
}

// refer checks that the name in a step is known.
func (c *checker) refer(place, name, what string, known ...[]string) {
	all := slices.Concat(known...)
	if name != "" && !slices.Contains(all, name) {
		hint := didYouMean(name, all)
		if hint == "" && len(all) > 0 {
			hint = "there are: " + strings.Join(all, ", ")
		}
		c.errorf(c.at(place), hint, "no step makes %s %q", what, name)
		return
	}
	c.unique(place, name)
}

// checkSweep checks that offsets use variables of the sweep, and that every variable is used.
func (c *checker) checkSweep() {
	used := map[string]bool{}
	c.s.EachStep(func(step *Step) {
		if step.Race == nil {
			return
		}
		name, variable := strings.CutPrefix(step.Race.Offset, "$")
		if !variable {
			return
		}
		used[name] = true
		if _, ok := c.s.Sweep[name]; !ok {
			c.errorf(c.at(step.source()+"/race/offset"), "add sweep: {"+name+": -2rtt..+2rtt}", "the sweep has no variable $%s", name)
		}
	})
	for name := range c.s.Sweep {
		if !used[name] {
			c.errorf(c.key("/sweep/"+name), "", "no race uses $%s", name)
		}
	}
}

func (c *checker) checkLists() {
	for i, f := range c.s.Needs {
		place := c.listed("/needs", i)
		if slices.Contains(c.s.Needs[:i], f) {
			c.errorf(place, "", "the feature %q is listed twice", f)
		}
		checkFeature(c.document, place, f)
	}
	for i, r := range c.s.Rules {
		if slices.Contains(c.s.Rules[:i], r) {
			c.errorf(c.listed("/rules", i), "", "the rule %q is listed twice", r)
		}
	}
}
