package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/internal/judge/outcome"
	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/internal/record/ledger"
)

// The rules about the whole run.
const (
	ruleMonotone  = "coppice.metrics.monotone"
	ruleLeftovers = "run.leftovers"
	ruleAlive     = "run.target-alive"
	ruleFront     = "run.front-answers"
)

// checkMonotone is the standing entry of the rule that is judged over all scrapes of a run, not
// on single observations.
const checkMonotone = "metrics-monotone"

// Run judges what spans scenarios: required features of the profile (rules profile.NAME.FEATURE),
// present features that the profile does not claim (rule profile.NAME.unclaimed, which always
// passes and lists them), a target that died, responses of something in front of the gateway, processes that could not be cleaned up, and
// counters that decreased between two scrapes of the run.
//
// A shard without a scenario does not use the target, and has no verdicts.
func (j *Judge) Run(run *bundle.Run, obs []*bundle.Observation) []bundle.Verdict {
	if run != nil && run.Shard != "" && len(run.Planned) == 0 {
		return nil
	}
	verdicts := j.features(run)
	if v, ok := j.unclaimed(run); ok {
		verdicts = append(verdicts, v)
	}
	if v, ok := j.alive(run, obs); ok {
		verdicts = append(verdicts, v)
	}
	if v, ok := fronted(run); ok {
		verdicts = append(verdicts, v)
	}
	if v, ok := j.leftovers(run, obs); ok {
		verdicts = append(verdicts, v)
	}
	if v, ok := j.monotone(run, obs); ok {
		verdicts = append(verdicts, v)
	}
	return sorted(verdicts)
}

func (j *Judge) features(run *bundle.Run) []bundle.Verdict {
	if j.Profile == nil || run == nil {
		return nil
	}
	required := slices.Clone(j.Profile.Require)
	slices.Sort(required)
	verdicts := make([]bundle.Verdict, 0, len(required))
	for _, id := range slices.Compact(required) {
		rule := "profile." + j.Profile.ID + "." + id
		v := bundle.Verdict{Rule: rule, Level: j.level(rule)}
		f := feature(id, run)
		if run.Interrupted && f.grade == inconclusive {
			v.Conclusion, v.Message = bundle.NotRun, "interrupted before it was probed"
		} else {
			j.conclude(&v, f)
			v.Evidence = nil
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

// otherScheme is the URL scheme that excludes a feature: https has no h2c, and http has no
// HTTP/2 over TLS.
var otherScheme = map[string]string{"http.h2c": "https", "http.h2-tls": "http"}

// unclaimed lists the features that the target has and the profile does not claim. They break
// nothing, so the verdict is a pass with a message, even with --strict. There is no verdict
// without such features.
func (j *Judge) unclaimed(run *bundle.Run) (bundle.Verdict, bool) {
	if j.Profile == nil || run == nil {
		return bundle.Verdict{}, false
	}
	var more []string
	for _, id := range slices.Sorted(maps.Keys(run.Features)) {
		if run.Features[id].State == bundle.FeaturePresent && !slices.Contains(j.Profile.Require, id) {
			more = append(more, id)
		}
	}
	if len(more) == 0 {
		return bundle.Verdict{}, false
	}
	seen := strings.Join(more, ", ")
	return bundle.Verdict{
		Rule: "profile." + j.Profile.ID + ".unclaimed", Level: levelMay, Conclusion: bundle.Pass,
		Message: "present but not claimed by the profile: " + seen, Seen: seen,
	}, true
}

// mostDetail limits the quoted result of a probe, in bytes; it is long because the result may
// end with advice.
const mostDetail = 320

// feature judges a required feature by its probe. A feature that no URL of this scheme can have
// is unsupported.
func feature(id string, run *bundle.Run) finding {
	f, probed := run.Features[id]
	detail := ""
	if f.Detail != "" {
		detail = ": " + phrase.ClipAt(f.Detail, mostDetail)
	}
	scheme, _, _ := strings.Cut(run.Target.URL, "://")
	scheme = strings.Replace(strings.ToLower(scheme), "ws", "http", 1)
	switch {
	case otherScheme[id] != "" && strings.EqualFold(scheme, otherScheme[id]):
		return finding{grade: unsupported, message: "feature " + id + " does not apply to an " + otherScheme[id] + " URL: test the gateway's other URL as well"}
	case !probed:
		return finding{grade: inconclusive, message: "feature " + id + " is required but was not probed"}
	case f.State == bundle.FeaturePresent:
		return finding{}
	case f.Hidden:
		return finding{grade: unsupported, message: "feature " + id + " cannot be tested in this run" + detail}
	case f.State == bundle.FeatureAbsent:
		return finding{grade: violated, symptom: bundle.SymptomAbsent, message: "feature " + id + " is required by the profile but absent" + detail}
	}
	return finding{grade: inconclusive, message: "feature " + id + " is required but its probe was inconclusive" + detail}
}

// alive returns the verdict on a target that died during the run. One that came back, and did not die of the same again, is not
// blamed: somebody may have started it again. What a destructive scenario kills breaks the rules of that scenario.
func (j *Judge) alive(run *bundle.Run, obs []*bundle.Observation) (bundle.Verdict, bool) {
	v := bundle.Verdict{Rule: ruleAlive, Level: levelMust, Conclusion: bundle.Fail, Symptom: bundle.SymptomNoConnect}
	last, left := outcome.Gone(obs)
	all := outcome.Killers(run)
	killers := slices.DeleteFunc(slices.Clone(all), j.judgesDeath)
	switch {
	case len(killers) > 0:
		v.Scenario, v.Axes = killers[0].Scenario, killers[0].Axes
		v.Message = "the target died while " + named(killers) + " ran, with nothing beside it"
		if b := back(killers); b > 0 {
			v.Message += "; it was back after " + phrase.Span(b)
		}
	case left > 0:
		v.Message = "the target stopped responding while " + ranThen(run, last) + " ran"
	case run == nil || len(run.Deaths) == 0 || len(all) > 0:
		return v, false
	default:
		v.Conclusion = bundle.Inconclusive
		v.Message = fmt.Sprintf("the target refused connections %s, and was back after %s; no scenario that had run then did it again alone",
			phrase.Plural(len(run.Deaths), "time"), phrase.Span(back(run.Deaths)))
	}
	if left > 0 {
		v.Message += fmt.Sprintf(": %d later runs were skipped", left)
	}
	return v, true
}

// ranThen names what ran when the target died for good.
func ranThen(run *bundle.Run, last *bundle.Observation) string {
	switch {
	case run != nil && len(run.Deaths) > 0 && len(run.Deaths[len(run.Deaths)-1].Ran) > 1:
		return "one of " + phrase.Clip(strings.Join(run.Deaths[len(run.Deaths)-1].Ran, ", "))
	case last != nil:
		return phrase.Clip(last.Scenario)
	}
	return "a scenario"
}

// judgesDeath reports whether the scenario of which the target died judges that itself.
func (j *Judge) judgesDeath(d bundle.Death) bool {
	s := j.Rules.Scenario(d.Scenario)
	return s != nil && s.Destructive
}

// named lists the scenarios of deaths.
func named(deaths []bundle.Death) string {
	var all []string
	for _, d := range deaths {
		all = append(all, phrase.Clip(d.Scenario))
	}
	return strings.Join(all, ", and while ")
}

// back returns the longest time after which the target was back; 0 if it was not.
func back(deaths []bundle.Death) (longest int64) {
	for _, d := range deaths {
		if d.Back == 0 {
			return 0
		}
		longest = max(longest, d.Back)
	}
	return longest
}

// fronted returns the verdict on responses that did not come from the gateway: the same requests were answered otherwise
// when they were repeated.
func fronted(run *bundle.Run) (bundle.Verdict, bool) {
	if run == nil || run.Admission == nil || run.Admission.Front.Settled == 0 {
		return bundle.Verdict{}, false
	}
	f := run.Admission.Front
	return bundle.Verdict{
		Rule: ruleFront, Level: levelMust, Conclusion: bundle.Fail, Symptom: bundle.SymptomRefused,
		Message: fmt.Sprintf("something in front of the gateway answered %d of %s itself (%s), the first after %s and the last after %s; %s had other answers when repeated",
			f.Requests, phrase.Plural(int(run.Admission.Requests), "request"), phrase.Clip(strings.Join(f.Answers, ", ")),
			phrase.Span(f.First.T), phrase.Span(f.Last.T), phrase.Plural(f.Settled, "scenario")),
	}, true
}

// leftovers lists the processes whose clean-up failed, because they affect the next run on the
// target. What the target lists at the end of the run counts; without that, what failed while it ran. The judge cannot tell whose
// fault they are, so the verdict is an advisory; it is inconclusive where the target only did not respond.
func (j *Judge) leftovers(run *bundle.Run, obs []*bundle.Observation) (bundle.Verdict, bool) {
	var left []string
	known := false // at least one of them is there
	if run != nil && run.Swept {
		obs, known = nil, true
		for _, l := range run.Left {
			left = append(left, fmt.Sprintf("pid %d (%s: %s)", l.PID, phrase.Clip(l.Mark), phrase.Clip(l.Cleanup)))
		}
	}
	for _, o := range obs {
		if o != nil && o.Confirm != nil {
			obs = append(obs[:len(obs):len(obs)], o.Confirm.Alone)
		}
	}
	for _, o := range obs {
		if o == nil {
			continue
		}
		for i := range o.Iterations {
			for _, p := range o.Iterations[i].Processes {
				if why, failed := strings.CutPrefix(p.Cleanup, "failed: "); failed {
					known = known || !slices.ContainsFunc(unfinished, func(o bundle.Outcome) bool { return strings.HasPrefix(why, string(o)) })
					left = append(left, fmt.Sprintf("pid %d (%s of %s: %s)", p.PID, p.Name, o.Scenario, phrase.Clip(p.Cleanup)))
				}
			}
		}
	}
	if len(left) == 0 {
		return bundle.Verdict{}, false
	}
	n := len(left)
	const most = 3
	if n > most {
		left = append(left[:most], fmt.Sprintf("and %d more", n-most))
	}
	verb := "processes were"
	if n == 1 {
		verb = "process was"
	}
	v := bundle.Verdict{
		Rule: ruleLeftovers, Level: levelShould, Conclusion: bundle.Advisory,
		Message: fmt.Sprintf("%d %s left on the target: %s", n, verb, strings.Join(left, ", ")),
	}
	if !known {
		v.Conclusion = bundle.Inconclusive
		v.Message = "the target did not respond to tell whether " + v.Message
	}
	return v, true
}

// reading is one readable scrape.
type reading struct {
	scrape   *bundle.Scrape
	scenario string
	counters ledger.Counters
}

// monotone compares every scrape with all scrapes that were received before it was sent;
// overlapping scrapes are not compared, and neither are those of two lives of the target.
func (j *Judge) monotone(run *bundle.Run, obs []*bundle.Observation) (bundle.Verdict, bool) {
	readings := j.readings(obs)
	if j.Rules.Rule(ruleMonotone) == nil || len(readings) < 2 {
		return bundle.Verdict{}, false
	}
	v := bundle.Verdict{Rule: ruleMonotone, Level: j.level(ruleMonotone)}
	received := slices.Clone(readings)
	slices.SortStableFunc(received, func(a, b reading) int { return order(a.scrape.Received, b.scrape.Received) })
	high := map[string]reading{}
	next, lives := 0, 0
	var deaths []bundle.Death
	if run != nil {
		deaths = run.Deaths
	}
	for _, r := range readings {
		for ; next < len(received) && received[next].scrape.Received.Before(r.scrape.Sent); next++ {
			raise(high, received[next])
		}
		for ; lives < len(deaths) && deaths[lives].At.Before(r.scrape.Sent); lives++ {
			clear(high)
		}
		if lives < len(deaths) && deaths[lives].Since.Before(r.scrape.Received) {
			continue // it may be of the next life
		}
		for _, key := range ledger.Totals {
			before, seen := high[key]
			b, _ := before.counters.Get(key)
			a, _ := r.counters.Get(key)
			if !seen || a >= b {
				continue
			}
			j.conclude(&v, finding{grade: violated, symptom: bundle.SymptomCounters, at: nowhere(), message: fmt.Sprintf(
				"counter %s went down from %s (scrape %s of %s) to %s (scrape %s of %s)",
				key, ledger.Number(b), before.scrape.Name, before.scenario, ledger.Number(a), r.scrape.Name, r.scenario)})
			v.Evidence = nil
			return v, true
		}
	}
	v.Conclusion = bundle.Pass
	return v, true
}

// raise keeps the reading with the highest value of each counter.
func raise(high map[string]reading, r reading) {
	for _, key := range ledger.Totals {
		v, _ := r.counters.Get(key)
		old, seen := high[key]
		was, _ := old.counters.Get(key)
		if !seen || v > was {
			high[key] = r
		}
	}
}

// readings returns all readable scrapes of the run in the order in which they were sent.
func (j *Judge) readings(obs []*bundle.Observation) []reading {
	var all []reading
	for _, o := range obs {
		if o == nil {
			continue
		}
		for s := range bundle.Each(o.Scrapes) {
			if s.Err != "" || s.Status != 200 {
				continue
			}
			if c, _ := ledger.ReadCounters(s.Body, j.metricNames()); len(c.Has) > 0 {
				all = append(all, reading{scrape: s, scenario: o.Scenario, counters: c})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b reading) int { return order(a.scrape.Sent, b.scrape.Sent) })
	return all
}

func order(a, b bundle.Stamp) int { return cmp.Compare(a.N, b.N) }
