package selftest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"assay/fakes/zoo"
	"assay/internal/bundle"
	"assay/scenarios"
)

// baseline holds the results of the reference gateway: only verdicts that pass there count.
type baseline struct {
	run      *bundle.Run
	verdicts verdicts
	took     map[scenarios.Instance]time.Duration
	bytes    map[scenarios.Instance]int64
}

// passed reports whether the reference passed.
func (b *baseline) passed(k key) bool { return b.verdicts[k].Conclusion == bundle.Pass }

// reference runs everything against the reference gateway. Scenarios that do not pass, for
// example because the machine paused, run again alone: without a pass they could detect nothing.
func (t *tester) reference(ctx context.Context) (*baseline, error) {
	g, err := t.open(ctx, zoo.Options{}, nil)
	if err != nil {
		return nil, err
	}
	defer g.close()
	b := &baseline{run: g.run, took: g.took, bytes: g.bytes}
	if b.verdicts, err = g.learn(ctx, t.all); err != nil {
		return nil, err
	}
	return b, t.secure(ctx, b)
}

// learn runs instances on a reference gateway and returns the verdicts. Instances that do not pass run again.
func (g *gateway) learn(ctx context.Context, instances []scenarios.Instance) (verdicts, error) {
	known := verdicts{}
	for n, left := 0, instances; n < attempts && len(left) > 0; n++ {
		again := map[key]bool{}
		err := g.exercise(ctx, left, func(k key, v bundle.Verdict) bool {
			if n == 0 || k.scenario != "" && known[k].Conclusion != bundle.Pass {
				known[k] = v
			}
			if !final(v.Conclusion) {
				again[key{scenario: k.scenario, axes: k.axes}] = true
			}
			return false
		})
		if err != nil {
			return nil, err
		}
		left = among(left, again)
	}
	return known, nil
}

// secure runs what needs a token against a reference gateway that requires one.
func (t *tester) secure(ctx context.Context, b *baseline) error {
	left := slices.DeleteFunc(slices.Clone(t.all), func(i scenarios.Instance) bool {
		return !slices.Contains(i.Needs(), featureToken) && !slices.Contains(i.Needs(), featureSigned)
	})
	if len(left) == 0 {
		return nil
	}
	o := zoo.Options{}
	o.Token = token
	g, err := t.open(ctx, o, b.run)
	if err != nil {
		return err
	}
	defer g.close()
	known, err := g.learn(ctx, left)
	for k, v := range known {
		if k.scenario != "" {
			b.verdicts[k] = v
		}
	}
	maps.Copy(b.took, g.took)
	maps.Copy(b.bytes, g.bytes)
	return err
}

// final reports whether a conclusion on the reference gateway is final.
func final(c bundle.Conclusion) bool {
	return c == bundle.Pass || c == bundle.Unsupported || c == bundle.NotRun
}

// sampled is the number of scenarios per rule to try before all others.
const sampled = 6

// candidates returns the instances that judged one of the rules on the reference gateway with a
// pass: those of scripts that prove it and, for a standing rule, all to which it applied. sample
// has some for each rule, scripts that prove it and different axes first; rest has the others.
func (t *tester) candidates(rules []string) (sample, rest []scenarios.Instance) {
	for _, rule := range rules {
		var on []scenarios.Instance
		for _, i := range t.all {
			if t.baseline.passed(key{i.Scenario.ID, i.Axes, rule}) {
				on = append(on, i)
			}
		}
		slices.SortStableFunc(on, func(a, b scenarios.Instance) int {
			return cmp.Or(cmp.Compare(effort(a, rule), effort(b, rule)), cmp.Compare(t.baseline.took[a], t.baseline.took[b]))
		})
		seen := map[bundle.Axes]int{}
		for _, i := range on {
			switch {
			case slices.Contains(sample, i):
			case len(seen) < sampled && seen[i.Axes] == 0, seen[i.Axes] == 1 && len(seen) < 2:
				sample = append(sample, i)
			default:
				rest = append(rest, i)
			}
			seen[i.Axes]++
		}
	}
	return sample, unique(without(rest, sample))
}

// without returns the instances of list that are not in other.
func without(list, other []scenarios.Instance) []scenarios.Instance {
	return slices.DeleteFunc(slices.Clone(list), func(i scenarios.Instance) bool { return slices.Contains(other, i) })
}

// effort orders instances: scripts that name the rule first, scripts that repeat their steps or
// run alone last.
func effort(i scenarios.Instance, rule string) int {
	n := 0
	if !slices.Contains(i.Scenario.Rules, rule) {
		n += 4
	}
	if i.Scenario.Exclusive {
		n++
	}
	if i.Scenario.Repeat.Times > 1 {
		n += 2
	}
	return n
}

func unique(list []scenarios.Instance) []scenarios.Instance {
	var out []scenarios.Instance
	for _, i := range list {
		if !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	return out
}

// Every gateway runs all light scenarios, which take less than costly on the reference and transfer fewer bytes than
// heavy. One scenario in ten is not light, and these take nine tenths of the CPU time.
const (
	costly = time.Second
	heavy  = 64 << 10
)

// kinds are the first words of the ids of scenarios about a surface of its own, with the first word of
// the kind. All other scenarios are about processes, whose kind is "".
var kinds = map[string]string{
	"stdio": "stdio", "execute": "execute", "control": "control",
	"filesystem": "files", "files": "files", "sandbox": "files",
}

// kindOf returns the kind of a scenario or a rule.
func kindOf(id string) string {
	word, _, _ := strings.Cut(id, ".")
	return kinds[word]
}

// kindOfVariant returns the kind of the scenarios that a variant is about.
func kindOfVariant(v zoo.Variant) string {
	if strings.HasPrefix(v.ID, "stdio-") {
		return kinds["stdio"]
	}
	return kinds[v.Area]
}

// once returns each scenario on one of its sets of axes, which depends on the turn; of those that
// are not light, or of another kind, one in share.
func (b *baseline) once(all []scenarios.Instance, kind string, turn, share int) []scenarios.Instance {
	by := map[*scenarios.Scenario][]scenarios.Instance{}
	var order []*scenarios.Scenario
	for _, i := range all {
		if by[i.Scenario] == nil {
			order = append(order, i.Scenario)
		}
		by[i.Scenario] = append(by[i.Scenario], i)
	}
	out := make([]scenarios.Instance, 0, len(order))
	for n, s := range order {
		i := by[s][(turn+n)%len(by[s])]
		switch {
		case b.took[i] < costly && b.bytes[i] < heavy && kindOf(s.ID) == kind:
			out = append(out, i)
		case turn%share == n%share:
			out = append(out, by[s][(turn/share+n)%len(by[s])])
		}
	}
	return out
}

// A gateway runs one in this many of the scenarios that are not light.
const (
	variantShare = 3
	faultShare   = 8
)

// part returns the instances for blaming a fault: the sample that should detect it, and each
// scenario on one set of axes.
func (t *tester) part(kind string, sample []scenarios.Instance, turn int) []scenarios.Instance {
	return unique(append(slices.Clone(sample), t.baseline.once(t.all, kind, turn, faultShare)...))
}
