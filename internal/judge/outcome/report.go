package outcome

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// The exit codes of a run, as the command line documents them.
const (
	exitOK           = 0
	exitFailed       = 1
	exitDefect       = 4
	exitInconclusive = 5
	exitInterrupted  = 130
)

// Report returns the result of a run, as `--format json` shows it, with its exit code. All lists
// have a fixed order: rules by id, scenarios by id and axes.
func Report(run *bundle.Run, cat *scenarios.Catalogue, obs []*bundle.Observation, verdicts []bundle.Verdict) *bundle.Report {
	r := &bundle.Report{
		Schema: bundle.ReportSchema, Tool: run.Tool, Run: run.ID, Target: run.Target, Profile: run.Profile,
		Interrupted: run.Interrupted,
		Rules:       ruleResults(verdicts),
		Scenarios:   scenarioResults(run, cat, obs, verdicts),
		RunRules:    runRules(cat, verdicts),
		Causes:      Causes(run, cat, verdicts),
		Scope:       scope(obs, verdicts),
		Died:        diedIn(run, obs),
		Notes:       slices.Concat(shardNotes(run), busyNotes(run), admissionNotes(run, obs), lagNotes(run, verdicts)),
	}
	r.Counts = countsOf(r.Scenarios)
	for _, o := range obs {
		r.Interrupted = r.Interrupted || o != nil && o.Interrupted && !o.CutByBudget
	}
	r.Coverage = coverage(run, cat, r.Rules)
	r.Started, r.DurationMS = run.Started, durationMS(run, obs)
	r.Exit = exitCode(r, verdicts, run.Shard != "")
	r.Verdict = runVerdict(r, verdicts)
	return r
}

// countsOf counts the results by their verdict; every conclusion is a key.
func countsOf(results []bundle.ScenarioResult) map[bundle.Conclusion]int {
	counts := map[bundle.Conclusion]int{}
	for _, c := range bundle.Conclusions() {
		counts[c] = 0
	}
	for i := range results {
		counts[results[i].Verdict]++
	}
	return counts
}

// exitCode returns the exit code of a run; if several apply, the first of 130, 4, 1, 5, 0.
// Every verdict counts, not only the worst of each scenario.
//
// A shard in which nothing could be tested has exit code 0: a run with more shards than scenarios
// would fail otherwise. All of its shards together are a run, and inconclusive if none tested
// anything.
func exitCode(r *bundle.Report, verdicts []bundle.Verdict, shard bool) int {
	switch {
	case r.Interrupted:
		return exitInterrupted
	case anyOf(verdicts, bundle.Error):
		return exitDefect
	case failing(verdicts):
		return exitFailed
	case anyOf(verdicts, bundle.Inconclusive), r.Counts[bundle.Inconclusive] > 0, asserted(r) == 0 && !shard, cutShortRun(r.Scope):
		return exitInconclusive
	}
	return exitOK
}

// asserted returns the number of runs in which something was judged.
func asserted(r *bundle.Report) int {
	return r.Counts[bundle.Pass] + r.Counts[bundle.Advisory] + r.Counts[bundle.Deviation] + r.Counts[bundle.KnownFailure]
}

func runVerdict(r *bundle.Report, verdicts []bundle.Verdict) string {
	switch {
	case failing(verdicts):
		return bundle.Nonconformant
	case r.Exit == exitOK && asserted(r) > 0:
		return bundle.Conformant
	}
	return bundle.RunInconclusive
}

func failing(verdicts []bundle.Verdict) bool {
	return slices.ContainsFunc(verdicts, func(v bundle.Verdict) bool { return v.Conclusion.FailsRun() })
}

func anyOf(verdicts []bundle.Verdict, set ...bundle.Conclusion) bool {
	return slices.ContainsFunc(verdicts, func(v bundle.Verdict) bool { return slices.Contains(set, v.Conclusion) })
}

// ruleResults groups the verdicts by rule.
func ruleResults(verdicts []bundle.Verdict) []bundle.RuleResult {
	byID := map[string]*bundle.RuleResult{}
	for v := range bundle.Each(verdicts) {
		r := byID[v.Rule]
		if r == nil {
			r = &bundle.RuleResult{ID: v.Rule, Level: v.Level, Verdict: v.Conclusion, Scenarios: []string{}}
			byID[v.Rule] = r
		}
		r.Verdict = ofRule(r.Verdict, v.Conclusion)
		if v.Scenario != "" {
			r.Scenarios = append(r.Scenarios, v.Scenario)
		}
	}
	results := make([]bundle.RuleResult, 0, len(byID))
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		r := byID[id]
		r.Scenarios = sortedOnce(r.Scenarios)
		results = append(results, *r)
	}
	return results
}

// ofRule combines two verdicts on one rule. A verdict without a test (unsupported, not-run) does
// not affect a rule that was tested elsewhere: a pass over HTTP/1.1 stays a pass on a target
// without HTTP/2.
func ofRule(a, b bundle.Conclusion) bundle.Conclusion {
	switch {
	case !tried(a) && tried(b):
		return b
	case !tried(b) && tried(a):
		return a
	}
	return bundle.Worst(a, b)
}

// instance is a scenario on one set of axes.
type instance struct {
	scenario string
	axes     bundle.Axes
}

// scenarioResults returns one result for each observation, and for each instance that has
// verdicts but no observation.
func scenarioResults(run *bundle.Run, cat *scenarios.Catalogue, obs []*bundle.Observation, verdicts []bundle.Verdict) []bundle.ScenarioResult {
	results := map[instance]*bundle.ScenarioResult{}
	get := func(k instance) *bundle.ScenarioResult {
		r := results[k]
		if r == nil {
			r = &bundle.ScenarioResult{
				ID: k.scenario, Title: title(cat, k.scenario), Axes: k.axes,
				Rules: []bundle.RuleVerdict{}, Replay: replay(run, k),
			}
			results[k] = r
		}
		return r
	}
	for _, o := range obs {
		if o != nil {
			get(instance{o.Scenario, o.Axes}).DurationMS = max(0, o.Ended.T-o.Started.T) / 1e6
		}
	}
	for v := range bundle.Each(verdicts) {
		if v.Scenario != "" {
			r := get(instance{v.Scenario, v.Axes})
			r.Rules = append(r.Rules, ruleVerdict(cat, v))
		}
	}
	all := make([]bundle.ScenarioResult, 0, len(results))
	for _, r := range results {
		sortRules(r.Rules)
		r.Verdict = worstRule(r.Rules)
		all = append(all, *r)
	}
	sortResults(all)
	return all
}

func sortRules(rules []bundle.RuleVerdict) {
	slices.SortStableFunc(rules, func(a, b bundle.RuleVerdict) int { return cmp.Compare(a.ID, b.ID) })
}

func sortResults(all []bundle.ScenarioResult) {
	slices.SortFunc(all, func(a, b bundle.ScenarioResult) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Axes.String(), b.Axes.String()))
	})
}

// worstRule returns the verdict of a scenario; it is inconclusive without any rule.
func worstRule(rules []bundle.RuleVerdict) bundle.Conclusion {
	if len(rules) == 0 {
		return bundle.Inconclusive
	}
	w := rules[0].Verdict
	for i := range rules {
		w = bundle.Worst(w, rules[i].Verdict)
	}
	return w
}

func runRules(cat *scenarios.Catalogue, verdicts []bundle.Verdict) []bundle.RuleVerdict {
	var rules []bundle.RuleVerdict
	for i := range verdicts {
		if verdicts[i].Scenario == "" {
			rules = append(rules, ruleVerdict(cat, &verdicts[i]))
		}
	}
	sortRules(rules)
	return rules
}

func ruleVerdict(cat *scenarios.Catalogue, v *bundle.Verdict) bundle.RuleVerdict {
	rv := bundle.RuleVerdict{
		ID: v.Rule, Level: v.Level, Verdict: v.Conclusion,
		Message: v.Message, Symptom: v.Symptom, Seen: v.Seen, Counts: v.Counts, Repeats: v.Repeats,
	}
	if r := cat.Rule(v.Rule); r != nil {
		rv.Text, rv.Source = r.Text, sourceOf(r)
	}
	return rv
}

// sourceOf returns the source of a rule: "Connect, Streaming-Response (C118)".
func sourceOf(r *scenarios.Rule) string {
	text := strings.Join(slices.DeleteFunc([]string{r.Source, r.Section}, func(s string) bool { return s == "" }), ", ")
	if r.Ref != "" {
		text += " (" + r.Ref + ")"
	}
	return strings.TrimSpace(text)
}

func title(cat *scenarios.Catalogue, id string) string {
	if s := cat.Scenario(id); s != nil {
		return s.Title
	}
	return ""
}

// replay returns the command that runs a scenario again on the same target, axes and seed.
func replay(run *bundle.Run, k instance) string {
	return command(run, []string{"replay", k.scenario}, "--axis", k.axes.String(), "--seed", strconv.FormatUint(run.Seed, 10))
}

// command returns a command of assay for the target of a run: its first words, the URL, more words, and the flags of the run.
func command(run *bundle.Run, words []string, more ...string) string {
	throughPlane := slices.Contains(run.Flags, "--control-plane") // a sandbox of the command's own
	if !run.Target.Embedded && run.Target.URL != "" && !throughPlane {
		words = append(words, run.Target.URL)
	}
	line := []string{"assay"}
	for _, word := range slices.Concat(words, more, run.Flags) {
		line = append(line, quoteWord(word))
	}
	return strings.Join(line, " ")
}

// quoteWord quotes s unless it is one plain shell word.
func quoteWord(s string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_./:@%+,=[]", c)
	}
	if s != "" && strings.IndexFunc(s, func(c rune) bool { return !plain(c) || c == '[' || c == ']' }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// durationMS returns the duration of the run; if it has no end, up to the end of its last
// observation.
func durationMS(run *bundle.Run, obs []*bundle.Observation) int64 {
	if !run.Ended.IsZero() && !run.Started.IsZero() {
		return max(0, run.Ended.Sub(run.Started).Milliseconds())
	}
	var last int64
	for _, o := range obs {
		if o != nil {
			last = max(last, o.Ended.T)
		}
	}
	return last / 1e6
}
