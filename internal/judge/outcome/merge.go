package outcome

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/internal/bundle"
	"assay/internal/judge/known"
	"assay/internal/judge/phrase"
	"assay/scenarios"
)

// Shard is one part of a run that was split: a bundle with its verdicts.
type Shard struct {
	Name         string // of its directory, for messages
	Run          *bundle.Run
	Observations []*bundle.Observation
	Verdicts     []bundle.Verdict
	Report       *bundle.Report
}

// ShardError says that two shards are not of one run.
type ShardError struct {
	One, Other string // their names
	Why        string
}

// Error names both.
func (e *ShardError) Error() string {
	return fmt.Sprintf("%s and %s are not shards of one run: %s", e.One, e.Other, e.Why)
}

// Merge puts the reports of shards together: the same program ran disjoint
// scenarios against the same target, held against the same profile. Counts, rules
// and exit code are those of all verdicts; of what spans the run the worst counts;
// the duration is the sum. The list of known failures is judged once,
// against all shards: it is enough that one of them has what an entry names. Two shards that contradict each other are a *ShardError.
// One shard is its own report.
func Merge(cat *scenarios.Catalogue, list *scenarios.Known, shards []Shard) (*bundle.Report, error) {
	first := shards[0]
	if len(shards) == 1 {
		return first.Report, nil
	}
	seen := map[instance]int{} // by which shard
	merged := *first.Report
	merged.Scenarios, merged.Notes, merged.DurationMS = nil, nil, 0
	var verdicts, spanning []bundle.Verdict
	var ofRun []bundle.RuleVerdict
	var names, ids []string
	for n, s := range shards {
		if why := unlike(&first, &s); why != "" {
			return nil, &ShardError{first.Name, s.Name, why}
		}
		for i := range s.Report.Scenarios {
			r := &s.Report.Scenarios[i]
			k := instance{r.ID, r.Axes}
			if other, twice := seen[k]; twice && other != n {
				return nil, &ShardError{shards[other].Name, s.Name, fmt.Sprintf("both have %s [%s]", phrase.Clip(r.ID), phrase.Clip(r.Axes.String()))}
			}
			seen[k] = n
			merged.Scenarios = append(merged.Scenarios, *r)
		}
		for i := range s.Verdicts {
			switch v := s.Verdicts[i]; {
			case v.Scenario != "":
				verdicts = append(verdicts, v)
			case !known.IsRule(v.Rule):
				spanning = append(spanning, v)
			}
		}
		for _, v := range s.Report.RunRules {
			if !known.IsRule(v.ID) {
				ofRun = append(ofRun, v)
			}
		}
		names, ids = append(names, s.Name), append(ids, s.Report.Run)
		if n > 0 {
			merged.Scope = addScope(merged.Scope, s.Report.Scope)
		}
		merged.Notes = append(merged.Notes, s.Report.Notes...)
		merged.DurationMS += s.Report.DurationMS
		merged.Interrupted = merged.Interrupted || s.Report.Interrupted
		if merged.Died == nil {
			merged.Died = s.Report.Died
		}
	}
	listed := knownListOf(list, shards, verdicts)
	spanning, ofRun = append(spanning, listed...), append(ofRun, runRules(cat, listed)...)
	verdicts = append(verdicts, worstOf(spanning, func(v *bundle.Verdict) (string, bundle.Conclusion) { return v.Rule, v.Conclusion })...)
	merged.RunRules = worstOf(ofRun, func(v *bundle.RuleVerdict) (string, bundle.Conclusion) { return v.ID, v.Verdict })
	merged.Run = strings.Join(ids, "+")
	merged.Notes = append(merged.Notes, fmt.Sprintf("put together from %d shards: %s", len(shards), strings.Join(names, ", ")))
	merged.Causes = Causes(first.Run, cat, verdicts)
	total(&merged, verdicts)
	return &merged, nil
}

// knownListOf judges the list of known failures against all shards, by the day on
// which the last of them began. verdicts are those of their scenarios.
func knownListOf(list *scenarios.Known, shards []Shard, verdicts []bundle.Verdict) []bundle.Verdict {
	var whole bundle.Run
	var obs []*bundle.Observation
	for _, s := range shards {
		if s.Run.Started.After(whole.Started) {
			whole.Started = s.Run.Started
		}
		whole.Planned = append(whole.Planned, s.Run.Planned...)
		whole.LeftOut = append(whole.LeftOut, s.Run.LeftOut...)
		obs = append(obs, s.Observations...)
	}
	return known.List(list, &whole, obs, verdicts)
}

// total counts what a report holds, and concludes.
func total(r *bundle.Report, verdicts []bundle.Verdict) {
	slices.SortFunc(r.Scenarios, func(a, b bundle.ScenarioResult) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Axes.String(), b.Axes.String()))
	})
	r.Counts = map[bundle.Conclusion]int{}
	for _, c := range bundle.Conclusions() {
		r.Counts[c] = 0
	}
	for i := range r.Scenarios {
		r.Counts[r.Scenarios[i].Verdict]++
	}
	r.Rules = ruleResults(verdicts)
	r.Exit = exitCode(r, verdicts)
	r.Verdict = runVerdict(r, verdicts)
}

// worstOf keeps one verdict of each rule, the worst; sorted by rule.
func worstOf[T any](all []T, of func(*T) (rule string, c bundle.Conclusion)) []T {
	slices.SortStableFunc(all, func(a, b T) int {
		ruleA, worseA := of(&a)
		ruleB, worseB := of(&b)
		return cmp.Or(cmp.Compare(ruleA, ruleB), cmp.Compare(worseB.Rank(), worseA.Rank()))
	})
	return slices.CompactFunc(all, func(a, b T) bool {
		ruleA, _ := of(&a)
		ruleB, _ := of(&b)
		return ruleA == ruleB
	})
}

// unlike says why two bundles are not of one run, "" when they may be. Each shard
// of the embedded gateway has one of its own, on a port of its own.
func unlike(a, b *Shard) string {
	differ := func(what, one, other string) string {
		return fmt.Sprintf("the %s is %q in one and %q in the other", what, phrase.Clip(one), phrase.Clip(other))
	}
	ra, rb := a.Run, b.Run
	switch {
	case ra.Tool != rb.Tool:
		return differ("program", ra.Tool.Name+" "+ra.Tool.Version, rb.Tool.Name+" "+rb.Tool.Version)
	case ra.Target.Embedded != rb.Target.Embedded:
		return "only one is of the embedded gateway"
	case !ra.Target.Embedded && ra.Target.URL != rb.Target.URL:
		return differ("target", ra.Target.URL, rb.Target.URL)
	case ra.Profile != rb.Profile:
		return differ("profile", ra.Profile, rb.Profile)
	case ra.ProfileText != rb.ProfileText:
		return fmt.Sprintf("profile %s has another text in each", phrase.Clip(ra.Profile))
	case ra.Strict != rb.Strict:
		return "only one was run with --strict"
	case ra.RulesText != rb.RulesText:
		return "the rules that came with the scripts are not the same"
	case ra.KnownText != rb.KnownText:
		return "the lists of known failures are not the same"
	}
	return ""
}
