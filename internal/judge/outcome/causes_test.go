package outcome

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

func foundations() *scenarios.Catalogue {
	of := func(rank int, rules []string, symptoms ...bundle.Symptom) *scenarios.Foundation {
		return &scenarios.Foundation{Rank: rank, Rules: rules, Symptoms: symptoms}
	}
	return &scenarios.Catalogue{
		Rules: []*scenarios.Rule{
			{ID: "connect.timeout.expired", Level: "must", Text: "A deadline ends the call.", Foundation: of(40, nil, bundle.SymptomNoDeadline)},
			{ID: "process.end.once", Level: "must", Foundation: of(30, nil, bundle.SymptomNoEnd)},
			{ID: "process.output.complete", Level: "must", Text: "All output arrives.", Foundation: of(20, nil, bundle.SymptomOutputShort)},
			{ID: "process.pty.is-terminal", Level: "must", Foundation: of(50, []string{"process.pty.*"})},
			{ID: "process.start.begins", Level: "must", Foundation: of(60, nil, bundle.SymptomNoStart, bundle.SymptomRefused)},
			{ID: "stdio.output.complete", Level: "must", Foundation: of(70, nil, bundle.SymptomOutputShort)},
			{ID: "transport.whole", Level: "must", Foundation: of(10, nil, bundle.SymptomCut)},
		},
		Scenarios: []*scenarios.Scenario{
			{ID: "a.long", Steps: []scenarios.Step{{}, {}, {}}}, {ID: "a.short", Steps: []scenarios.Step{{}}},
			{ID: "a.often", Steps: []scenarios.Step{{}}, Repeat: scenarios.Repeat{Times: 62}},
		},
	}
}

// on is a verdict on a scenario, by default over the plainest axes.
func on(scenario, rule string, c bundle.Conclusion, s bundle.Symptom) bundle.Verdict {
	return bundle.Verdict{
		Scenario: scenario, Rule: rule, Level: "must", Conclusion: c, Symptom: s, Message: scenario + " " + string(s),
		Axes: bundle.Axes{Protocol: "connect", Codec: "json", HTTP: "1.1", Compression: "identity"},
	}
}

func over(v bundle.Verdict, protocol, http string) bundle.Verdict {
	v.Axes.Protocol, v.Axes.HTTP = protocol, http
	return v
}

// seen is a verdict whose evidence is an exchange of an iteration.
func seen(v bundle.Verdict, iteration, exchange int) bundle.Verdict {
	v.Evidence = &bundle.Evidence{Iteration: iteration, Exchange: exchange, Off: -1}
	return v
}

// leveled is a verdict on a rule of another level.
func leveled(v bundle.Verdict, level string) bundle.Verdict {
	v.Level = level
	return v
}

func lacks(feature string) bundle.Verdict {
	return bundle.Verdict{Rule: "profile.e2b." + feature, Level: "must", Conclusion: bundle.Fail, Symptom: bundle.SymptomAbsent, Message: feature + " is absent"}
}

func varied(v bundle.Verdict) bundle.Verdict {
	v.Varied = true
	return v
}

func TestCauses(t *testing.T) {
	short, fail := bundle.SymptomOutputShort, bundle.Fail
	cases := []struct {
		name     string
		verdicts []bundle.Verdict
		want     map[string][]string // rule -> what follows
	}{
		{"nothing failed", []bundle.Verdict{on("a.short", "x.y.z", bundle.Pass, "")}, map[string][]string{}},
		{"a failure by itself", []bundle.Verdict{on("a.short", "x.y.z", fail, short)}, map[string][]string{"x.y.z": {}}},
		{"a symptom that a broken foundation explains", []bundle.Verdict{
			on("a.short", "process.output.complete", fail, short), on("a.long", "x.y.z", fail, short),
		}, map[string][]string{"process.output.complete": {"x.y.z"}}},
		{"stdio explains stdio, and no other surface", []bundle.Verdict{
			on("a.short", "stdio.output.complete", fail, short), on("a.long", "stdio.pty.size", fail, short), on("a.often", "x.y.z", fail, short),
		}, map[string][]string{"stdio.output.complete": {"stdio.pty.size"}, "x.y.z": {}}},
		{"another symptom", []bundle.Verdict{
			on("a.short", "process.output.complete", fail, short), on("a.long", "x.y.z", fail, bundle.SymptomExitCode),
		}, map[string][]string{"process.output.complete": {}, "x.y.z": {}}},
		{"one of two failures is explained", []bundle.Verdict{
			on("a.short", "process.output.complete", fail, short), on("a.long", "x.y.z", fail, short), on("a.short", "x.y.z", fail, bundle.SymptomExitCode),
		}, map[string][]string{"process.output.complete": {}, "x.y.z": {}}},
		{"a foundation that holds explains nothing", []bundle.Verdict{
			on("a.short", "process.output.complete", bundle.Pass, ""), on("a.long", "x.y.z", fail, short),
		}, map[string][]string{"x.y.z": {}}},
		{"a foundation that held in the same run", []bundle.Verdict{
			on("a.short", "process.output.complete", fail, short), on("a.long", "process.output.complete", bundle.Pass, ""), on("a.long", "x.y.z", fail, short),
		}, map[string][]string{"process.output.complete": {}, "x.y.z": {}}},
		{"a rule that a foundation names, in a run in which it held", []bundle.Verdict{
			on("a.short", "process.pty.is-terminal", fail, ""), on("a.long", "process.pty.is-terminal", bundle.Pass, ""), over(on("a.long", "process.pty.echo", fail, ""), "grpc", "1.1"),
		}, map[string][]string{"process.pty.is-terminal": {"process.pty.echo"}}},
		{"a rule that a foundation names", []bundle.Verdict{
			on("a.short", "process.pty.is-terminal", fail, bundle.SymptomOutputOther), on("a.long", "process.pty.echo", fail, bundle.SymptomHeldBack),
		}, map[string][]string{"process.pty.is-terminal": {"process.pty.echo"}}},
		{"a chain has one root", []bundle.Verdict{
			on("a.short", "transport.whole", fail, bundle.SymptomViolation), on("a.short", "process.end.once", fail, bundle.SymptomCut),
			on("a.long", "x.y.z", fail, bundle.SymptomNoEnd),
		}, map[string][]string{"transport.whole": {"process.end.once", "x.y.z"}}},
		{"a foundation never follows from one that rests on it", []bundle.Verdict{
			on("a.short", "process.output.complete", fail, bundle.SymptomNoEnd), on("a.short", "process.end.once", fail, short),
		}, map[string][]string{"process.output.complete": {"process.end.once"}}},
		{"an advisory explains no failure", []bundle.Verdict{
			on("a.short", "connect.timeout.expired", bundle.Advisory, bundle.SymptomNoDeadline), on("a.long", "x.y.z", fail, bundle.SymptomNoDeadline),
		}, map[string][]string{"x.y.z": {}}},
		{"a rule of Connect explains nothing over gRPC", []bundle.Verdict{
			on("a.short", "connect.timeout.expired", fail, bundle.SymptomNoDeadline), over(on("a.long", "x.y.z", fail, bundle.SymptomNoDeadline), "grpc", "h2c"),
		}, map[string][]string{"connect.timeout.expired": {}, "x.y.z": {}}},
		{"what broke over HTTP/2 alone explains nothing over HTTP/1.1", []bundle.Verdict{
			over(on("a.short", "process.output.complete", fail, short), "connect", "h2c"), on("a.short", "process.output.complete", bundle.Pass, ""),
			on("a.long", "x.y.z", fail, short),
		}, map[string][]string{"process.output.complete": {}, "x.y.z": {}}},
		{"what broke over HTTP/1.1 was not looked at over HTTP/2", []bundle.Verdict{
			on("a.short", "process.output.complete", fail, short), over(on("a.often", "process.output.complete", bundle.Pass, ""), "connect", "h2c"),
			over(on("a.long", "x.y.z", fail, short), "connect", "h2c"),
		}, map[string][]string{"process.output.complete": {"x.y.z"}}},
		{"what broke at random reaches every version of HTTP", []bundle.Verdict{
			over(on("a.short", "process.output.complete", fail, short), "connect", "h2c"), over(on("a.short", "process.output.complete", bundle.Pass, ""), "grpc", "h2c"),
			on("a.short", "process.output.complete", bundle.Pass, ""), on("a.long", "x.y.z", fail, short),
		}, map[string][]string{"process.output.complete": {"x.y.z"}}},
		{"what broke in some of the iterations alone did so at random", []bundle.Verdict{
			varied(on("a.short", "process.output.complete", fail, short)), over(on("a.short", "process.output.complete", bundle.Pass, ""), "connect", "h2c"),
			over(on("a.long", "x.y.z", fail, short), "connect", "h2c"),
		}, map[string][]string{"process.output.complete": {"x.y.z"}}},
		{"starts that fail at random explain a foundation that held elsewhere", []bundle.Verdict{
			on("a.short", "process.start.begins", fail, bundle.SymptomRefused), over(on("a.short", "process.start.begins", bundle.Pass, ""), "grpc", "1.1"),
			on("a.long", "process.end.once", fail, bundle.SymptomNoStart), on("a.short", "process.end.once", bundle.Pass, ""),
		}, map[string][]string{"process.start.begins": {"process.end.once"}}},
		{"starts that fail at random, and a foundation that holds nowhere", []bundle.Verdict{
			on("a.short", "process.start.begins", fail, bundle.SymptomRefused), over(on("a.short", "process.start.begins", bundle.Pass, ""), "grpc", "1.1"),
			on("a.long", "process.end.once", fail, bundle.SymptomNoStart),
		}, map[string][]string{"process.start.begins": {}, "process.end.once": {}}},
		{"starts that always fail, and a foundation that held elsewhere", []bundle.Verdict{
			on("a.short", "process.start.begins", fail, bundle.SymptomRefused),
			on("a.long", "process.end.once", fail, bundle.SymptomNoStart), on("a.short", "process.end.once", bundle.Pass, ""),
		}, map[string][]string{"process.start.begins": {}, "process.end.once": {}}},
		{"a rule about the whole run", []bundle.Verdict{{Rule: "profile.e2b.process.pty", Level: "must", Conclusion: fail, Symptom: bundle.SymptomAbsent}},
			map[string][]string{"profile.e2b.process.pty": {}}},
		{"one exchange with one symptom is one cause, headed by the first id", []bundle.Verdict{
			seen(on("a.short", "x.y.z", fail, bundle.SymptomHeader), 0, 1), seen(on("a.short", "x.y.a", fail, bundle.SymptomHeader), 0, 1),
		}, map[string][]string{"x.y.a": {"x.y.z"}}},
		{"one exchange is headed by a must, whatever the id", []bundle.Verdict{
			seen(on("a.short", "x.y.z", fail, bundle.SymptomHeader), 0, 1), leveled(seen(on("a.short", "x.y.a", fail, bundle.SymptomHeader), 0, 1), "should"),
		}, map[string][]string{"x.y.z": {"x.y.a"}}},
		{"one exchange is headed by a foundation, whatever the level", []bundle.Verdict{
			seen(on("a.short", "x.y.a", fail, bundle.SymptomHeader), 0, 1), leveled(seen(on("a.short", "process.end.once", fail, bundle.SymptomHeader), 0, 1), "should"),
		}, map[string][]string{"process.end.once": {"x.y.a"}}},
		{"an advisory heads no failure of its exchange", []bundle.Verdict{
			seen(on("a.short", "process.end.once", bundle.Advisory, bundle.SymptomHeader), 0, 1), seen(on("a.short", "x.y.a", fail, bundle.SymptomHeader), 0, 1),
		}, map[string][]string{"x.y.a": {}}},
		{"two exchanges, iterations, axes or symptoms are two causes", []bundle.Verdict{
			seen(on("a.short", "x.y.a", fail, bundle.SymptomHeader), 0, 1), seen(on("a.short", "x.y.b", fail, bundle.SymptomHeader), 0, 2),
			seen(on("a.short", "x.y.c", fail, bundle.SymptomHeader), 1, 1), seen(over(on("a.short", "x.y.d", fail, bundle.SymptomHeader), "connect", "h2c"), 0, 1),
			seen(on("a.short", "x.y.e", fail, bundle.SymptomStatus), 0, 1), seen(on("a.long", "x.y.f", fail, bundle.SymptomHeader), 0, 1),
		}, map[string][]string{"x.y.a": {}, "x.y.b": {}, "x.y.c": {}, "x.y.d": {}, "x.y.e": {}, "x.y.f": {}}},
		{"a rule that is broken in an exchange of its own is a cause", []bundle.Verdict{
			seen(on("a.short", "x.y.a", fail, bundle.SymptomHeader), 0, 1), seen(on("a.short", "x.y.z", fail, bundle.SymptomHeader), 0, 1),
			seen(on("a.long", "x.y.z", fail, bundle.SymptomHeader), 0, 1),
		}, map[string][]string{"x.y.a": {}, "x.y.z": {}}},
		{"evidence without an exchange says nothing", []bundle.Verdict{
			seen(on("a.short", "x.y.a", fail, bundle.SymptomHeader), -1, -1), seen(on("a.short", "x.y.z", fail, bundle.SymptomHeader), -1, -1),
		}, map[string][]string{"x.y.a": {}, "x.y.z": {}}},
		{"the features that a target lacks are one cause", []bundle.Verdict{lacks("process.pty"), lacks("files"), on("a.short", "x.y.z", fail, short)},
			map[string][]string{"profile.e2b.files": {"profile.e2b.process.pty"}, "x.y.z": {}}},
		{"a deviation is no cause", []bundle.Verdict{on("a.short", "process.output.complete", bundle.Deviation, short)}, map[string][]string{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := map[string][]string{}
			for _, cause := range Causes(testRun(), foundations(), c.verdicts) {
				got[cause.Rule] = cause.Follows
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			slices.Reverse(c.verdicts)
			again := map[string][]string{}
			for _, cause := range Causes(testRun(), foundations(), c.verdicts) {
				again[cause.Rule] = cause.Follows
			}
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("they depend on the order of the verdicts:\n%s", diff)
			}
		})
	}
}

// The best evidence is the smallest script on the plainest axes. Rules that could not be judged
// for the same reason are listed unless they are broken elsewhere.
func TestACauseIsToldByItsBestEvidence(t *testing.T) {
	causes := Causes(testRun(), foundations(), []bundle.Verdict{
		on("a.long", "process.output.complete", bundle.Fail, bundle.SymptomOutputShort),
		on("a.often", "process.output.complete", bundle.Fail, bundle.SymptomOutputShort),
		over(on("a.short", "process.output.complete", bundle.Fail, bundle.SymptomOutputShort), "grpc", "h2c"),
		on("a.short", "process.output.complete", bundle.Fail, bundle.SymptomOutputShort),
		on("a.long", "not.judged.here", bundle.Inconclusive, bundle.SymptomOutputShort),
		on("a.long", "open.for.another", bundle.Inconclusive, bundle.SymptomTooRare),
		on("a.long", "broken.as.well", bundle.Inconclusive, bundle.SymptomOutputShort),
		on("a.short", "broken.as.well", bundle.Fail, bundle.SymptomOutputShort),
	})
	want := []bundle.Cause{{
		Rule: "process.output.complete", Level: "must", Title: "All output arrives.", Scenario: "a.short", Message: "a.short output-short",
		Axes:    bundle.Axes{Protocol: "connect", Codec: "json", HTTP: "1.1", Compression: "identity"},
		Follows: []string{"broken.as.well"}, Unjudged: []string{"not.judged.here"}, Scenarios: []string{"a.long", "a.often", "a.short"},
		Reproducer: "assay replay a.short http://127.0.0.1:8081 --axis connect/json/1.1/identity --seed 7",
	}}
	if diff := cmp.Diff(want, causes); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The features that a target lacks are listed with their probes, and have one command.
func TestACauseListsTheFeaturesThatATargetLacks(t *testing.T) {
	run := testRun()
	run.Profile, run.Flags = "e2b", []string{"--profile", "e2b"}
	run.Features = map[string]bundle.Feature{
		"files":       {State: bundle.FeatureAbsent, Detail: "GET /files?path=.: 404 text/plain"},
		"process.pty": {State: bundle.FeatureAbsent, Detail: "the field pty is ignored"},
	}
	skipped := on("process.pty.size", "process.pty.size", bundle.Unsupported, "")
	for _, c := range []struct {
		verdicts []bundle.Verdict
		want     string
	}{
		{[]bundle.Verdict{lacks("process.pty"), skipped}, "process.pty is absent"},
		{[]bundle.Verdict{lacks("process.pty"), lacks("files"), skipped},
			"2 features are required by the profile but absent:\n  files: GET /files?path=.: 404 text/plain\n  process.pty: the field pty is ignored"},
	} {
		causes := Causes(run, foundations(), c.verdicts)
		const again = "assay conform http://127.0.0.1:8081 --select process.pty.size --profile e2b"
		if len(causes) != 1 || causes[0].Message != c.want || causes[0].Reproducer != again {
			t.Errorf("want one cause with %q and %q, got %+v", c.want, again, causes)
		}
	}
}

// What the rules of the catalogue explain, where the consequences do not look like their cause.
func TestTheFoundationsOfTheCatalogue(t *testing.T) {
	cat, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	fail := bundle.Fail
	for _, c := range []struct {
		name, cause string
		follows     []bundle.Verdict
	}{
		{"a refused upload, and its download", "files.write.round-trip", []bundle.Verdict{
			on("files.write.parents", "files.write.parents", fail, bundle.SymptomStatus), on("files.gzip.upload", "files.gzip.upload", fail, bundle.SymptomStatus),
			on("sandbox.files.uploaded", "sandbox.files.command-reads", fail, bundle.SymptomOutputMissing),
		}},
		{"a watch that sends nothing", "filesystem.watch.start", []bundle.Verdict{
			on("filesystem.watch.missing", "filesystem.watch.missing", fail, bundle.SymptomNoAnswer),
			on("filesystem.watch.keepalive", "filesystem.watch.keepalive", fail, bundle.SymptomHeldBack),
			on("sandbox.files.watched", "sandbox.files.watch-sees-commands", fail, bundle.SymptomHeldBack),
		}},
		{"a codec that is unknown", "connect.type.unary-codecs", []bundle.Verdict{
			on("process.start.plain", "process.start.begins", fail, bundle.SymptomCodec), on("process.exit.codes", "process.end.once", fail, bundle.SymptomCodec),
			on("connect.type.unary", "connect.unary.success-status", fail, bundle.SymptomCodec),
			on("connect.timeout.expires", "connect.timeout.expired", fail, bundle.SymptomCodec),
		}},
		{"a stream that is gzip as a whole", "connect.compression.no-whole-stream", []bundle.Verdict{
			on("connect.compression.response", "connect.stream.reserved-flags", fail, bundle.SymptomViolation),
			on("connect.compression.response", "connect.compression.declared-response", fail, bundle.SymptomViolation),
			on("connect.compression.response", "connect.stream.end-stream-once", fail, bundle.SymptomNoEndStream),
		}},
		{"messages that are compressed without a word", "connect.compression.declared-response", []bundle.Verdict{
			on("connect.stream.flushed", "connect.stream.flushed", fail, bundle.SymptomHeldBack), on("filesystem.watch.create", "filesystem.watch.start", fail, bundle.SymptomHeldBack),
			on("stdio.end.client-closes-connect", "stdio.end.client-closes", fail, bundle.SymptomNoEnd),
		}},
		{"input that ends after the first write", "process.input.open", []bundle.Verdict{
			on("process.input.echo", "process.input.delivered", fail, bundle.SymptomRefused), on("process.input.echo", "process.input.close", fail, bundle.SymptomRefused),
			on("process.connect.client-gone", "process.connect.client-gone", fail, bundle.SymptomRefused),
			on("process.list.running", "process.list.running", fail, bundle.SymptomNotListed),
			on("process.signal.term-caught", "process.signal.term-keeps-entry", fail, bundle.SymptomExitCode),
			on("stdio.shared.output", "stdio.shared.collaborative", fail, bundle.SymptomOutputShort),
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Causes(testRun(), cat, append(c.follows, on("a.short", c.cause, fail, bundle.SymptomOther)))
			if len(got) != 1 || got[0].Rule != c.cause || len(got[0].Follows) != len(c.follows) {
				t.Errorf("want one cause, %s, with %d rules that follow, got %+v", c.cause, len(c.follows), got)
			}
			for _, v := range c.follows {
				if cat.Rule(v.Rule) == nil {
					t.Errorf("there is no rule %s", v.Rule)
				}
			}
		})
	}
}

// A run is inconclusive if it skipped scenarios for a reason other than their flags.
func TestARunThatWasCutShortIsInconclusive(t *testing.T) {
	for reason, want := range map[bundle.SkipReason]int{
		bundle.SkipSlow: 0, bundle.SkipDestructive: 0, bundle.SkipFeature: 0, bundle.SkipStalled: exitInconclusive, "budget": exitInconclusive,
	} {
		obs := []*bundle.Observation{{Scenario: "area.one"}, {Scenario: "area.two", Skip: &bundle.Skip{Reason: reason, Detail: "x"}}}
		r := Report(testRun(), nil, obs, []bundle.Verdict{
			{Scenario: "area.one", Rule: "r.a.b", Level: "must", Conclusion: bundle.Pass},
			{Scenario: "area.two", Rule: "r.a.b", Level: "must", Conclusion: bundle.NotRun},
		})
		if r.Exit != want {
			t.Errorf("%s: exit code %d, want %d", reason, r.Exit, want)
		}
	}
}
