package reports

import (
	"assay/internal/record/bundle"
)

// changed is a comparison with one change of every kind.
func changed() *bundle.Diff {
	side := func(name, version, url string, verdict string) bundle.DiffSide {
		return bundle.DiffSide{Name: name, Run: "01JD", Tool: bundle.Tool{Name: "assay", Version: version}, Target: bundle.Target{URL: url}, Profile: "e2b", Verdict: verdict}
	}
	both := []string{axesJSON.String(), axesProto.String()}
	one := both[:1]
	return &bundle.Diff{
		Schema: bundle.DiffSchema, Kind: bundle.DiffRuns,
		A: side("main-run", "0.1.0", "http://gateway.example:8081", bundle.Conformant),
		B: side("this-run", "0.2.0", "http://other.example:8081", bundle.Nonconformant),
		Context: []bundle.DiffContext{
			{What: "tool", A: "assay 0.1.0", B: "assay 0.2.0"}, {What: "target", A: "http://gateway.example:8081", B: "http://other.example:8081"}, {What: "selection", B: "area:process-output"},
		},
		Regressions: []bundle.VerdictChange{
			{Rule: "process.output.complete", Level: "must", Scenario: "process.output.large", Axes: both, Was: bundle.Pass, Now: bundle.Fail, Message: "stdout is 65536 bytes, 200000 were written.", Replay: "assay replay process.output.large http://other.example:8081 --axis connect/json/1.1/identity --seed 7"},
			{Rule: "profile.e2b.process.pty", Level: "must", Axes: []string{}, Was: bundle.Pass, Now: bundle.Fail, Message: hostileText},
		},
		Fixes:    []bundle.VerdictChange{{Rule: "connect.error.text", Level: "should", Scenario: "connect.error.text", Axes: one, Was: bundle.Advisory, Now: bundle.Pass}},
		Changes:  []bundle.VerdictChange{{Rule: "process.tag.two", Level: "must", Scenario: "process.tag.two", Axes: one, Was: bundle.Fail, Now: bundle.KnownFailure, Message: "known (known.yaml:3)"}, {Rule: "http.framing", Level: "must", Scenario: "health.get", Axes: one, Was: bundle.Fail}},
		New:      []bundle.DiffScenario{{ID: "process.output.tail", Axes: both, Verdict: bundle.Pass}},
		Vanished: []bundle.DiffScenario{{ID: "process.output.old", Axes: one, Verdict: bundle.Fail}},
		NewRules: []string{"process.output.tail"}, VanishedRules: []string{"process.output.old", "process.output.older"},
		NewCauses: []string{"process.output.complete"}, GoneCauses: []string{"connect.stream.flushed"},
		Seen:     []bundle.SeenChange{{Rule: "connect.timeout.zero", Scenario: "connect.timeout.zero", Axes: one, Was: "invalid_argument", Now: "no deadline"}},
		Features: []bundle.FeatureChange{{ID: "process.pty", Was: bundle.FeaturePresent, Now: bundle.FeatureAbsent}, {ID: "rpc.get", Now: bundle.FeaturePresent}},
		Counts:   []bundle.CountChange{},
		Latency: []bundle.LatencyChange{
			{Name: "round_trip", Each: "x", A: bundle.LatencySample{Samples: 120, Median: 1200, Low: 1100, High: 1300}, B: bundle.LatencySample{Samples: 118, Median: 1250}, Result: bundle.LatencySame, Change: 0.04, P: 0.31, Alpha: 0.05},
			{Name: "first_event", Each: "x", A: bundle.LatencySample{Samples: 120, Median: 1200}, B: bundle.LatencySample{Samples: 118, Median: 2400}, Result: bundle.LatencySlower, Change: 1, P: 1e-9, Alpha: 0.05, Regression: true},
			{Name: "iteration", Of: "process.output.large connect/json/1.1/identity", Each: "x", A: bundle.LatencySample{Samples: 9, Median: 1200}, B: bundle.LatencySample{Samples: 9, Median: 900}, Result: bundle.LatencyFaster, Change: -0.25, P: 0.001, Alpha: 0.0166},
			{Name: "iteration", Of: "process.output.tail connect/json/1.1/identity", Each: "x", A: bundle.LatencySample{Samples: 9, Median: 1200}, B: bundle.LatencySample{Samples: 9, Median: 1200}, Result: bundle.LatencySame, P: 1, Alpha: 0.0166},
			{Name: "iteration", Of: "process.tag.several connect/json/1.1/identity", Each: "x", A: bundle.LatencySample{Samples: 4, Median: 1200}, B: bundle.LatencySample{Samples: 4, Median: 900}, Result: bundle.LatencyTooFew, P: 1, Alpha: 0.0166, Needed: 5},
		},
		Exit: 1,
	}
}

// alike is a comparison of two load runs that differ only in counts.
func alike() *bundle.Diff {
	side := bundle.DiffSide{Name: "load", Target: bundle.Target{URL: "http://127.0.0.1:1", Embedded: true}, Profile: "full", Verdict: "pass", Partial: []string{"the run was interrupted"}}
	return &bundle.Diff{
		Schema: bundle.DiffSchema, Kind: bundle.DiffLoads, A: side, B: side, Equal: true,
		Context: []bundle.DiffContext{}, Regressions: []bundle.VerdictChange{}, Fixes: []bundle.VerdictChange{}, Changes: []bundle.VerdictChange{},
		New: []bundle.DiffScenario{}, Vanished: []bundle.DiffScenario{}, NewRules: []string{}, VanishedRules: []string{}, NewCauses: []string{}, GoneCauses: []string{},
		Seen: []bundle.SeenChange{}, Features: []bundle.FeatureChange{}, Latency: []bundle.LatencyChange{},
		Counts: []bundle.CountChange{{Name: "streams.opened", A: 100, B: 103}}, LatencyNote: "a report alone has no histograms",
	}
}
