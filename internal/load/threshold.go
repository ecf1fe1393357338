package load

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
)

// Thresholds are conditions on the figures of a run, written in CEL and checked
// for their types before it. Names are flat, as in the report:
//
//	first_event, gap, end_of_stream, start_lag: .p50 .p90 .p99 .p999 .max (durations), .count
//	streams: .wanted .opened .open_peak .completed .failed
//	outcomes: .ok .killed .server_error … (one for each outcome)
type Thresholds struct{ list []threshold }

type threshold struct {
	text    string
	program cel.Program
	uses    []string // names in it, sorted
}

// ThresholdResult is what became of one threshold.
type ThresholdResult struct {
	// Expr is the condition as it was given.
	Expr string `json:"expr"`
	// Observed is the figures in it.
	Observed string `json:"observed"`
	// OK is nil when there was nothing to decide on: no samples, or an expression that has no value.
	OK *bool `json:"ok"`
	// Why says why OK is nil.
	Why string `json:"why,omitempty"`
}

// CompileThresholds checks conditions. An error says which one is wrong, and where.
func CompileThresholds(texts []string) (*Thresholds, error) {
	env, err := thresholdEnv()
	if err != nil {
		return nil, fmt.Errorf("thresholds: %w", err)
	}
	t := &Thresholds{}
	for _, text := range texts {
		one, err := compileThreshold(env, text)
		if err != nil {
			return nil, err
		}
		t.list = append(t.list, one)
	}
	return t, nil
}

func thresholdEnv() (*cel.Env, error) {
	var vars []cel.EnvOption
	for name, v := range figures(&Report{}) {
		typ := cel.IntType
		if _, ok := v.(time.Duration); ok {
			typ = cel.DurationType
		}
		vars = append(vars, cel.Variable(name, typ))
	}
	return cel.NewEnv(vars...)
}

func compileThreshold(env *cel.Env, text string) (threshold, error) {
	ast, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		return threshold{}, thresholdError(text, issues)
	}
	if !ast.OutputType().IsExactType(cel.BoolType) {
		return threshold{}, fmt.Errorf("threshold %q is no condition: it has the type %s, want bool; for example first_event.p99 < duration(\"250ms\")", text, ast.OutputType())
	}
	program, err := env.Program(ast)
	if err != nil {
		return threshold{}, fmt.Errorf("threshold %q: %w", text, err)
	}
	one := threshold{text: text, program: program}
	for _, ref := range ast.NativeRep().ReferenceMap() {
		if strings.Contains(ref.Name, ".") && len(ref.OverloadIDs) == 0 && !slices.Contains(one.uses, ref.Name) {
			one.uses = append(one.uses, ref.Name)
		}
	}
	slices.Sort(one.uses)
	if len(one.uses) == 0 {
		return threshold{}, fmt.Errorf("threshold %q names no figure of the run: there are %s, streams.completed, outcomes.ok and others", text, "first_event.p99, gap.max")
	}
	return one, nil
}

// thresholdError draws the issues with a caret under each place.
func thresholdError(text string, issues *cel.Issues) error {
	var b strings.Builder
	fmt.Fprintf(&b, "threshold %q cannot be used", text)
	for _, e := range issues.Errors() {
		fmt.Fprintf(&b, "\n  %d:%d: %s", e.Location.Line(), e.Location.Column()+1, strings.ReplaceAll(e.Message, "\n", " "))
		if lines := strings.Split(text, "\n"); e.Location.Line() >= 1 && e.Location.Line() <= len(lines) {
			fmt.Fprintf(&b, "\n   | %s\n   | %s^", lines[e.Location.Line()-1], strings.Repeat(".", max(0, e.Location.Column())))
		}
	}
	b.WriteString("\n  figures are first_event, gap, end_of_stream and start_lag (.p50 .p90 .p99 .p999 .max .count), streams.* and outcomes.*; times are written duration(\"250ms\")")
	return errors.New(b.String())
}

// figures are the names that thresholds may use, and their values in a report.
func figures(r *Report) map[string]any {
	f := map[string]any{
		"streams.wanted": r.Streams.Wanted, "streams.opened": r.Streams.Opened, "streams.open_peak": r.Streams.OpenPeak,
		"streams.completed": r.Streams.Completed, "streams.failed": r.Streams.Outcomes.Failed(),
	}
	for o, name := range outcomeNames() {
		f["outcomes."+name] = r.Streams.Outcomes[o]
	}
	us := func(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
	for name, l := range r.Latency.all() {
		f[name+".count"] = l.Count
		f[name+".p50"], f[name+".p90"], f[name+".p99"] = us(l.P50), us(l.P90), us(l.P99)
		f[name+".p999"], f[name+".max"] = us(l.P999), us(l.Max)
	}
	return f
}

// Judge decides every threshold on the figures of a report.
func (t *Thresholds) Judge(r *Report) []ThresholdResult {
	out := []ThresholdResult{}
	values := figures(r)
	for _, one := range t.list {
		out = append(out, one.judge(values))
	}
	return out
}

func (t *threshold) judge(values map[string]any) ThresholdResult {
	r := ThresholdResult{Expr: t.text}
	var seen []string
	for _, name := range t.uses {
		seen = append(seen, fmt.Sprintf("%s = %v", name, values[name]))
		metric, _, _ := strings.Cut(name, ".")
		if _, timed := values[name].(time.Duration); timed && values[metric+".count"] == int64(0) {
			r.Why = metric + " has no samples"
		}
	}
	r.Observed = strings.Join(seen, ", ")
	if r.Why != "" {
		return r
	}
	v, _, err := t.program.Eval(values)
	if err != nil {
		r.Why = err.Error()
		return r
	}
	if ok, is := v.Value().(bool); is {
		r.OK = &ok
	}
	return r
}
