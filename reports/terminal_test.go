package reports

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"assay/internal/bundle"
)

func TestTheTerminalReport(t *testing.T) {
	for name, r := range map[string]*bundle.Report{"passing": passing(), "failing": failing(), "caused": caused()} {
		t.Run(name, func(t *testing.T) {
			goldenDrawing(t, "terminal-"+name, func(b *bytes.Buffer, s Style) error { return Conform().Render(b, FormatTerminal, r, s) })
		})
	}
}

func draw(t *testing.T, r *bundle.Report, s Style) string {
	t.Helper()
	var b bytes.Buffer
	if err := Conform().Render(&b, FormatTerminal, r, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAPassingRunTakesAFewLines(t *testing.T) {
	many := passing()
	for i := range 9 {
		s := many.Scenarios[1]
		s.ID = fmt.Sprintf("coppice.race-%d", i)
		many.Scenarios = append(many.Scenarios, s)
	}
	for _, r := range []*bundle.Report{passing(), many} {
		if n := strings.Count(draw(t, r, Style{}), "\n"); n < 3 || n > 6 {
			t.Errorf("%d lines, want 3 to 6:\n%s", n, draw(t, r, Style{}))
		}
	}
}

func TestFailuresComeFirstWithAllThatIsNeeded(t *testing.T) {
	text := draw(t, failing(), Style{Width: 120})
	at := -1
	for _, part := range []string{
		"FAIL  process.output.complete", "must", "Every byte that a process wrote", "process.output.large", "connect/{json,proto}/1.1/identity",
		"stdout is 65536 bytes", "$ assay replay process.output.large",
		"ERROR  ", "INCONCLUSIVE  ", "ADVISORY  ", "race  ", "NOT CONFORMANT", "(exit 1)",
	} {
		next := strings.Index(text[at+1:], part)
		if next < 0 {
			t.Fatalf("%q is missing, or comes too early:\n%s", part, text)
		}
		at += 1 + next
	}
}

func TestColoursAreOnlyThereWhenAskedFor(t *testing.T) {
	if strings.Contains(draw(t, failing(), Style{}), "\x1b") {
		t.Error("escapes without colour")
	}
	if !strings.Contains(draw(t, failing(), Style{Color: true}), "\x1b[1;31mFAIL") {
		t.Error("no red with colour")
	}
}

func TestAHostileTargetDoesNotControlTheTerminal(t *testing.T) {
	r := caused()
	for i := range r.Causes {
		c := &r.Causes[i]
		c.Rule, c.Level, c.Title, c.Message, c.Reproducer, c.Transcript = hostileText, hostileText, hostileText, hostileText, hostileText, hostileText
		c.Follows, c.Unjudged, c.Scenario = []string{hostileText}, []string{hostileText}, hostileText
	}
	count := []bundle.Count{{Name: hostileText, Runs: 1}}
	r.Scope, r.Died = &bundle.Scope{Unsupported: count, NotRun: count, Deviations: count}, &bundle.Died{Scenario: hostileText}
	r.Scenarios = append(r.Scenarios, failing().Scenarios...)
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		s.ID, s.Title, s.Replay, s.Axes.Codec = hostileText, hostileText, hostileText, hostileText
		for j := range s.Rules {
			v := &s.Rules[j]
			v.ID, v.Level, v.Text, v.Source, v.Message, v.Seen = hostileText, hostileText, hostileText, hostileText, hostileText, hostileText
			v.Counts = map[string]int{hostileText: 1}
		}
	}
	r.Target.URL, r.Profile, r.Tool.Name = hostileText, hostileText, hostileText
	for _, s := range []Style{{Width: 60}, {Width: 200, Verbose: true}} {
		text := draw(t, r, s)
		for _, bad := range []string{"\x1b", "\x07", "\x00", "\xff", "\u202e", "\u009b"} {
			if strings.Contains(text, bad) {
				t.Errorf("%q came through", bad)
			}
		}
	}
}

func TestManyPlacesOfOneRuleAreFolded(t *testing.T) {
	r := failing()
	for i := range 20 {
		s := r.Scenarios[3]
		s.ID = fmt.Sprintf("process.many.%02d", i)
		s.Rules = []bundle.RuleVerdict{rule("process.output.complete", "must", "", bundle.Fail, fmt.Sprintf("lost %d", i))}
		r.Scenarios = append(r.Scenarios, s)
	}
	text := draw(t, counted(r), Style{})
	if !strings.Contains(text, "and in 17 more:") || !strings.Contains(text, "process.many.19") || strings.Contains(text, "lost 19") {
		t.Errorf("not folded:\n%s", text)
	}
	if !strings.Contains(draw(t, r, Style{Verbose: true}), "lost 19") {
		t.Error("folded with Verbose")
	}
}

func TestTheVerdictLineSaysWhatTheExitCodeMeans(t *testing.T) {
	for code, want := range map[int]string{
		0: "every tested rule holds (exit 0)", 1: "rules are broken (exit 1)", 2: "configuration", 3: "unreachable",
		4: "Assay itself failed", 5: "(exit 5)", 130: "that had run (exit 130)",
	} {
		r := passing()
		r.Exit = code
		if text := draw(t, r, Style{}); !strings.Contains(text, want) {
			t.Errorf("exit %d: no %q in\n%s", code, want, text)
		}
	}
}

type brokenPipe struct{}

var errPipe = errors.New("pipe")

func (brokenPipe) Write([]byte) (int, error) { return 0, errPipe }

func TestAFailedWriteIsReturned(t *testing.T) {
	for _, f := range Conform().Formats() {
		if err := Conform().Render(brokenPipe{}, f, failing(), Style{}); !errors.Is(err, errPipe) {
			t.Errorf("%s: error %v", f, err)
		}
	}
}

func TestAnUnknownFormatListsTheKnownOnes(t *testing.T) {
	var b bytes.Buffer
	err := Conform().Render(&b, "pdf", passing(), Style{})
	if err == nil || !strings.Contains(err.Error(), "text, json, junit") || b.Len() > 0 {
		t.Errorf("error %v, %d bytes written", err, b.Len())
	}
}
