package reports

import (
	"fmt"
	"io"
	"strings"

	"assay/internal/record/bundle"
)

// A runner of GitHub Actions shows ten annotations of a kind per step, and drops the rest
// without a word: nine are written, and one that counts the others.
const maxAnnotations = 9

// maxAnnotation is the maximum length of the message of an annotation, in columns: a page of GitHub shows them in full.
const maxAnnotation = 500

// seeSummary says where the annotations are that the runner would drop.
const seeSummary = "%d more, see the summary"

// annotations writes workflow commands of GitHub Actions.
type annotations struct {
	b     strings.Builder
	title string         // of the annotation that counts those left out
	more  string         // that annotation, with the number as %d
	wrote map[string]int // by kind
	left  map[string]int
}

// annotation is one annotation. File is "" unless it belongs to a line of the user's source.
type annotation struct {
	kind, title, message string // kind is error, warning or notice
	file                 string
	line, column         int
}

// put writes an annotation, or counts it when there are enough of its kind.
func (a *annotations) put(n annotation) {
	if a.wrote == nil {
		a.wrote, a.left = map[string]int{}, map[string]int{}
	}
	if a.wrote[n.kind] >= maxAnnotations {
		a.left[n.kind]++
		return
	}
	a.wrote[n.kind]++
	a.command(n)
}

// writeTo counts what was left out, and writes everything.
func (a *annotations) writeTo(w io.Writer) error {
	for _, kind := range []string{"error", "warning", "notice"} {
		if n := a.left[kind]; n > 0 {
			a.command(annotation{kind: kind, title: a.title, message: fmt.Sprintf(a.more, n)})
		}
	}
	_, err := io.WriteString(w, a.b.String())
	return err
}

func (a *annotations) command(n annotation) {
	var properties []string
	if n.file != "" {
		properties = append(properties, "file="+property(n.file))
	}
	if n.line > 0 {
		properties = append(properties, fmt.Sprintf("line=%d", n.line))
	}
	if n.column > 0 {
		properties = append(properties, fmt.Sprintf("col=%d", n.column))
	}
	if n.title != "" {
		properties = append(properties, "title="+property(n.title))
	}
	lead := n.kind
	if len(properties) > 0 {
		lead += " " + strings.Join(properties, ",")
	}
	fmt.Fprintf(&a.b, "::%s::%s\n", lead, data(n.message))
}

// escapeData and escapeProperty escape what the runner would take for the end of a command, or of a property.
var (
	escapeData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// data returns the message of a workflow command.
func data(text string) string { return escapeData.Replace(clean(text)) }

// property returns the value of a property of a workflow command.
func property(text string) string { return escapeProperty.Replace(line(text)) }

// Annotations writes the report as annotations of GitHub Actions: workflow commands, which
// the runner reads from the output of a step. The first has the verdict: a notice, or an error
// when the step fails. Each cause, and each broken rule without one, is an error, and what
// could not be judged is a warning, by reason.
// Each kind has at most nine, and one that counts the others.
func Annotations(w io.Writer, r *bundle.Report) error {
	a := annotations{title: "Assay", more: seeSummary}
	word, sentence := verdictText(r)
	a.put(annotation{kind: kindOf(r.Exit), title: "Assay: " + word, message: sentence})
	if died := diedText(r); died != "" {
		a.put(annotation{kind: "error", title: "Assay", message: died})
	}
	for _, c := range causesOf(r) {
		message := annotated(c.place, c.Title)
		if n := len(c.Follows); n > 0 {
			message += "\n" + followText(n) + " from it: " + some(c.Follows, maxAnnotation/2)
		}
		a.put(annotation{kind: "error", title: c.Rule, message: message})
	}
	broken := append(unexplained(r, findingsOf(r, bundle.Fail, bundle.Flaky, bundle.UnexpectedPass)), findingsOf(r, bundle.Error)...)
	for _, f := range broken {
		a.put(annotation{kind: "error", title: f.rule.ID, message: annotated(f.places[0], f.rule.Text)})
	}
	for _, why := range reasonsOf(r, unjudged(r)) {
		a.put(annotation{kind: "warning", title: "Inconclusive", message: cut(why.where()+": "+why.saying(), maxAnnotation)})
	}
	return a.writeTo(w)
}

// kindOf returns the kind of the annotation with the verdict.
func kindOf(exit int) string {
	if exit == 0 {
		return "notice"
	}
	return "error"
}

// annotated returns what an annotation says of a broken rule: its sentence, what was seen,
// and how to see it again.
func annotated(p place, sentence string) string {
	where := strings.TrimSpace(p.where() + " " + axesText(p.axes))
	parts := []string{cut(where+": "+line(p.verdict.Message), maxAnnotation)}
	if sentence != "" {
		parts = append([]string{cut(line(sentence), maxAnnotation)}, parts...)
	}
	if p.replay != "" {
		parts = append(parts, line(p.replay))
	}
	return strings.Join(parts, "\n")
}

// loadAnnotations writes the report of a load run as annotations of GitHub Actions.
func loadAnnotations(w io.Writer, r *bundle.LoadReport) error {
	return reasonAnnotations(w, "Assay load", r.Verdict, r.Exit(), streamsText(&r.Streams), r.Reasons)
}

// soakAnnotations writes the report of a soak as annotations of GitHub Actions.
func soakAnnotations(w io.Writer, r *bundle.SoakReport) error {
	return reasonAnnotations(w, "Assay soak", r.Verdict, r.Exit(), cut(soakHeadline(r), maxAnnotation), r.Reasons)
}

// reasonAnnotations writes the verdict, and each of its reasons as an error, or as a warning when it is inconclusive.
func reasonAnnotations(w io.Writer, title string, v bundle.LoadVerdict, exit int, about string, reasons []string) error {
	a := annotations{title: "Assay", more: seeSummary}
	a.put(annotation{kind: kindOf(exit), title: title + ": " + strings.ToUpper(string(v)), message: about})
	kind := "error"
	if v == bundle.LoadInconclusive {
		kind = "warning"
	}
	for _, reason := range reasons {
		a.put(annotation{kind: kind, title: title, message: cut(line(reason), maxAnnotation)})
	}
	return a.writeTo(w)
}
