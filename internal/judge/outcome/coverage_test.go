package outcome

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// everything returns the built-in scenarios of a selection, as a run plans them.
func everything(t *testing.T, selection string) (all []bundle.Planned) {
	t.Helper()
	cat, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	instances, err := cat.Select(selection)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range instances {
		all = append(all, bundle.Planned{Scenario: i.Scenario.ID, Axes: i.Axes})
	}
	return all
}

const (
	profileOfAll  = "id: acme\ntitle: All\nrequire: [process.start, process.signal, process.list, protocol.connect, codec.json, codec.proto, http.1]\nselect: process.signal.*,axis:connect/*/1.1/identity\n"
	profileOfOwn  = "id: hosts\ntitle: Hosts\nrequire: [http.1]\n"
	profileOfKill = "id: kill\ntitle: Kill\nrequire: [process.start, process.signal, process.list, protocol.connect, codec.json, http.1]\nselect: process.signal.kill,axis:connect/json/1.1/identity\n"
	ownRulesText  = "- id: hosts.path.known\n  level: must\n  source: mine\n  section: 1\n  text: It is known.\n"
)

func TestARunIsPartialIfItLeftOutAPartOfItsProfile(t *testing.T) {
	whole := everything(t, "process.signal.*,axis:connect/*/1.1/identity")
	own := []bundle.Planned{{Scenario: "hosts.path"}}
	cases := []struct {
		name    string
		run     bundle.Run
		partial bool
	}{
		{"all that the profile selects", bundle.Run{ProfileText: profileOfAll, Planned: whole}, false},
		{"more than the profile selects", bundle.Run{ProfileText: profileOfAll, Planned: everything(t, "")}, false},
		{"without one", bundle.Run{ProfileText: profileOfAll, Planned: whole[1:]}, true},
		{"without one that needs an absent feature", bundle.Run{ProfileText: profileOfAll, Planned: everything(t, "process.signal.*,axis:connect/json/1.1/identity"), Features: map[string]bundle.Feature{"codec.proto": {State: bundle.FeatureAbsent}}}, false},
		{"without one that needs a present feature", bundle.Run{ProfileText: profileOfAll, Planned: everything(t, "process.signal.*,axis:connect/json/1.1/identity"), Features: map[string]bundle.Feature{"codec.proto": {State: bundle.FeaturePresent}}}, true},
		{"own scripts instead", bundle.Run{ProfileText: "id: connect\ntitle: Connect\nrequire: [process.start, protocol.connect, codec.json, http.1]\n", Planned: own}, true},
		{"own scripts of a profile that requires nothing", bundle.Run{ProfileText: "id: service\ntitle: Any\n", Planned: own}, false},
		{"own scripts of an own profile", bundle.Run{ProfileText: profileOfOwn, Planned: own}, false},
		{"some of the own scripts of an own profile", bundle.Run{ProfileText: profileOfOwn, Planned: own, Select: "hosts.*"}, true},
		{"a shard of the own scripts of an own profile", bundle.Run{ProfileText: profileOfOwn, Planned: own, Shard: "1/2"}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := coverage(&c.run, nil, nil); got == nil || got.Partial != c.partial {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestAReportCountsTheTestedRulesOfItsProfileAndOwnOnes(t *testing.T) {
	kill := everything(t, "process.signal.kill,axis:connect/json/1.1/identity")
	run := bundle.Run{ProfileText: profileOfKill, Planned: append(kill, bundle.Planned{Scenario: "process.exit.codes"}), RulesText: ownRulesText}
	all, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	proven := all.Scenario("process.signal.kill").Rules
	in := []string{"process.signal.kill"}
	got := coverage(&run, nil, []bundle.RuleResult{
		{ID: proven[0], Verdict: bundle.Pass, Scenarios: in},
		{ID: "process.end.exit-code-of-another", Verdict: bundle.NotRun, Scenarios: in},
		{ID: "hosts.path.known", Verdict: bundle.Pass, Scenarios: []string{"hosts.path"}},
		{ID: "hosts.path.unknown", Verdict: bundle.Unsupported, Scenarios: []string{"hosts.path"}},
		{ID: "profile.kill.http.1", Verdict: bundle.Pass},
	})
	want := &bundle.Coverage{Rules: len(proven), Tested: 1, Runs: 1, Planned: 1, Own: 1}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// Shards that together are the whole selection are not a part of it.
func TestMergedShardsAreTheWhole(t *testing.T) {
	whole := everything(t, "process.signal.*,axis:connect/*/1.1/identity")
	half := len(whole) / 2
	of := func(name string, planned []bundle.Planned) Shard {
		run := testRun()
		run.Shard, run.ProfileText, run.Planned = name, profileOfAll, planned
		verdicts := []bundle.Verdict{{Scenario: planned[0].Scenario, Axes: planned[0].Axes, Rule: "r." + name[:1], Level: "must", Conclusion: bundle.Pass}}
		return Shard{Name: name, Run: run, Verdicts: verdicts, Report: Report(run, nil, nil, verdicts)}
	}
	one, other := of("1/2", whole[:half]), of("2/2", whole[half:])
	if !one.Report.Coverage.Partial {
		t.Error("a shard is the whole")
	}
	r, err := Merge(nil, nil, []Shard{one, other})
	if err != nil {
		t.Fatal(err)
	}
	if r.Coverage.Partial || r.Coverage.Planned != r.Coverage.Runs {
		t.Errorf("%+v", r.Coverage)
	}
}

func TestARunOfAnOlderVersionSaysNothingAboutItsCoverage(t *testing.T) {
	for _, run := range []bundle.Run{{}, {ProfileText: profileOfOwn}, {Planned: []bundle.Planned{{Scenario: "a.b"}}}} {
		if got := coverage(&run, nil, nil); got != nil {
			t.Errorf("%+v", got)
		}
	}
}
