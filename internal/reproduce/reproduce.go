package reproduce

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/internal/bundle"
	"assay/internal/judge"
	"assay/internal/target"
	"assay/internal/transport"
	"assay/scenarios"
)

// Options say how reproducers are made and tried. Judge, Run, Target and Clock are
// those of the run.
type Options struct {
	Judge  *judge.Judge
	Run    *bundle.Run
	Target *target.Target
	Clock  *transport.Clock
	// CACert is the file that was named as --cacert, for the texts; Insecure that
	// no certificate is checked.
	CACert   string
	Insecure bool
	// Again runs instances against the target once more, with the seed of the run,
	// and returns their observations in order.
	Again func(context.Context, []scenarios.Instance) []*bundle.Observation
	// Reference gives a gateway that is known to be correct. A text shows a failure
	// when it does not show it there as well, and a smaller input counts only when
	// the rule holds there. It is asked for when the first failure has shown again.
	Reference func(context.Context) (*Reference, error)
	// Causes are those of the run: the best evidence of each is tried first.
	Causes []bundle.Cause
	// Limit is how many failing instances are tried at most, and Budget for how long
	// in all; what is not tried has its texts all the same. 0 tries nothing.
	Limit  int
	Budget time.Duration
}

// All makes the reproducers of the failures and tries as many as the bounds allow:
// the best evidence of every cause first, then an instance of every other rule, and
// then the second of any. It returns them in the order of scenarios, axes, rules
// and kinds. It never fails: a text that could not be tried says why.
func All(ctx context.Context, o Options, failures []Failure) []bundle.Reproducer {
	ctx, cancel := context.WithTimeout(ctx, max(o.Budget, 0))
	defer cancel()
	m := &maker{
		o: o, secrets: secretHeaders(o.Target.Headers("", ""), o.Target.Secrets()),
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
	slices.SortStableFunc(all, func(a, b bundle.Reproducer) int {
		return cmp.Or(strings.Compare(a.Scenario, b.Scenario), strings.Compare(a.Axes.String(), b.Axes.String()),
			strings.Compare(a.Rule, b.Rule), strings.Compare(string(a.Kind), string(b.Kind)))
	})
	return all
}

// parallel is how many failures are tried at the same time.
const parallel = 4

// maker makes and tries the reproducers of a run.
type maker struct {
	o       Options
	secrets []secretHeader
	// seen are the instances that were run again, right what the reference gateway
	// answered to those whose failure showed.
	seen, right map[key]*bundle.Observation

	asking      sync.Mutex // guards what follows
	reference   *Reference
	noReference error // why there is none
}

// round tries the failures with those numbers and puts their reproducers into out.
func (m *maker) round(ctx context.Context, failures []Failure, numbers []int, out [][]bundle.Reproducer) {
	var round []Failure
	for _, i := range numbers {
		round = append(round, failures[i])
	}
	m.again(ctx, round)
	m.compare(ctx, round)
	var wait sync.WaitGroup
	defer wait.Wait()
	turn := make(chan struct{}, parallel)
	for n, i := range numbers {
		if m.seen[keyOf(round[n])] == nil {
			out[i] = m.untried(round[n], "not tried: "+noTime)
			continue
		}
		// One after the other: what runs beside a scenario may change its verdict.
		f, replay := m.replayed(ctx, round[n])
		out[i] = []bundle.Reproducer{replay}
		wait.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			m.try(ctx, f, &out[i])
		})
	}
}

// again runs the instances of the failures that have not been run again yet.
func (m *maker) again(ctx context.Context, failures []Failure) {
	if ctx.Err() != nil {
		return
	}
	keys, instances := m.lacking(m.seen, failures)
	if len(keys) == 0 {
		return
	}
	for i, o := range m.o.Again(ctx, instances) {
		m.seen[keys[i]] = o
	}
}

// lacking are the instances of the failures that are not in a map, each once.
func (m *maker) lacking(in map[key]*bundle.Observation, failures []Failure) (keys []key, instances []scenarios.Instance) {
	for _, f := range failures {
		if k := keyOf(f); in[k] == nil && !slices.Contains(keys, k) {
			keys, instances = append(keys, k), append(instances, f.Instance)
		}
	}
	return keys, instances
}

// untried are the texts of a failure that was not tried, with the reason.
func (m *maker) untried(f Failure, why string) []bundle.Reproducer {
	all := []bundle.Reproducer{m.text(f, bundle.ReproduceReplay, m.replay(f), why)}
	s, err := sourceOf(f)
	if err == nil {
		all = append(all, m.written(s, why)...)
	}
	return all
}

// unchosen says why a failure is not among those that are tried.
func (m *maker) unchosen(f Failure) string {
	switch {
	case m.o.Limit == 0:
		return "not tried: not asked for"
	case f.Instance.Scenario.Destructive:
		return "not tried: it may kill the target"
	}
	return fmt.Sprintf("not tried: at most %d failing scenarios are", m.o.Limit)
}

// noTime is why a failure is not tried any more.
const noTime = "the time for reproducers was spent"

// replay is the command that runs a failure again. Where the token comes from the
// environment, it is demanded there.
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

// written are the curl line or the script of a source, where it can have one; an
// embedded gateway is gone when the run has ended, so that nobody could use them.
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

// writtenFor is the text of a source for one gateway.
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
