package load

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// Thresholds are conditions on the figures of a run, written in CEL. Their types are
// checked before the run. Names are flat, as in the report:
//
//	first_event, from_sent, gap, gap_corrected, end_of_stream, start_lag, driver_lag,
//	connect, tls, tls_resumed:
//	    .p50 .p90 .p99 .p999 .max (durations), .count
//	streams: .wanted .opened .open_peak .completed .failed
//	outcomes: .ok .killed .server_error … (one for each outcome)
//	classes.NAME, of a plan with several classes: .completed .failed, and the metrics
//	    of its streams, for example classes.NAME.first_event.p99. In NAME, _ stands for -.
//	sandboxes, of a run through a control plane: .wanted .created .failed, and
//	    sandboxes.create and sandboxes.ready with .p50 and so on
type Thresholds struct{ list []threshold }

// Condition is a threshold as the user gives it.
type Condition = scenarios.WorkloadThreshold

type threshold struct {
	Condition

	program cel.Program
	uses    []string // the names in it, sorted
	// bound is the shortest duration in it, 0 when there is none.
	bound time.Duration
}

// Names are the names that thresholds may use only on some runs.
type Names struct {
	// Classes are the classes of a run with several.
	Classes []string
	// Sandboxes is set for a run through a control plane.
	Sandboxes bool
}

// CompileThresholds checks conditions on a run with these names. An error says which
// condition is wrong, and where.
func CompileThresholds(conditions []Condition, of Names) (*Thresholds, error) {
	names := namesOf(of)
	env, err := thresholdEnv(names)
	if err != nil {
		return nil, fmt.Errorf("thresholds: %w", err)
	}
	t := &Thresholds{}
	for _, c := range conditions {
		one, err := compileThreshold(env, names, c.Expr)
		if err != nil {
			return nil, err
		}
		one.Condition = c
		t.list = append(t.list, one)
	}
	return t, nil
}

// namesOf returns all names that thresholds on a run may use.
func namesOf(of Names) map[string]any {
	r := &bundle.LoadReport{}
	if of.Sandboxes {
		r.Sandboxes = &bundle.LoadSandboxes{}
	}
	for _, name := range of.Classes {
		r.Classes = append(r.Classes, bundle.LoadClass{Name: name})
	}
	return figures(r)
}

func thresholdEnv(names map[string]any) (*cel.Env, error) {
	var vars []cel.EnvOption
	for name, v := range names {
		typ := cel.IntType
		if _, ok := v.(time.Duration); ok {
			typ = cel.DurationType
		}
		vars = append(vars, cel.Variable(name, typ))
	}
	return cel.NewEnv(vars...)
}

// The limits of a threshold: a comprehension in a comprehension, and so on, could take for ever.
const (
	maxExpr      = 10_000    // bytes
	maxCost      = 1_000_000 // units of CEL: well below a second
	maxExprError = 5         // errors that are shown
)

func compileThreshold(env *cel.Env, names map[string]any, text string) (threshold, error) {
	if len(text) > maxExpr {
		return threshold{}, fmt.Errorf("threshold %.100q… is %d bytes long; at most %d are read", text, len(text), maxExpr)
	}
	ast, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		return threshold{}, thresholdError(text, issues)
	}
	if !ast.OutputType().IsExactType(cel.BoolType) {
		return threshold{}, fmt.Errorf("threshold %q is not a condition: it has the type %s, want bool; for example first_event.p99 < duration(\"250ms\")", text, ast.OutputType())
	}
	program, err := env.Program(ast, cel.CostLimit(maxCost))
	if err != nil {
		return threshold{}, fmt.Errorf("threshold %q: %w", text, err)
	}
	one := threshold{program: program, bound: shortest(ast.NativeRep().Expr())}
	for _, ref := range ast.NativeRep().ReferenceMap() {
		if _, figure := names[ref.Name]; figure && !slices.Contains(one.uses, ref.Name) {
			one.uses = append(one.uses, ref.Name)
		}
	}
	slices.Sort(one.uses)
	if len(one.uses) == 0 {
		return threshold{}, fmt.Errorf("threshold %q names no figure of the run: there are %s, streams.completed, outcomes.ok and others", text, "first_event.p99, gap.max")
	}
	return one, nil
}

// shortest returns the shortest duration in an expression, 0 when there is none.
func shortest(e celast.Expr) time.Duration {
	found := time.Duration(0)
	celast.PostOrderVisit(e, celast.NewExprVisitor(func(e celast.Expr) {
		if e.Kind() != celast.CallKind || e.AsCall().FunctionName() != "duration" || len(e.AsCall().Args()) != 1 {
			return
		}
		if arg := e.AsCall().Args()[0]; arg.Kind() == celast.LiteralKind {
			text, _ := arg.AsLiteral().Value().(string)
			if d, err := time.ParseDuration(text); err == nil && d > 0 && (found == 0 || d < found) {
				found = d
			}
		}
	}))
	return found
}

// thresholdError formats the issues with a caret under each place.
func thresholdError(text string, issues *cel.Issues) error {
	var b strings.Builder
	fmt.Fprintf(&b, "threshold %q cannot be used", text)
	errs := issues.Errors()
	for _, e := range errs[:min(len(errs), maxExprError)] {
		fmt.Fprintf(&b, "\n  %d:%d: %s", e.Location.Line(), e.Location.Column()+1, strings.ReplaceAll(e.Message, "\n", " "))
		if lines := strings.Split(text, "\n"); e.Location.Line() >= 1 && e.Location.Line() <= len(lines) {
			fmt.Fprintf(&b, "\n   | %s\n   | %s^", lines[e.Location.Line()-1], strings.Repeat(".", max(0, e.Location.Column())))
		}
	}
	b.WriteString("\n  figures are first_event, from_sent, gap, gap_corrected, end_of_stream, start_lag, driver_lag, connect, tls and tls_resumed (.p50 .p90 .p99 .p999 .max .count), streams.* and outcomes.*; of a plan with several classes also classes.NAME.first_event.* and so on; with --control-plane also sandboxes.create.*, sandboxes.ready.*, sandboxes.wanted, .created and .failed; times are written duration(\"250ms\")")
	return errors.New(b.String())
}

// figures returns the names that thresholds may use, with their values in a report.
func figures(r *bundle.LoadReport) map[string]any {
	f := map[string]any{
		"streams.wanted": r.Streams.Wanted, "streams.opened": r.Streams.Opened, "streams.open_peak": r.Streams.OpenPeak,
		"streams.completed": r.Streams.Completed, "streams.failed": r.Streams.Outcomes.Failed(),
	}
	for o, n := range r.Streams.Outcomes.All() {
		f["outcomes."+o.String()] = n
	}
	for m := range Metric(numMetrics) {
		addFigures(latencyAt(&r.Latency, m), m.String(), f)
	}
	if s := r.Sandboxes; s != nil {
		f[boxNames+"wanted"], f[boxNames+"created"], f[boxNames+"failed"] = s.Wanted, s.Created, s.Failed
		addFigures(&s.Create, boxNames+"create", f)
		addFigures(&s.Ready, boxNames+"ready", f)
	}
	for i := range r.Classes {
		c := &r.Classes[i]
		name := "classes." + strings.ReplaceAll(c.Name, "-", "_")
		f[name+".completed"], f[name+".failed"] = c.Completed, c.Outcomes.Failed()
		for m := range Metric(numMetrics) {
			if l := classLatencyAt(&c.Latency, m); l != nil {
				addFigures(l, name+"."+m.String(), f)
			}
		}
	}
	return f
}

// boxNames begins the names of figures about sandboxes, which are measured before the streams.
const boxNames = "sandboxes."

// addFigures adds the figures of a distribution.
func addFigures(l *bundle.Latency, name string, to map[string]any) {
	us := func(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
	to[name+".count"] = l.Count
	to[name+".p50"], to[name+".p90"], to[name+".p99"] = us(l.P50), us(l.P90), us(l.P99)
	to[name+".p999"], to[name+".max"] = us(l.P999), us(l.Max)
}

const (
	// excess is the share of a threshold's bound that the driver's own delay may reach.
	// Beyond it, a missed threshold proves nothing.
	excess = 0.1
	// enough is the share of the planned load that must have been offered. Below it, a
	// met threshold proves nothing.
	enough = 0.95
)

// Judge decides every threshold with the figures of a report.
func (t *Thresholds) Judge(r *bundle.LoadReport) []bundle.LoadThreshold {
	out := []bundle.LoadThreshold{}
	values := figures(r)
	for i := range t.list {
		out = append(out, t.list[i].judge(r, values, true))
	}
	return out
}

// aborts returns a threshold that ends the run at this time, or nil: it has Abort, its
// Delay is over, and the figures so far miss it.
func (t *Thresholds) aborts(r *bundle.LoadReport, now time.Duration) (missed *bundle.LoadThreshold) {
	values := figures(r)
	for i := range t.list {
		one := &t.list[i]
		if !one.Abort || now < one.Delay {
			continue
		}
		if res := one.judge(r, values, false); res.OK != nil && !*res.OK {
			return &res
		}
	}
	return nil
}

// mayAbort reports whether any threshold may end the run.
func (t *Thresholds) mayAbort() bool {
	return slices.ContainsFunc(t.list, func(t threshold) bool { return t.Abort })
}

// judge decides a threshold with the figures of the whole run, or with those so far.
func (t *threshold) judge(r *bundle.LoadReport, values map[string]any, whole bool) bundle.LoadThreshold {
	res := bundle.LoadThreshold{Expr: t.Expr}
	var seen []string
	timed, planned := false, false
	for _, name := range t.uses {
		seen = append(seen, fmt.Sprintf("%s = %v", name, values[name]))
		if _, is := values[name].(time.Duration); is {
			timed = timed || !strings.HasPrefix(name, boxNames)
			of := name[:strings.LastIndexByte(name, '.')]
			metric := of[strings.LastIndexByte(of, '.')+1:]
			planned = planned || metric == FirstEvent.String() || metric == EndOfStream.String()
			if values[of+".count"] == int64(0) {
				res.Why = of + " has no samples"
			}
		}
	}
	res.Observed = strings.Join(seen, ", ")
	if res.Why != "" {
		return res
	}
	v, _, err := t.program.Eval(values)
	if err != nil {
		res.Why = err.Error()
		return res
	}
	ok, is := v.Value().(bool)
	if !is {
		return res
	}
	whose, lag := ownDelay(&r.Latency, planned)
	switch {
	case !ok && timed && t.bound > 0 && float64(lag) > excess*float64(t.bound):
		res.Why = fmt.Sprintf("it is missed, but the driver's own delay is too long, compared with %v, to blame the gateway: %s.p99 = %v", t.bound, whose, lag)
	case ok && whole && r.Streams.Offered < enough:
		res.Why = fmt.Sprintf("it is met, but only %.0f %% of the planned load was offered", 100*r.Streams.Offered)
	default:
		res.OK = &ok
	}
	return res
}

// ownDelay returns the driver's own delay: DriverLag or, for latencies that are measured
// from the intended start (planned), StartLag if that is longer.
func ownDelay(l *bundle.LoadLatencies, planned bool) (of Metric, p99 time.Duration) {
	of, most := DriverLag, l.DriverLag.P99
	if planned && l.StartLag.P99 > most {
		of, most = StartLag, l.StartLag.P99
	}
	return of, time.Duration(most) * time.Microsecond
}
