package reports

import (
	"bytes"
	"encoding/json"
	"testing"

	"assay/internal/record/bundle"
)

func sampleChanges() []bundle.Change {
	return []bundle.Change{
		{Rule: "profile.full.process.pty", Before: bundle.Fail, Message: "feature process.pty is required by the profile but absent"},
		{Scenario: "process.exit.codes", Axes: axesJSON, Rule: "process.end.exit-code", Before: bundle.Pass, After: bundle.Fail, Message: "forty-two: exit code: want 42, saw 0"},
		{Scenario: "process.exit.codes", Axes: axesProto, Rule: "process.end.once", After: bundle.Pass, Message: hostileText},
	}
}

func TestTerminalOfAVerification(t *testing.T) {
	for name, v := range map[string]*bundle.Verification{
		"verify-good": {Bundle: "run", Kind: bundle.KindConform, OK: true, Files: 174, Bytes: 30 << 20, Verdicts: 11018, Underivable: 3},
		"verify-load": {Bundle: "run", Kind: bundle.KindLoad, OK: true, Files: 6, Bytes: 30 << 10},
		"verify-not": {Bundle: "run", Kind: bundle.KindConform, Exit: 1, Problems: []bundle.Problem{
			{Kind: bundle.ProblemEdited, File: "observations.jsonl", Message: "observations.jsonl was changed: the manifest has 20 bytes, SHA-256 12ebbf173c09…, the file 21 bytes"},
			{Kind: bundle.ProblemUnfinished, Message: hostileText},
		}, Changed: sampleChanges()},
	} {
		goldenDrawing(t, name, func(b *bytes.Buffer, s Style) error { return Verification(b, v, s) })
	}
}

func TestTerminalTellsWhatChangedAndWhatTheReportDoesNotRestOn(t *testing.T) {
	r := passing()
	r.Changed = sampleChanges()
	r.Notes = []string{"merged from 2 shards: one, two", hostileText}
	goldenDrawing(t, "terminal-changed", func(b *bytes.Buffer, s Style) error { return Conform().Render(b, FormatTerminal, r, s) })
	r.Changed, r.Notes = []bundle.Change{}, nil
	goldenDrawing(t, "terminal-unchanged", func(b *bytes.Buffer, s Style) error { return Conform().Render(b, FormatTerminal, r, s) })
}

func TestNothingChangedIsAnEmptyListInJSON(t *testing.T) {
	for _, tc := range []struct {
		changed []bundle.Change
		want    string
	}{{nil, "absent"}, {[]bundle.Change{}, "[]"}} {
		r := passing()
		r.Changed = tc.changed
		var b bytes.Buffer
		if err := JSON(&b, r); err != nil {
			t.Fatal(err)
		}
		members := map[string]json.RawMessage{}
		if err := json.Unmarshal(b.Bytes(), &members); err != nil {
			t.Fatal(err)
		}
		got := "absent"
		if m, ok := members["changed"]; ok {
			got = string(m)
		}
		if got != tc.want {
			t.Errorf("changed is %s, want %s", got, tc.want)
		}
	}
}
