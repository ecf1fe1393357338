package diff

import (
	"maps"
	"slices"
	"strconv"

	"assay/internal/record/bundle"
)

// changes collects changes, place by place.
type changes struct {
	d        *bundle.Diff
	old, now map[place]bundle.ScenarioResult
}

// scenario compares the scenario at one place.
func (c *changes) scenario(k place) {
	was, had := c.old[k]
	now, has := c.now[k]
	switch {
	case !had:
		addScenario(&c.d.New, k, now.Verdict)
		return
	case !has:
		addScenario(&c.d.Vanished, k, was.Verdict)
		return
	}
	old, cur := rules(was), rules(now)
	for _, id := range slices.Sorted(maps.Keys(union(old, cur))) {
		c.rule(k, old[id], cur[id], now.Replay)
	}
}

func rules(s bundle.ScenarioResult) map[string]bundle.RuleVerdict {
	all := map[string]bundle.RuleVerdict{}
	for _, v := range s.Rules {
		all[v.ID] = v
	}
	return all
}

// rule compares one rule at one place; the zero verdict means that it was not judged.
func (c *changes) rule(k place, was, now bundle.RuleVerdict, replay string) {
	if was.Verdict == now.Verdict {
		if was.Seen != now.Seen {
			v := bundle.SeenChange{Rule: now.ID, Scenario: k.scenario, Axes: []string{}, Was: was.Seen, Now: now.Seen}
			note(&c.d.Seen, k, v, func(o *bundle.SeenChange) *[]string { return &o.Axes }, func(o *bundle.SeenChange) bool {
				return o.Rule == v.Rule && o.Scenario == v.Scenario && o.Was == v.Was && o.Now == v.Now
			})
		}
		return
	}
	v := bundle.VerdictChange{
		Rule: now.ID, Level: now.Level, Scenario: k.scenario, Axes: []string{},
		Was: was.Verdict, Now: now.Verdict, Message: now.Message, Replay: replay,
	}
	if now.ID == "" {
		v.Rule, v.Level = was.ID, was.Level
	}
	if v.Was == "" && holds(v.Now) || v.Now == "" && holds(v.Was) {
		return // a standing rule that newly applies and holds is not a change
	}
	note(list(c.d, v), k, v, func(o *bundle.VerdictChange) *[]string { return &o.Axes }, func(o *bundle.VerdictChange) bool {
		return o.Rule == v.Rule && o.Scenario == v.Scenario && o.Was == v.Was && o.Now == v.Now
	})
}

// list returns the list of a comparison to which a change belongs.
func list(d *bundle.Diff, v bundle.VerdictChange) *[]bundle.VerdictChange {
	switch {
	case Worse(v.Was, v.Now):
		return &d.Regressions
	case better(v.Was, v.Now):
		return &d.Fixes
	}
	return &d.Changes
}

// trouble orders verdicts by severity: holds, an allowed breach, a broken should or may,
// unknown, a broken must.
func trouble(c bundle.Conclusion) int {
	switch c {
	case bundle.Pass, bundle.UnexpectedPass, "":
		return 0
	case bundle.Deviation, bundle.KnownFailure:
		return 1
	case bundle.Advisory:
		return 2
	case bundle.Unsupported, bundle.NotRun, bundle.Inconclusive:
		return 3
	default: // fail, flaky, error and unknown verdicts
		return 4
	}
}

// Worse reports whether a change of verdict is a regression: the severity increased, and
// the new verdict is neither allowed (a known failure, a deviation) nor skipped by choice
// (not-run). "" is a rule that was not judged.
func Worse(was, now bundle.Conclusion) bool {
	switch now {
	case bundle.KnownFailure, bundle.Deviation, bundle.NotRun, "":
		return false
	default:
		return trouble(now) > trouble(was)
	}
}

// unfinished adds a regression if B did not finish (interrupted, killed, a defect,
// inconclusive) but A did: its missing scenarios are not-run, which is not a regression by
// itself, but a gate must not pass.
func (c *changes) unfinished(a, b *bundle.Report) {
	var why string
	switch {
	case b.Interrupted && !a.Interrupted:
		why = "B was interrupted or killed before its end"
	case (b.Exit == 4 || b.Exit == 5) && a.Exit == 0:
		why = "B came to no verdict (exit " + strconv.Itoa(b.Exit) + ")"
	default:
		return
	}
	c.d.Regressions = append(c.d.Regressions, bundle.VerdictChange{
		Rule: "run.complete", Level: "must", Axes: []string{}, Was: bundle.Pass, Now: bundle.Inconclusive, Message: why + ": unobserved scenarios are not compared",
	})
}

// better reports whether a broken or unknown rule now holds or is only an advisory.
func better(was, now bundle.Conclusion) bool {
	switch was {
	case bundle.Unsupported, bundle.NotRun, "":
		return false
	default:
	}
	return (holds(now) || now == bundle.Advisory) && trouble(now) < trouble(was)
}

func holds(c bundle.Conclusion) bool { return c == bundle.Pass || c == bundle.UnexpectedPass }

func addScenario(to *[]bundle.DiffScenario, k place, verdict bundle.Conclusion) {
	note(to, k, bundle.DiffScenario{ID: k.scenario, Axes: []string{}, Verdict: verdict},
		func(o *bundle.DiffScenario) *[]string { return &o.Axes },
		func(o *bundle.DiffScenario) bool { return o.ID == k.scenario && o.Verdict == verdict })
}

// note adds an entry about a place to a list, or the axes of the place to an equal entry. The whole run has no axes.
func note[T any](to *[]T, k place, entry T, axes func(*T) *[]string, equal func(*T) bool) {
	i := slices.IndexFunc(*to, func(o T) bool { return equal(&o) })
	if i < 0 {
		*to, i = append(*to, entry), len(*to)
	}
	if of := axes(&(*to)[i]); k.axes != "" {
		*of = append(*of, k.axes)
	}
}
