package reports

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"assay/internal/record/bundle"
)

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
