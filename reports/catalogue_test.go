package reports

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

func sampleCatalogue() (*scenarios.Catalogue, Faults) {
	cat := &scenarios.Catalogue{
		Rules: []*scenarios.Rule{
			{ID: "connect.host.two", Level: "may", Source: "connect", Text: "Two hosts answer alike.", Untestable: "needs two hosts"},
			{ID: "connect.stream.end-stream-once", Level: "must", Source: "Connect specification", Section: "Streaming-Response", Ref: "C118", Text: "A complete answer of a stream ends with exactly one end-of-stream message, and nothing follows it.", Standing: []string{"check:end-stream-once"}},
			{ID: "process.output.complete", Level: "must", Source: "envd 0.6.13", Text: "Every byte that a process wrote arrives.",
				Foundation: &scenarios.Foundation{Rank: 2, Symptoms: []bundle.Symptom{bundle.SymptomOutputShort, bundle.SymptomOutputMissing}, Rules: []string{"process.pty.*"}}},
		},
		Scenarios: []*scenarios.Scenario{
			{
				ID: "connect.stream.ends", Title: "A stream ends as it should", Rules: []string{"connect.stream.end-stream-once"}, Needs: []string{"process.start"},
				Axes: scenarios.AxesSpec{Codec: []string{"json", "proto"}}, File: "connect/stream.ends.yaml", Text: []byte("id: connect.stream.ends\nsteps: []\n"),
			},
			{
				ID: "process.output.large", Title: "Output over 64 kB arrives whole, in the order in which it was written", Exclusive: true, Slow: scenarios.Span{Fixed: time.Minute},
				Expect: []scenarios.Clause{{Rule: "process.output.complete"}}, Text: []byte("id: process.output.large\n"), Repeat: scenarios.Repeat{Times: 62},
			},
		},
	}
	return cat, Faults{"process.output.complete": {"tail-lost"}}
}

func sampleProfiles() []*scenarios.Profile {
	return []*scenarios.Profile{
		{ID: "connect", Title: "A command over Connect, and nothing else", Require: []string{"process.start", "codec.json"}, Levels: map[string]scenarios.LevelChange{
			"connect.host.two": {Level: "must", Reason: "Clients rely on it."},
		}},
		{ID: "envd", Title: "The E2B sandbox daemon", Require: []string{"process.start"}, Shell: []string{"/bin/bash", "-l", "-c"}, Deviations: map[string]scenarios.Deviation{
			"process.output.complete": {Scenarios: []string{"process.signal.*"}, Symptoms: []bundle.Symptom{bundle.SymptomOutputShort}, Reason: "After SIGTERM the daemon does not wait for output that is still in the pipe, so it may be lost."},
			"connect.old":             {Reason: "Of an older bundle."},
		}},
	}
}

func TestTheProfiles(t *testing.T) {
	goldenDrawing(t, "profiles", func(b *bytes.Buffer, s Style) error { return Profiles(b, sampleProfiles(), s) })
	var b bytes.Buffer
	if err := ProfilesJSON(&b, sampleProfiles()); err != nil {
		t.Fatal(err)
	}
	golden(t, "profiles.json", b.Bytes())
}

func TestTheCatalogue(t *testing.T) {
	cat, faults := sampleCatalogue()
	goldenDrawing(t, "list", func(b *bytes.Buffer, s Style) error { return List(b, cat, faults, s) })
	var b bytes.Buffer
	if err := ListJSON(&b, cat, faults); err != nil {
		t.Fatal(err)
	}
	golden(t, "list.json", b.Bytes())
}

func TestTheCatalogueAsJSONHasTheKeysOfItsSchema(t *testing.T) {
	cat, faults := sampleCatalogue()
	var b bytes.Buffer
	if err := ListJSON(&b, cat, faults); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Schema           string
		Rules, Scenarios []map[string]any
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Schema != "assay.catalogue/v1" || len(doc.Rules) != 3 || len(doc.Scenarios) != 2 {
		t.Fatalf("got %+v", doc)
	}
	for _, r := range doc.Rules {
		for _, key := range []string{"id", "level", "source", "section", "text", "scenarios", "faults"} {
			if r[key] == nil {
				t.Errorf("rule %v: %s is missing or null", r["id"], key)
			}
		}
	}
	if doc.Rules[0]["untestable"] != "needs two hosts" || doc.Rules[1]["untestable"] != nil {
		t.Error("untestable is the reason, or null")
	}
	if _, there := doc.Rules[1]["untestable"]; !there {
		t.Error("untestable is left out")
	}
}

func TestExplain(t *testing.T) {
	cat, faults := sampleCatalogue()
	for _, id := range []string{"connect.stream.end-stream-once", "process.output.complete", "process.output.large", "envd"} {
		goldenDrawing(t, "explain-"+id, func(b *bytes.Buffer, s Style) error {
			return Explain(b, Topic{cat, sampleProfiles(), faults, id}, s)
		})
	}
}

func TestExplainOfAnUnknownIDSuggestsNearOnes(t *testing.T) {
	cat, faults := sampleCatalogue()
	for id, want := range map[string]string{
		"process.output.complet": "did you mean process.output.complete", "large": "process.output.large", "envt": "did you mean envd", "zzz": "see `assay list` and `assay list --profiles`", "": "assay list",
	} {
		err := Explain(new(bytes.Buffer), Topic{cat, sampleProfiles(), faults, id}, Style{})
		var unknown *UnknownIDError
		if !errors.As(err, &unknown) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", id, err, want)
		}
	}
}

func sampleSelftest() *bundle.SelftestReport {
	return &bundle.SelftestReport{
		Score: 0.5, Exit: 1,
		Faults: []bundle.FaultResult{
			{ID: "tail-lost", Title: "Output beyond 64 kB is lost in one of five runs", Breaks: []string{"process.output.complete"}, Source: "the exit is reported before the pumps are drained", Killed: true, By: []string{"process.output.large"}, Saw: "65536 of 200000 bytes"},
			{ID: "exit-code-zeroed", Title: "Every exit code is 0", Breaks: []string{"process.end.exit-code"}, Source: "an int read as absent"},
		},
		Variants:  []bundle.VariantResult{{ID: "one-byte-chunks", Clean: true}, {ID: "indented-json", Failing: []string{"connect.unary.json"}}},
		Survivors: []string{"exit-code-zeroed"},
	}
}

// sampleBlame is a full self-test: a fault with both kinds of blame, one with the maximum number of
// causes, and one with too many.
func sampleBlame() *bundle.SelftestReport {
	axes := bundle.Axes{Protocol: "connect", Codec: "json", HTTP: "1.1", Compression: "identity"}
	tail, exit := "process.output.complete", "process.end.exit-code"
	fault := func(id string, breaks []string, causes ...string) bundle.FaultResult {
		return bundle.FaultResult{ID: id, Breaks: breaks, Killed: true, By: []string{"process.exit.codes"}, Causes: causes, Blame: []bundle.Blame{}}
	}
	lost := fault("tail-lost", []string{tail}, tail, "process.connect.attach")
	lost.Unattached = 3
	lost.Blame = []bundle.Blame{
		{Rule: "process.connect.attach", Cause: "process.connect.attach", Scenarios: []string{"process.connect.attach", "process.connect.churn"}, Axes: axes, Message: "c: stdout ends at byte 65536 of 200000: want \"rstuvwxyz\", saw the end (end event, frame 4, body offset 176)"},
		{Rule: "process.connect.gone", Cause: "process.connect.attach", Scenarios: []string{"process.connect.churn"}, Axes: axes, Message: "c: no end event"},
		{Rule: "run.target-alive", Cause: "run.target-alive", Message: "the target stopped responding"},
		{Rule: "process.pty.output-complete", Cause: tail, Attached: true, Scenarios: []string{"process.pty.output"}, Axes: axes, Message: "short"},
	}
	lost.Once = []string{"process.exit.codes [connect/json/1.1/identity] process.end.once: fail: no end event"}
	three := fault("three-causes", []string{exit, tail, "process.end.once"}, exit, "process.end.once", tail)
	return &bundle.SelftestReport{
		Score: 1, Exit: 1, IdleScenarios: []string{},
		Faults: []bundle.FaultResult{lost, fault("exit-code-zeroed", []string{exit}, exit), three},
	}
}

func TestTheSelftestTellsOfItsExitCode(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*bundle.SelftestReport)
		want   string
	}{
		{"a survivor", func(*bundle.SelftestReport) {}, "a fault survived"},
		{"a blamed variant", func(r *bundle.SelftestReport) { r.Faults = r.Faults[:1] }, "a legal variant failed"},
		{"all is well", func(r *bundle.SelftestReport) { r.Faults, r.Variants, r.Exit = r.Faults[:1], r.Variants[:1], 0 }, "TRUSTED  every fault"},
		{"a fault with blame", func(r *bundle.SelftestReport) {
			r.Faults, r.Variants = r.Faults[:1], r.Variants[:1]
			r.Faults[0].Unattached = 1
		}, "NOT TRUSTED  a fault breaks an unrelated rule"},
		{"a fault with too many causes", func(r *bundle.SelftestReport) {
			r.Faults, r.Variants = r.Faults[:1], r.Variants[:1]
			r.Faults[0].Causes = []string{"a.b.c", "a.b.d", "a.b.e"}
		}, "NOT TRUSTED  a fault breaks an unrelated rule"},
		{"a part", func(r *bundle.SelftestReport) {
			r.Faults, r.Variants, r.Exit, r.Shard = r.Faults[:1], r.Variants[:1], 0, "2/7"
		}, "part 2/7 of them"},
		{"interrupted", func(r *bundle.SelftestReport) { r.Exit = 130 }, "INTERRUPTED"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := sampleSelftest()
			tt.change(r)
			var b bytes.Buffer
			if err := Selftest().Render(&b, FormatTerminal, r, Style{}); err != nil || !strings.Contains(b.String(), tt.want) {
				t.Errorf("no %q (%v) in\n%s", tt.want, err, b.String())
			}
		})
	}
}
