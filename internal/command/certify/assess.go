package certify

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// requirement is a requirement of a certificate. decide returns what was seen, and whether it is enough.
type requirement struct {
	id, title string
	from      string // the lowest level that asks for it
	decide    func(e *Evidence) finding
	wants     func(e *Evidence) bool // reports whether its evidence is there; nil is always
}

// finding is the decision on a requirement.
type finding struct {
	ok, unsure bool
	message    string
}

func met(format string, args ...any) finding {
	return finding{ok: true, message: fmt.Sprintf(format, args...)}
}

func unmet(format string, args ...any) finding {
	return finding{message: fmt.Sprintf(format, args...)}
}

func undecided(format string, args ...any) finding {
	return finding{unsure: true, message: fmt.Sprintf(format, args...)}
}

// requirements are in the order of a certification.
var requirements = []requirement{
	{"build.committed", "The program was built from a committed source", bundle.LevelCore, committed, nil},
	{"selftest.passed", "The program notices every fault of the profile, and blames no legal variant", bundle.LevelCore, selftested, hasSelftest},
	{"conform.whole", "Every scenario of the profile ran three times, none left out", bundle.LevelCore, whole, nil},
	{"conform.scripts", "The scenarios are those of the catalogue, word for word", bundle.LevelCore, scripts, nil},
	{"conform.must", "Every must rule holds", bundle.LevelCore, holds, nil},
	{"conform.decided", "Every rule is decided", bundle.LevelCore, decided, nil},
	{"conform.steady", "No rule held in one repeat and broke in another", bundle.LevelCore, steady, nil},
	{"conform.should", "Every should and may rule holds", bundle.LevelFull, advised, nil},
	{"load.passed", "The load of the profile lost nothing", bundle.LevelWithLoad, loaded, hasLoad},
	{"load.size", "The load was that of the profile", bundle.LevelWithLoad, loadSize, hasLoad},
	{"soak.passed", "The soak found no leak, drift or loss", bundle.LevelWithLoad, soaked, hasSoak},
	{"soak.size", "The soak was that of the profile", bundle.LevelWithLoad, soakSize, hasSoak},
	{"target.one", "All evidence is of one target, by one build", bundle.LevelCore, oneTarget, nil},
}

func hasSelftest(e *Evidence) bool { return e.Selftest != nil }
func hasLoad(e *Evidence) bool     { return e.Load != nil }
func hasSoak(e *Evidence) bool     { return e.Soak != nil }

// Assess decides the requirements of the level. It is pure: who certifies and who verifies come to the same.
func Assess(e *Evidence) []bundle.Requirement {
	var all []bundle.Requirement
	for _, r := range requirements {
		if slices.Index(bundle.Levels(), r.from) > slices.Index(bundle.Levels(), e.Level) {
			continue
		}
		if e.Partial && r.wants != nil && !r.wants(e) {
			continue
		}
		f := r.decide(e)
		all = append(all, bundle.Requirement{ID: r.id, Title: r.title, OK: f.ok, Unsure: f.unsure && !f.ok, Message: f.message})
	}
	return all
}

// Met reports whether all requirements are met.
func Met(all []bundle.Requirement) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(r bundle.Requirement) bool { return !r.OK })
}

func committed(e *Evidence) finding {
	switch b := e.Build; {
	case b.Modified:
		return unmet("the source of commit %.12s had changes that were not committed: its catalogue may be nobody else's", b.Commit)
	case b.Commit == "":
		return met("%s %s, which does not know its commit; the catalogue has a digest of its own", b.Name, b.Version)
	default:
		return met("%s %s of commit %.12s", b.Name, b.Version, b.Commit)
	}
}

func selftested(e *Evidence) finding {
	r := e.Selftest
	if r == nil {
		return undecided("there is no report of the self-test")
	}
	if b := r.Build; b == nil || b.Version != e.Build.Version || b.Catalogue != e.Build.Catalogue {
		return unmet("the self-test is that of another build of the program")
	}
	killed, clean := map[string]bool{}, map[string]bool{}
	for _, f := range r.Faults {
		killed[f.ID] = f.Killed
	}
	for _, v := range r.Variants {
		clean[v.ID] = v.Clean
	}
	for _, f := range e.Faults {
		if done, tried := killed[f]; !done {
			return unmet("the fault %s %s", f, map[bool]string{true: "survived", false: "was not tried"}[tried])
		}
	}
	for _, v := range e.Variants {
		if done, tried := clean[v]; !done {
			return unmet("the legal variant %s %s", v, map[bool]string{true: "was blamed", false: "was not tried"}[tried])
		}
	}
	return met("%d of %d faults were noticed, %d of %d legal variants passed", len(e.Faults), len(e.Faults), len(e.Variants), len(e.Variants))
}

// whole wants the whole selection of the profile, three times, with its evidence.
func whole(e *Evidence) finding {
	run := e.Conform.Run
	switch {
	case e.Conform.Unfinished || !run.Complete():
		return undecided("the run did not end")
	case run.Select != e.Profile.Select:
		return unmet("the run had --select %q, and the profile has %q", run.Select, e.Profile.Select)
	case run.Shard != "":
		return unmet("the run was part %s of the scenarios", run.Shard)
	case run.KnownText != "":
		return unmet("the run had a list of known failures")
	case run.RulesText != "":
		return unmet("the run had rules of its own")
	case run.Repeat < Repeats:
		return unmet("every scenario ran %d times, want %d", max(run.Repeat, 1), Repeats)
	}
	want, err := e.Catalogue.Select(e.Profile.Select)
	if err != nil {
		return unmet("the selection of the profile: %v", err)
	}
	ran := map[bundle.Planned]int{}
	for _, o := range e.Conform.Observations {
		switch {
		case o.Omitted != nil:
			return undecided("the evidence of %s was not kept: the bundle was too large", o.Scenario)
		case o.Interrupted:
			return undecided("%s was interrupted", o.Scenario)
		case o.Skip != nil && o.Skip.Reason != bundle.SkipFeature:
			return undecided("%s did not run: %s", o.Scenario, o.Skip.Reason)
		}
		n := len(o.Iterations)
		if o.Skip != nil {
			n = run.Repeat // every repeat lacks the feature
		}
		ran[bundle.Planned{Scenario: o.Scenario, Axes: o.Axes}] += n
	}
	once := 0
	for _, i := range want {
		least := run.Repeat
		if i.Scenario.CountsOnce() {
			least, once = 1, once+1
		}
		if n := ran[bundle.Planned{Scenario: i.Scenario.ID, Axes: i.Axes}]; n < least {
			return unmet("%s [%s] ran %d times, want %d", i.Scenario.ID, i.Axes, n, least)
		}
	}
	if once > 0 {
		return met("%s in %s, %d times each; %s that count by a fixed number once", count(scenarioCount(want), "scenario"), count(len(want), "run"), run.Repeat, count(once, "run"))
	}
	return met("%s in %s, %d times each", count(scenarioCount(want), "scenario"), count(len(want), "run"), run.Repeat)
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func scenarioCount(all []scenarios.Instance) int {
	ids := map[string]bool{}
	for _, i := range all {
		ids[i.Scenario.ID] = true
	}
	return len(ids)
}

// scripts wants the scripts of the evidence to be those of the catalogue.
func scripts(e *Evidence) finding {
	known := map[string]string{}
	for _, s := range e.Catalogue.Scenarios {
		known[s.ID] = s.Digest
	}
	seen := map[string]bool{}
	for _, o := range e.Conform.Observations {
		switch want, ok := known[o.Scenario]; {
		case !ok:
			return unmet("the catalogue has no scenario %s", o.Scenario)
		case o.Script != want:
			return unmet("%s ran another script than the catalogue's", o.Scenario)
		}
		seen[o.Scenario] = true
	}
	return met("%s compared", count(len(seen), "script"))
}

// worst returns the rules with one of the conclusions, with where the first was seen.
func worst(e *Evidence, of ...bundle.Conclusion) (rules []string, first bundle.Verdict) {
	for _, v := range e.Verdicts {
		if !slices.Contains(of, v.Conclusion) {
			continue
		}
		if len(rules) == 0 {
			first = v
		}
		rules = append(rules, v.Rule)
	}
	slices.Sort(rules)
	return slices.Compact(rules), first
}

func holds(e *Evidence) finding {
	rules, first := worst(e, bundle.Fail, bundle.UnexpectedPass)
	switch {
	case len(rules) > 0:
		return unmet("%s: %s", broken(rules, first), first.Message)
	case e.Report.Verdict == bundle.Nonconformant && e.Report.Counts[bundle.Flaky] == 0:
		return unmet("the run is not conformant")
	}
	passed := passedRules(e)
	if len(passed) == 0 {
		return undecided("no rule passed")
	}
	return met("%s passed", count(len(passed), "rule"))
}

// broken names rules and where the first was seen.
func broken(rules []string, first bundle.Verdict) string {
	text := first.Rule
	if first.Scenario != "" {
		text += " in " + first.Scenario
	}
	if n := len(rules) - 1; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

func decided(e *Evidence) finding {
	rules, first := worst(e, bundle.Inconclusive, bundle.Error, bundle.NotRun, bundle.KnownFailure)
	if len(rules) > 0 {
		return undecided("%s is %s: %s", broken(rules, first), first.Conclusion, first.Message)
	}
	if e.Report.Verdict == bundle.RunInconclusive {
		return undecided("the run is inconclusive")
	}
	return met("nothing is inconclusive, skipped or excused")
}

func steady(e *Evidence) finding {
	if rules, first := worst(e, bundle.Flaky); len(rules) > 0 {
		return unmet("%s is flaky: %s", broken(rules, first), first.Message)
	}
	return met("%d repeats agree", max(e.Conform.Run.Repeat, 1))
}

func advised(e *Evidence) finding {
	if rules, first := worst(e, bundle.Advisory); len(rules) > 0 {
		return unmet("%s: %s; the level %s does without", broken(rules, first), first.Message, bundle.LevelCore)
	}
	return met("no advisory")
}

func loaded(e *Evidence) finding {
	r := e.Load
	switch {
	case r == nil:
		return undecided("there is no load run")
	case r.Interrupted || r.Verdict == bundle.LoadInconclusive:
		return undecided("the load is inconclusive: %s", strings.Join(append(r.Reasons, r.Aborted), "; "))
	case r.Verdict != bundle.LoadPass:
		return unmet("the load failed: %s", strings.Join(r.Reasons, "; "))
	}
	return met("%d streams, %d events, every byte as expected", r.Streams.Completed, r.Output.Events)
}

func loadSize(e *Evidence) finding {
	want := e.Profile.Certification
	switch {
	case want == nil:
		return unmet("the profile %s has no load: its highest level is %s", e.Profile.ID, bundle.LevelFull)
	case e.Load == nil:
		return undecided("there is no load run")
	}
	streams, length := e.Load.Streams.OpenPeak, time.Duration(e.Load.Plan.DurationMS)*time.Millisecond
	if streams < int64(want.Streams) || length < want.Duration {
		return unmet("%d streams at most for %v, want %d for %v", streams, length, want.Streams, want.Duration)
	}
	return met("%d streams open at one time, for %v", streams, length)
}

func soaked(e *Evidence) finding {
	r := e.Soak
	switch {
	case r == nil:
		return undecided("there is no soak")
	case r.Interrupted || r.Verdict == bundle.LoadInconclusive:
		return undecided("the soak is inconclusive: %s", strings.Join(r.Reasons, "; "))
	case r.Verdict != bundle.LoadPass:
		return unmet("the soak failed: %s", strings.Join(r.Reasons, "; "))
	}
	return met("%s, %d streams; none of %d series rose", count(len(r.Windows), "window"), r.Totals.Streams, len(r.Series))
}

func soakSize(e *Evidence) finding {
	want := e.Profile.Certification
	switch {
	case want == nil:
		return unmet("the profile %s has no soak: its highest level is %s", e.Profile.ID, bundle.LevelFull)
	case e.Soak == nil:
		return undecided("there is no soak")
	case len(e.Soak.Gaps) > 0:
		return unmet("the soak has %s", count(len(e.Soak.Gaps), "gap"))
	}
	length, window := time.Duration(e.Soak.Plan.DurationMS)*time.Millisecond, time.Duration(e.Soak.Plan.WindowMS)*time.Millisecond
	if length < want.Soak || window > want.Window {
		return unmet("%v in windows of %v, want %v in windows of %v", length, window, want.Soak, want.Window)
	}
	return met("%v in windows of %v", length, window)
}

// oneTarget wants one URL and one profile. Embedded gateways have a new port each.
func oneTarget(e *Evidence) finding {
	run := e.Conform.Run
	if run.Profile != e.Profile.ID {
		return unmet("the scenarios ran with the profile %s, want %s", run.Profile, e.Profile.ID)
	}
	tools := []bundle.Tool{run.Tool}
	var others []bundle.LoadTarget
	if e.Load != nil && e.withLoad() {
		others, tools = append(others, e.Load.Target), append(tools, e.Load.Tool)
	}
	if e.Soak != nil && e.withLoad() {
		others, tools = append(others, e.Soak.Target), append(tools, e.Soak.Tool)
	}
	for _, t := range tools {
		if t.Version != e.Build.Version {
			return unmet("evidence is by the version %s of the program, want %s", t.Version, e.Build.Version)
		}
	}
	for _, t := range others {
		if t.Embedded != run.Target.Embedded || !t.Embedded && t.URL != run.Target.URL {
			return unmet("the scenarios ran against %s, the load or soak against %s", run.Target.URL, t.URL)
		}
	}
	if run.Target.Embedded {
		return met("the embedded reference gateway of the program")
	}
	return met("%s", run.Target.URL)
}

// passedRules returns the rules that passed somewhere and are broken nowhere, sorted.
func passedRules(e *Evidence) []string {
	all := map[string]bool{}
	for _, v := range e.Verdicts {
		switch v.Conclusion {
		case bundle.Pass:
			if _, known := all[v.Rule]; !known {
				all[v.Rule] = true
			}
		case bundle.Unsupported, bundle.NotRun:
		default:
			all[v.Rule] = false
		}
	}
	maps.DeleteFunc(all, func(_ string, passed bool) bool { return !passed })
	return slices.Sorted(maps.Keys(all))
}
