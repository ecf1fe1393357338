package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"assay/internal/bundle"
)

// mostRows limits the windows and events in a text.
const mostRows = 40

// soakTerminal draws a soak: the verdict, what changed when, what is wrong, the series, the windows, and the
// verdict again on the last line, where a terminal ends.
func soakTerminal(w io.Writer, r *bundle.SoakReport, s Style) error {
	t := soakText{newCanvas(w, s), r}
	t.block(painted{}, soakHeadline(r), plain)
	t.verdict()
	t.events()
	t.findings()
	t.series()
	t.windows()
	t.totals()
	t.row()
	t.verdict()
	return t.err
}

type soakText struct {
	*canvas
	r *bundle.SoakReport
}

// soakHeadline returns the target and the plan.
func soakHeadline(r *bundle.SoakReport) string {
	target := line(r.Target.URL)
	if r.Target.Embedded {
		target += " (embedded reference gateway)"
	}
	return fmt.Sprintf("%s · %s of %s planned in windows of %s · %s a second, %d held · seed %d",
		target, soakTook(r.DurationMS), soakTook(r.Plan.DurationMS), soakTook(r.Plan.WindowMS), plural(int(r.Plan.Rate), "stream"), r.Plan.Held, r.Plan.Seed)
}

// soakTook returns a time with its hours and minutes: 8h0m0s.
func soakTook(ms int64) string {
	return (time.Duration(ms) * time.Millisecond).Round(time.Second).String()
}

// soakVerdictText returns the verdict and its first reason.
func soakVerdictText(r *bundle.SoakReport) string {
	text := fmt.Sprintf("%s after %s in %s", strings.ToUpper(string(r.Verdict)), soakTook(r.DurationMS), plural(len(r.Windows), "window"))
	if r.Interrupted {
		text += " (interrupted: --resume continues it)"
	}
	if n := len(r.Reasons); n > 0 {
		text += ": " + line(r.Reasons[0])
		if n > 1 {
			text += fmt.Sprintf("; and %s", plural(n-1, "other reason"))
		}
	}
	return text
}

func (t soakText) verdict() {
	color := map[bundle.LoadVerdict]tint{bundle.LoadPass: green, bundle.LoadFail: red, bundle.LoadInconclusive: yellow}[t.r.Verdict]
	t.block(painted{}, soakVerdictText(t.r), color)
}

// soakClock returns a time since the start: 7:30:00.
func soakClock(ms int64) string {
	s := (ms + 500) / 1000
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

func (t soakText) events() {
	if len(t.r.Events) == 0 {
		return
	}
	t.row()
	t.row(t.paint(bold, "What changed"))
	for _, e := range t.r.Events[:min(len(t.r.Events), mostRows)] {
		t.block(painted{text: "  " + soakClock(e.AtMS) + "  "}, e.Kind+": "+line(e.Message), plain)
	}
	t.more(len(t.r.Events), "event")
}

func (t soakText) more(n int, noun string) {
	if n > mostRows {
		t.row(t.text(fmt.Sprintf("  and %s; --format json has all", plural(n-mostRows, "more "+noun))))
	}
}

// findings draws the findings that do not decide: the others are the reasons.
func (t soakText) findings() {
	known := slices.DeleteFunc(slices.Clone(t.r.Findings), func(f bundle.SoakFinding) bool { return f.Decides })
	if len(known) == 0 {
		return
	}
	t.row()
	t.row(t.paint(bold, "Worth knowing"))
	for _, f := range known {
		t.block(painted{text: "  "}, line(f.Message), plain)
	}
}

func (t soakText) series() {
	if len(t.r.Series) == 0 {
		return
	}
	t.row()
	t.row(t.paint(bold, "Leaks and drifts"))
	for i := range t.r.Series {
		s := &t.r.Series[i]
		color := map[string]tint{"steady": green, "leaks": red, "drifts": red}[s.Verdict]
		if s.Verdict == "inconclusive" {
			color = yellow
		}
		t.block(painted{"  " + pad(s.Verdict, 13), color}, line(s.Message), plain)
	}
}

func (t soakText) windows() {
	if len(t.r.Windows) == 0 {
		return
	}
	t.row()
	t.row(t.paint(bold, fmt.Sprintf("%-4s %-8s %8s %6s %7s %7s  %s", "", "until", "streams", "failed", "first", "p99", "verdict")))
	shown := t.r.Windows
	if len(shown) > mostRows { // those that are not pass, and the first and the last ones
		shown = slices.DeleteFunc(slices.Clone(shown), func(w bundle.SoakWindow) bool {
			return w.Verdict == bundle.LoadPass && w.Index > mostRows/4 && w.Index <= shown[len(shown)-1].Index-mostRows/4
		})
	}
	for i := range shown[:min(len(shown), 2*mostRows)] {
		t.window(&shown[i])
	}
	if n := len(t.r.Windows) - min(len(shown), 2*mostRows); n > 0 {
		t.row(t.text(fmt.Sprintf("  %s left out; --format json has all", plural(n, "window"))))
	}
}

func (t soakText) window(w *bundle.SoakWindow) {
	color := map[bundle.LoadVerdict]tint{bundle.LoadFail: red, bundle.LoadInconclusive: yellow}[w.Verdict]
	word := string(w.Verdict)
	if w.Warmup {
		word = strings.TrimPrefix(word+", warm-up", "pass, ")
	}
	if w.Partial {
		word += ", cut"
	}
	t.row(t.text(fmt.Sprintf("%4d %-8s %8d %6d %7s %7s  ", w.Index, soakClock(w.ToMS), w.Streams.Completed, w.Streams.Outcomes.Failed(), shortSpan(w.Latency.FirstEvent.P50), shortSpan(w.Latency.FirstEvent.P99))),
		t.paint(color, word))
	if w.Verdict != bundle.LoadPass && w.Message != "" {
		t.block(painted{text: "     "}, line(w.Message), plain)
	}
}

func (t soakText) totals() {
	t.row()
	r := t.r
	t.put("streams", fmt.Sprintf("%d, %s", r.Totals.Streams, outcomesInWords(r.Totals.Outcomes)))
	for _, name := range sortedWork(r.Totals.Work) {
		w := r.Totals.Work[name]
		t.put("  "+name, workText(w))
	}
	t.put("ledger", ledgerText(&r.Totals.Ledger))
	t.put("output", fmt.Sprintf("%d events, %s, every line checked", r.Totals.Events, bytesText(r.Totals.Bytes)))
	if absent := absentClasses(r); absent != "" {
		t.put("left out", absent+": the target has no such feature")
	}
	t.put("driver", engineText(&r.Driver))
}

// put draws a label and text.
func (t soakText) put(label, text string) {
	t.block(painted{text: loadLead(label)}, line(text), plain)
}

// workText counts the work of a class.
func workText(w bundle.SoakWork) string {
	text := fmt.Sprintf("%d done", w.Done)
	if w.Failed > 0 {
		text += fmt.Sprintf(", %d failed: %s", w.Failed, line(w.Example))
	}
	return text
}

func sortedWork(work map[string]bundle.SoakWork) []string {
	var names []string
	for name := range work {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// absentClasses lists the kinds of work that the target has no feature for.
func absentClasses(r *bundle.SoakReport) string {
	var names []string
	for _, c := range r.Plan.Classes {
		if c.Absent {
			names = append(names, line(c.Name))
		}
	}
	return strings.Join(names, ", ")
}

// soakAnnotations writes the reasons as annotations of GitHub Actions.
func soakAnnotations(w io.Writer, r *bundle.SoakReport) error {
	a := annotations{more: "the summary"}
	a.put(annotation{kind: kindOf(r.Exit()), title: "Assay soak: " + strings.ToUpper(string(r.Verdict)), message: cut(soakHeadline(r), maxAnnotation)})
	kind := "error"
	if r.Verdict == bundle.LoadInconclusive {
		kind = "warning"
	}
	for _, reason := range r.Reasons {
		a.put(annotation{kind: kind, title: "Assay soak", message: cut(line(reason), maxAnnotation)})
	}
	return a.writeTo(w)
}
