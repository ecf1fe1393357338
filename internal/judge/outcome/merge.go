package outcome

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/internal/judge/known"
	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// Shard is one part of a split run: a bundle with its verdicts.
type Shard struct {
	Name         string // its directory, for messages
	Run          *bundle.Run
	Observations []*bundle.Observation
	Verdicts     []bundle.Verdict
	Report       *bundle.Report
}

// ShardError reports two shards that do not belong to one run.
type ShardError struct {
	One, Other string // their names
	Why        string
}

// Error names both shards and the reason.
func (e *ShardError) Error() string {
	return fmt.Sprintf("%s and %s are not shards of one run: %s", e.One, e.Other, e.Why)
}

// Merge merges the reports of shards: the same program ran disjoint scenarios against the same
// target with the same profile. Counts, rules and exit code follow from all verdicts, each rule
// about the whole run has its worst verdict, and the duration is the sum. The list of known
// failures is judged once against all shards: an entry must match in at least one. Shards that
// contradict each other are a *ShardError. If a shard of a split by --shard is missing, the report is
// at best inconclusive. The report of a single shard is returned unchanged.
func Merge(cat *scenarios.Catalogue, list *scenarios.Known, shards []Shard) (*bundle.Report, error) {
	first := shards[0]
	if len(shards) == 1 {
		return first.Report, nil
	}
	seen := map[instance]int{} // index of its shard
	merged := *first.Report
	merged.Scenarios, merged.Notes, merged.DurationMS = nil, nil, 0
	var verdicts, spanning []bundle.Verdict
	var ofRun []bundle.RuleVerdict
	var names, ids []string
	for n, s := range shards {
		if why := unlike(&first, &s); n > 0 && why != "" {
			return nil, &ShardError{first.Name, s.Name, why}
		}
		for r := range bundle.Each(s.Report.Scenarios) {
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
		merged.Notes = append(merged.Notes, slices.DeleteFunc(slices.Clone(s.Report.Notes), func(note string) bool {
			return slices.Contains(shardNotes(s.Run), note)
		})...)
		merged.DurationMS += s.Report.DurationMS
		if s.Report.Started.Before(merged.Started) {
			merged.Started = s.Report.Started
		}
		merged.Interrupted = merged.Interrupted || s.Report.Interrupted
		if merged.Died == nil {
			merged.Died = s.Report.Died
		}
	}
	whole := wholeRun(shards)
	listed := known.List(list, whole, observed(shards), verdicts)
	spanning, ofRun = append(spanning, listed...), append(ofRun, runRules(cat, listed)...)
	verdicts = append(verdicts, worstOf(spanning, func(v *bundle.Verdict) (string, bundle.Conclusion) { return v.Rule, v.Conclusion })...)
	merged.RunRules = worstOf(ofRun, func(v *bundle.RuleVerdict) (string, bundle.Conclusion) { return v.ID, v.Verdict })
	merged.Run = strings.Join(ids, "+")
	merged.Notes = append(merged.Notes, fmt.Sprintf("merged from %d shards: %s", len(shards), strings.Join(names, ", ")))
	merged.Causes = Causes(first.Run, cat, verdicts)
	total(&merged, verdicts)
	merged.Coverage = coverage(whole, cat, merged.Rules)
	if missing := missingShards(shards); len(missing) > 0 {
		merged.Notes = append(merged.Notes, "the verdict is incomplete: not given are the shards "+strings.Join(missing, ", "))
		if merged.Exit == exitOK {
			merged.Exit, merged.Verdict = exitInconclusive, bundle.RunInconclusive
		}
	}
	return &merged, nil
}

// wholeRun returns the run of which shards are the parts: with everything that they planned, as of the
// date on which the last of them began.
func wholeRun(shards []Shard) *bundle.Run {
	whole := *shards[0].Run
	whole.Shard, whole.Planned, whole.LeftOut = "", nil, nil
	for _, s := range shards {
		if s.Run.Started.After(whole.Started) {
			whole.Started = s.Run.Started
		}
		whole.Planned = append(whole.Planned, s.Run.Planned...)
		whole.LeftOut = append(whole.LeftOut, s.Run.LeftOut...)
	}
	whole.LeftOut = slices.DeleteFunc(whole.LeftOut, func(p bundle.Planned) bool { return slices.Contains(whole.Planned, p) })
	return &whole
}

// observed returns the observations of all shards.
func observed(shards []Shard) (obs []*bundle.Observation) {
	for _, s := range shards {
		obs = append(obs, s.Observations...)
	}
	return obs
}

// total sets the counts, rules, exit code and verdict of a report.
func total(r *bundle.Report, verdicts []bundle.Verdict) {
	sortResults(r.Scenarios)
	r.Counts = countsOf(r.Scenarios)
	r.Rules = ruleResults(verdicts)
	r.Exit = exitCode(r, verdicts, false)
	r.Verdict = runVerdict(r, verdicts)
}

// worstOf keeps the worst verdict of each rule, sorted by rule.
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

// unlike says why two shards cannot belong to one run; "" if they can. Shards against the
// embedded gateway have different URLs, because each runs its own gateway.
func unlike(a, b *Shard) string {
	differ := func(what, one, other string) string {
		return fmt.Sprintf("the %s is %q in one and %q in the other", what, phrase.Clip(one), phrase.Clip(other))
	}
	ra, rb := a.Run, b.Run
	switch {
	case ra.Tool != rb.Tool:
		return differ("program", ra.Tool.Name+" "+ra.Tool.Version, rb.Tool.Name+" "+rb.Tool.Version)
	case ra.Target.Embedded != rb.Target.Embedded:
		return "only one ran against the embedded gateway"
	case !ra.Target.Embedded && ra.Target.URL != rb.Target.URL:
		return differ("target", ra.Target.URL, rb.Target.URL)
	case ra.Profile != rb.Profile:
		return differ("profile", ra.Profile, rb.Profile)
	case ra.ProfileText != rb.ProfileText:
		return fmt.Sprintf("the texts of profile %s differ", phrase.Clip(ra.Profile))
	case ra.Strict != rb.Strict:
		return "only one was run with --strict"
	case ra.RulesText != rb.RulesText:
		return "the rules of the user's own scripts differ"
	case ra.KnownText != rb.KnownText:
		return "the lists of known failures differ"
	}
	return unlikeShards(ra, rb)
}
