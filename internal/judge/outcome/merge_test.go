package outcome

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/judge/known"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// shardOf is a shard with one scenario of one verdict, and a rule of the run.
func shardOf(name string, c, ofRun bundle.Conclusion) Shard {
	run := &bundle.Run{ID: "r-" + name, Tool: bundle.Tool{Name: "assay", Version: "1"}, Target: bundle.Target{URL: "http://127.0.0.1:1"}, Profile: "full", ProfileText: "id: full\n"}
	verdicts := []bundle.Verdict{
		{Scenario: "area." + name, Rule: "x", Level: "must", Conclusion: c},
		{Rule: "run.rule", Level: "must", Conclusion: ofRun, Message: "of " + name},
	}
	r := Report(run, nil, []*bundle.Observation{{Scenario: "area." + name}}, verdicts)
	r.DurationMS, r.Notes = 10, []string{"note of " + name}
	return Shard{Name: name, Run: run, Verdicts: verdicts, Report: r}
}

func TestShardsAreOneReport(t *testing.T) {
	b := shardOf("b", bundle.Pass, bundle.Pass)
	b.Report.Scenarios[0].Replay = "its own"
	r, err := Merge(nil, nil, []Shard{b, shardOf("a", bundle.Pass, bundle.Inconclusive)})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Scenarios) != 2 || r.Scenarios[0].ID != "area.a" || r.Scenarios[1].Replay != "its own" || r.Counts[bundle.Pass] != 2 {
		t.Errorf("scenarios %+v, counts %v", r.Scenarios, r.Counts)
	}
	if len(r.RunRules) != 1 || r.RunRules[0].Message != "of a" || r.Exit != 5 {
		t.Errorf("rules of the run %+v, exit code %d; want the worse", r.RunRules, r.Exit)
	}
	if len(r.Rules) != 2 || r.Rules[1].ID != "x" || len(r.Rules[1].Scenarios) != 2 || r.DurationMS != 20 || r.Run != "r-b+r-a" {
		t.Errorf("rules %+v, %d ms, run %s", r.Rules, r.DurationMS, r.Run)
	}
	if said := strings.Join(r.Notes, "; "); said != "note of b; note of a; merged from 2 shards: b, a" {
		t.Errorf("notes: %s", said)
	}
	if len(b.Report.Scenarios) != 1 || len(b.Report.Notes) != 1 {
		t.Error("a shard was changed")
	}
}

func TestTheExitCodeOfShardsIsThatOfAll(t *testing.T) {
	unsupported, pass, fail := shardOf("u", bundle.Unsupported, bundle.Pass), shardOf("p", bundle.Pass, bundle.Pass), shardOf("f", bundle.Fail, bundle.Pass)
	cut := shardOf("c", bundle.Pass, bundle.Pass)
	cut.Report.Interrupted = true
	for want, shards := range map[int][]Shard{0: {unsupported, pass}, 1: {pass, fail}, 5: {unsupported}, 130: {fail, cut}} {
		if r, err := Merge(nil, nil, shards); err != nil || r.Exit != want {
			t.Errorf("%v, exit code %d, want %d", err, r.Exit, want)
		}
	}
}

func TestShardsThatContradictEachOtherAreNamed(t *testing.T) {
	for want, change := range map[string]func(*Shard){
		`the program is "assay 1" in one and "assay 2" in the other`:  func(s *Shard) { s.Run.Tool.Version = "2" },
		`the target is "http://127.0.0.1:1" in one and "http://x" in`: func(s *Shard) { s.Run.Target.URL = "http://x" },
		"only one ran against the embedded gateway":                   func(s *Shard) { s.Run.Target.Embedded = true },
		`the profile is "full" in one and "e2b"`:                      func(s *Shard) { s.Run.Profile = "e2b" },
		"the texts of profile full differ":                            func(s *Shard) { s.Run.ProfileText = "" },
		"only one was run with --strict":                              func(s *Shard) { s.Run.Strict = true },
		"the rules of the user's own scripts differ":                  func(s *Shard) { s.Run.RulesText = "rules: []" },
		"the lists of known failures differ":                          func(s *Shard) { s.Run.KnownText = "[]" },
		"both have area.one [":                                        func(s *Shard) { s.Report.Scenarios[0].ID = "area.one" },
	} {
		other := shardOf("other", bundle.Pass, bundle.Pass)
		change(&other)
		_, err := Merge(nil, nil, []Shard{shardOf("one", bundle.Pass, bundle.Pass), other})
		var contradiction *ShardError
		if !errors.As(err, &contradiction) || !strings.HasPrefix(err.Error(), "one and other are not shards of one run: "+want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	a, b := shardOf("a", bundle.Pass, bundle.Pass), shardOf("b", bundle.Pass, bundle.Pass)
	a.Run.Target, b.Run.Target = bundle.Target{URL: "http://127.0.0.1:1", Embedded: true}, bundle.Target{URL: "http://127.0.0.1:2", Embedded: true}
	if _, err := Merge(nil, nil, []Shard{a, b}); err != nil {
		t.Errorf("two embedded gateways: %v", err)
	}
}

// An entry whose scenario ran in the other shard is unmatched in each shard alone, but not in the
// merged report.
func TestTheListOfKnownFailuresIsJudgedAgainstAllShards(t *testing.T) {
	one, two := "- {pattern: area.one, "+`reason: it is slow, link: "https://tracker.example/1", expires: 2027-03-31`+"}\n", "- {pattern: area.two, "+`reason: it is slow, link: "https://tracker.example/1", expires: 2027-03-31`+"}\n"
	expired := strings.Replace(one, "2027-03-31", "2027-03-29", 1)
	stray := strings.Replace(one, "area.one", "area.three", 1)
	for name, c := range map[string]struct {
		list string
		want []string // rules that fail
	}{
		"every entry names something of one shard": {one + two, nil},
		"an entry names something of none":         {one + two + stray, []string{"run.known.unmatched"}},
		"an entry has expired":                     {expired + two, []string{"run.known.expired"}},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := scenarios.ParseKnown("known.yaml", []byte(c.list))
			if err != nil {
				t.Fatal(err)
			}
			var shards []Shard
			for n, id := range []string{"one", "two"} {
				s := shardOf(id, bundle.KnownFailure, bundle.Pass)
				s.Run.Started, s.Run.KnownText = time.Date(2027, 3, 29+n, 23, 0, 0, 0, time.UTC), c.list
				s.Observations = []*bundle.Observation{{Scenario: "area." + id}}
				own := append(s.Verdicts, known.List(list, s.Run, s.Observations, s.Verdicts)...)
				if len(own) == len(s.Verdicts) {
					t.Fatal("a shard alone has no fault of its list")
				}
				s.Verdicts, s.Report = own, Report(s.Run, nil, s.Observations, own)
				shards = append(shards, s)
			}
			r, err := Merge(nil, list, shards)
			if err != nil {
				t.Fatal(err)
			}
			var failed, ofRules []string
			for _, v := range r.RunRules {
				if v.Verdict == bundle.Fail {
					failed = append(failed, v.ID)
				}
			}
			for _, v := range r.Rules {
				if v.Verdict == bundle.Fail {
					ofRules = append(ofRules, v.ID)
				}
			}
			if !slices.Equal(failed, c.want) || !slices.Equal(ofRules, c.want) || (r.Exit == 1) != (c.want != nil) {
				t.Errorf("rules of the run %v, rules %v, exit code %d; want %v", failed, ofRules, r.Exit, c.want)
			}
		})
	}
}
