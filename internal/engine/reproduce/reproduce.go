package reproduce

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/internal/base/crash"
	"assay/internal/judge"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/target/transport"
	"assay/scenarios"
)

// Options configure reproducers. Judge, Run, Target and Clock are those of the run.
type Options struct {
	Judge  *judge.Judge
	Run    *bundle.Run
	Target *target.Target
	Clock  *transport.Clock
	// CACert is the file of --cacert, for the texts; Insecure skips certificate
	// verification.
	CACert   string
	Insecure bool
	// Again runs instances against the target again, with the seed of the run. It returns their observations in order, nil for those that could not run.
	Again func(context.Context, []scenarios.Instance) []*bundle.Observation
	// Reference returns a correct gateway. A text reproduces a failure only if it does not
	// show it there, and a smaller input counts only if the rule holds there. It is called
	// when the first failure has shown again.
	Reference func(context.Context) (*Reference, error)
	// Incomparable is set for a target that is no gateway: then a failure that shows again is
	// reproduced, without a reference.
	Incomparable bool
	// Causes are the causes of the run; the best evidence of each is tried first.
	Causes []bundle.Cause
	// Limit is the maximum number of failing instances to try, Budget the total time. The
	// others have untried texts. 0 tries nothing.
	Limit  int
	Budget time.Duration
}

// All writes the reproducers of the failures and tries as many as the limits allow: the
// best evidence of every cause first, then one instance of every other rule, then the
// second ones. It returns them in the order of scenarios, axes, rules and kinds. It never
// fails: a text that could not be tried says why.
func All(ctx context.Context, o Options, failures []Failure) []bundle.Reproducer {
	ctx, cancel := context.WithTimeout(ctx, max(o.Budget, 0))
	defer cancel()
	m := &maker{
		o: o, secrets: secretHeaders(o.Target.Headers("", ""), o.Target.Redactor()),
		seen: map[key]*bundle.Observation{}, right: map[key]*bundle.Observation{},
	}
	out := make([][]bundle.Reproducer, len(failures))
	first, rest := rounds(o.Causes, failures, o.Limit)
	for _, round := range [][]int{first, rest} {
		m.round(ctx, failures, round, out)
	}
	for i, f := range failures {
		if out[i] == nil {
			out[i] = m.untried(f, m.unchosen(f))
		}
	}
	all := slices.Concat(out...)
	for i := range all {
		all[i].Output = o.Target.Redactor().Text(all[i].Output) // a tool may quote the target
	}
	slices.SortStableFunc(all, func(a, b bundle.Reproducer) int {
		return cmp.Or(strings.Compare(a.Scenario, b.Scenario), strings.Compare(a.Axes.String(), b.Axes.String()),
			strings.Compare(a.Rule, b.Rule), strings.Compare(string(a.Kind), string(b.Kind)))
	})
	return all
}

// parallel is the number of failures tried at the same time.
const parallel = 4

// maker makes and tries the reproducers of a run.
type maker struct {
	o       Options
	secrets []secretHeader
	// seen holds the instances that ran again, right their observations on the reference
	// gateway if the failure showed.
	seen, right map[key]*bundle.Observation

	asking      sync.Mutex // guards the fields below
	reference   *Reference
	noReference error // why there is none
}

// round tries the failures with these indices and puts their reproducers into out.
func (m *maker) round(ctx context.Context, failures []Failure, numbers []int, out [][]bundle.Reproducer) {
	var round []Failure
	for _, i := range numbers {
		round = append(round, failures[i])
	}
	m.again(ctx, round)
	m.compare(ctx, round)
	var wait crash.Group
	defer wait.Wait()
	turn := make(chan struct{}, parallel)
	for n, i := range numbers {
		if m.seen[keyOf(round[n])] == nil {
			out[i] = m.untried(round[n], "not tried: "+noTime)
			continue
		}
		// One after the other: concurrent scenarios may change the verdict.
		f, replay := m.replayed(ctx, round[n])
		out[i] = []bundle.Reproducer{replay}
		wait.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			m.try(ctx, f, &out[i])
		})
	}
}

// again runs the instances of the failures that have not run again yet: the run itself has confirmed some of them, alone.
func (m *maker) again(ctx context.Context, failures []Failure) {
	if ctx.Err() != nil {
		return
	}
	for _, f := range failures {
		if c := f.Observation.Confirm; c != nil && c.Alone != nil && m.seen[keyOf(f)] == nil {
			m.seen[keyOf(f)] = c.Alone
		}
	}
	keys, instances := m.lacking(m.seen, failures)
	if len(keys) == 0 {
		return
	}
	for i, o := range m.o.Again(ctx, instances) {
		m.seen[keys[i]] = o
	}
}

// lacking returns the instances of the failures that are missing in a map, each once.
func (m *maker) lacking(in map[key]*bundle.Observation, failures []Failure) (keys []key, instances []scenarios.Instance) {
	for _, f := range failures {
		if k := keyOf(f); in[k] == nil && !slices.Contains(keys, k) {
			keys, instances = append(keys, k), append(instances, f.Instance)
		}
	}
	return keys, instances
}

// untried returns the texts of an untried failure, with the reason.
func (m *maker) untried(f Failure, why string) []bundle.Reproducer {
	all := []bundle.Reproducer{m.text(f, bundle.ReproduceReplay, m.replay(f), why)}
	s, err := sourceOf(f)
	if err == nil {
		all = append(all, m.written(s, why)...)
	}
	return all
}

// unchosen says why a failure is not tried.
func (m *maker) unchosen(f Failure) string {
	switch {
	case m.o.Limit == 0:
		return "not tried: --reproduce 0"
	case f.untriable() != "":
		return "not tried: " + f.untriable()
	}
	return fmt.Sprintf("not tried: the limit is %d failing scenarios", m.o.Limit)
}

// noTime is the reason when the time limit ends the trials.
const noTime = "the time for reproducers was spent"

// replay returns the command that runs a failure again. It requires the token in the
// environment if the run took it from there.
func (m *maker) replay(f Failure) string {
	named := slices.ContainsFunc(m.secrets, func(s secretHeader) bool { return s.variable == TokenVariable })
	if !named || slices.Contains(m.o.Run.Flags, "--token-file") {
		return f.Replay
	}
	return TokenVariable + `="` + required(TokenVariable) + `" ` + f.Replay
}

func (m *maker) text(f Failure, kind bundle.ReproducerKind, text, why string) bundle.Reproducer {
	return bundle.Reproducer{
		Schema: bundle.ReproducerSchema, Scenario: f.Observation.Scenario, Axes: f.Observation.Axes,
		Rule: f.Verdict.Rule, Kind: kind, Text: text, Output: why,
	}
}

// written returns the curl line or the script of a source, if it can have one. An embedded
// gateway has none, because it is gone after the run.
func (m *maker) written(s *source, why string) []bundle.Reproducer {
	if m.o.Run.Target.Embedded {
		return nil
	}
	kind, text, err := m.writtenFor(s, m.dialing())
	if err != nil {
		return nil
	}
	return []bundle.Reproducer{m.text(s.Failure, kind, text, why)}
}

// writtenFor returns the text of a source for one gateway.
func (m *maker) writtenFor(s *source, d Dialing) (bundle.ReproducerKind, string, error) {
	if text, err := s.curl(d, m.secrets); err == nil {
		return bundle.ReproduceCurl, text, nil
	}
	rule, source := m.ruleText(s.Verdict.Rule)
	text, err := s.script(d, m.secrets, s.about(rule, source, s.Verdict.Level))
	return bundle.ReproduceShell, text, err
}

func (m *maker) ruleText(id string) (text, source string) {
	for _, r := range m.o.Judge.Rules.Rules {
		if r.ID == id {
			return r.Text, strings.TrimSpace(r.Source + " " + r.Section)
		}
	}
	return "", ""
}
