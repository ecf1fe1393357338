package outcome

import (
	"errors"
	"strings"
	"testing"

	"assay/internal/record/bundle"
)

// partsOf are shards of one split, with one scenario each; "" has none.
func partsOf(of string, conclusions ...bundle.Conclusion) []Shard {
	var all []Shard
	for i, c := range conclusions {
		s := shardOf(string(rune('a'+i)), c, bundle.Pass)
		s.Run.Shard = string(rune('1'+i)) + "/" + of
		s.Run.Planned = []bundle.Planned{{Scenario: "area." + s.Name}}
		if c == "" {
			s.Run.Planned, s.Verdicts, s.Observations = nil, nil, nil
			s.Report = Report(s.Run, nil, nil, nil)
		} else {
			s.Report = Report(s.Run, nil, []*bundle.Observation{{Scenario: "area." + s.Name}}, s.Verdicts)
		}
		all = append(all, s)
	}
	return all
}

func TestAShardInWhichNothingCanBeTestedDoesNotFail(t *testing.T) {
	for _, c := range []bundle.Conclusion{"", bundle.Unsupported, bundle.NotRun} {
		s := partsOf("9", c)[0]
		if s.Report.Exit != 0 || s.Report.Verdict != bundle.RunInconclusive {
			t.Errorf("%q: exit code %d, %s", c, s.Report.Exit, s.Report.Verdict)
		}
	}
	if said := partsOf("9", "")[0].Report.Notes; len(said) != 1 || !strings.Contains(said[0], "shard 1 of 9 has nothing to run") {
		t.Errorf("notes %q", said)
	}
	for c, exit := range map[bundle.Conclusion]int{bundle.Pass: 0, bundle.Fail: 1, bundle.Flaky: 1, bundle.Inconclusive: 5} {
		if s := partsOf("9", c)[0]; s.Report.Exit != exit {
			t.Errorf("%s: exit code %d, want %d", c, s.Report.Exit, exit)
		}
	}
}

func TestAllShardsTogetherAreOneRun(t *testing.T) {
	for name, c := range map[string]struct {
		parts []Shard
		exit  int
		note  string
	}{
		"all pass":                      {partsOf("2", bundle.Pass, bundle.Pass), 0, "merged from 2 shards: a, b"},
		"one is empty":                  {partsOf("2", bundle.Pass, ""), 0, ""},
		"one fails":                     {partsOf("2", bundle.Pass, bundle.Fail), 1, ""},
		"nothing was tested in any":     {partsOf("2", bundle.Unsupported, ""), 5, ""},
		"one is missing":                {partsOf("3", bundle.Pass, bundle.Pass), 5, "not given are the shards 3/3"},
		"one is missing, another fails": {partsOf("3", bundle.Pass, bundle.Fail), 1, "not given are the shards 3/3"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Merge(nil, nil, c.parts)
			if err != nil {
				t.Fatal(err)
			}
			if r.Exit != c.exit {
				t.Errorf("exit code %d, want %d", r.Exit, c.exit)
			}
			if said := strings.Join(r.Notes, "; "); !strings.Contains(said, c.note) || strings.Contains(said, "shard 1 of") {
				t.Errorf("notes: %s", said)
			}
		})
	}
}

func TestPartsOfTwoSplitsAreNotOneRun(t *testing.T) {
	for want, change := range map[string]func(*Shard){
		`the shard is "1/2" in one and "2/3" in the other`:  func(s *Shard) { s.Run.Shard = "2/3" },
		`the shard is "1/2" in one and "" in the other`:     func(s *Shard) { s.Run.Shard = "" },
		"both are shard 1/2":                                func(s *Shard) { s.Run.Shard = "1/2" },
		`the selection is "" in one and "a.*" in the other`: func(s *Shard) { s.Run.Select = "a.*" },
	} {
		parts := partsOf("2", bundle.Pass, bundle.Pass)
		change(&parts[1])
		var contradiction *ShardError
		if _, err := Merge(nil, nil, parts); !errors.As(err, &contradiction) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
