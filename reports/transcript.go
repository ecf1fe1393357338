package reports

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay/internal/record/bundle"
)

// Transcript draws an observation for `replay`. Per iteration it lists the calls with
// their outcome, then each connection in order of time, both directions, with times
// relative to its first request: heads, envelopes and events at their offset in the
// body, and for a broken rule the bytes with a mark below. It draws at most three
// iterations, those with evidence first, and counts the others. The verdicts come last.
// Long output is folded; Verbose folds much later.
func Transcript(w io.Writer, o *bundle.Observation, v []bundle.Verdict, s Style) error {
	t := transcript{canvas: newCanvas(w, s), o: o, verdicts: v}
	t.head()
	shown := t.shown()
	for _, i := range shown {
		t.current = i
		t.iteration(&o.Iterations[i])
	}
	if more := len(o.Iterations) - len(shown); more > 0 {
		t.row()
		t.row(t.paint(dim, fmt.Sprintf("… and %s more: %s in total", plural(more, "iteration"), took((o.Ended.T-o.Started.T)/1e6))))
	}
	t.tail()
	return t.err
}

type transcript struct {
	*canvas
	o        *bundle.Observation
	verdicts []bundle.Verdict
	current  int // index of the current iteration
	// only is the only exchange to draw of its connection; nil draws all.
	only *bundle.Exchange
	// short omits the header of a request, except for told fields, and describes a mark in text by its offset.
	short bool
	// told are the header fields, in lower case, that the drawn verdict names.
	told map[string]bool
}

// fold is the limit of lines to draw, by default and with Verbose.
type fold struct{ usual, verbose int }

func foldIterations() fold { return fold{3, 20} }
func foldCalls() fold      { return fold{100, 1000} }
func foldConns() fold      { return fold{50, 500} }
func foldFrames() fold     { return fold{9, 200} }
func foldMarks() fold      { return fold{30, 100} } // violations
func foldRows() fold       { return fold{6, 64} }   // of a dump
func foldLines() fold      { return fold{2, 40} }   // of a text

func (t *transcript) limit(f fold) int {
	if t.style.Verbose {
		return f.verbose
	}
	return f.usual
}

func (t *transcript) head() {
	o := t.o
	t.ends(painted{line(o.Scenario), bold}, painted{line(o.Axes.String()), dim})
	facts := []string{plural(len(o.Iterations), "iteration"), fmt.Sprintf("seed %d", o.Seed), span(o.Ended.T - o.Started.T)}
	if len(o.Beside) > 0 {
		facts = append(facts, "beside "+plural(len(o.Beside), "other scenario"))
	}
	t.row(t.paint(dim, strings.Join(facts, " · ")))
	if o.Skip != nil {
		t.block(painted{"not run  ", yellow}, string(o.Skip.Reason)+": "+o.Skip.Detail, plain)
	}
	if o.Interrupted {
		t.row(t.paint(yellow, "interrupted: this is incomplete"))
	}
	if o.Defect != "" {
		t.block(painted{"defect in Assay  ", magenta}, o.Defect, plain)
	}
}

// shown returns the iterations to draw, in order; iterations with evidence are preferred.
func (t *transcript) shown() []int {
	limit := t.limit(foldIterations())
	picked := map[int]bool{}
	pick := func(i int) {
		if len(picked) < limit && i >= 0 && i < len(t.o.Iterations) {
			picked[i] = true
		}
	}
	for _, v := range t.verdicts {
		if v.Evidence != nil && troubles(v.Conclusion) {
			pick(v.Evidence.Iteration)
		}
	}
	for i := range t.o.Iterations {
		pick(i)
	}
	return slices.Sorted(maps.Keys(picked))
}

func (t *transcript) iteration(it *bundle.Iteration) {
	t.row()
	if len(t.o.Iterations) > 1 {
		t.row(t.paint(bold, fmt.Sprintf("ITERATION %d of %d", it.Index+1, len(t.o.Iterations))), t.text(varsText(it.Vars)))
	} else if len(it.Vars) > 0 {
		t.row(t.paint(dim, strings.TrimLeft(varsText(it.Vars), " ")))
	}
	if it.Defect != "" {
		t.block(painted{"defect in Assay  ", magenta}, it.Defect, plain)
	}
	t.calls(it)
	t.awaits(it)
	conns := min(len(it.Conns), t.limit(foldConns()))
	for i := range conns {
		t.conn(it, &it.Conns[i])
	}
	t.more(len(it.Conns)-conns, "connection")
	t.processes(it)
}

func varsText(vars map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(vars)) {
		b.WriteString("  " + line(k+"="+vars[k]))
	}
	return b.String()
}

// calls draws the table of exchanges: the times of invocation and return, relative to
// the first, and the outcome.
func (t *transcript) calls(it *bundle.Iteration) {
	if len(it.Exchanges) == 0 {
		return
	}
	t.row(t.paint(bold, "CALLS"))
	sorted := slices.SortedStableFunc(slices.Values(pointers(it.Exchanges)), func(a, b *bundle.Exchange) int {
		return cmp.Compare(a.Invoked.N, b.Invoked.N)
	})
	zero := sorted[0].Invoked.T
	calls := min(len(sorted), t.limit(foldCalls()))
	for _, e := range sorted[:calls] {
		returned := "open"
		if e.Returned != nil {
			returned = "+" + span(e.Returned.T-zero)
		}
		times := fmt.Sprintf("%11s … %-11s", "+"+span(e.Invoked.T-zero), returned)
		lead := "  " + pad(cut(line(e.Name), 12), 12) + times
		t.block(painted{lead, plain}, outcomeText(e), plain)
		if e.Detail != "" {
			t.block(painted{"    ", plain}, e.Detail, dim)
		}
	}
	t.more(len(sorted)-calls, "call")
}

// more says how many things are not drawn, if any.
func (t *transcript) more(n int, what string) {
	if n > 0 {
		t.row(t.paint(dim, "  … and "+plural(n, what)+" more"))
	}
}

// pointers returns the address of each element.
func pointers[T any](s []T) []*T {
	out := make([]*T, len(s))
	for i := range s {
		out[i] = &s[i]
	}
	return out
}

// outcomeText describes a call and its outcome.
func outcomeText(e *bundle.Exchange) string {
	what := e.RPC
	if what == "" {
		what = strings.TrimSpace(e.Request.Method + " " + e.Request.Path)
	}
	if what == "" {
		what = e.Op
	}
	parts := []string{what, "→"}
	if e.Response != nil {
		parts = append(parts, strconv.Itoa(e.Response.Status))
	}
	if e.Error != nil {
		parts = append(parts, e.Error.Code)
	}
	if e.Outcome != bundle.OutcomeComplete || e.Response == nil {
		parts = append(parts, string(e.Outcome))
	}
	if n := len(e.Violations); n > 0 {
		parts = append(parts, "("+plural(n, "violation")+")")
	}
	return strings.Join(parts, " ")
}

func (t *transcript) awaits(it *bundle.Iteration) {
	if len(it.Awaits) == 0 {
		return
	}
	t.row(t.paint(bold, "AWAITS"))
	for _, a := range it.Awaits {
		word, colour := "met after ", green
		if !a.Met {
			word, colour = "NOT MET within ", red
		}
		waited := span(a.Ended.T - a.Began.T)
		if !a.Met {
			waited = span(a.Deadline)
		}
		text := fmt.Sprintf("%s on %s  ", line(a.What.String()), line(a.On))
		t.block(painted{"  " + text, plain}, word+waited, colour)
	}
}

func (t *transcript) processes(it *bundle.Iteration) {
	for _, p := range it.Processes {
		if p.Cleanup == "" {
			continue
		}
		t.block(painted{"clean-up  ", dim}, fmt.Sprintf("process %s (pid %d): %s", p.Name, p.PID, p.Cleanup), dim)
	}
}

// tail draws the parts that span iterations: scrapes, omissions, and the verdicts.
func (t *transcript) tail() {
	if len(t.o.Scrapes) > 0 {
		t.row()
		t.row(t.paint(bold, "SCRAPES"))
	}
	for _, s := range t.o.Scrapes {
		text := fmt.Sprintf("%s  +%s  status %d  %s", pad(line(s.Name), 10), span(s.Sent.T-t.o.Started.T), s.Status, size(int64(len(s.Body))))
		if s.Err != "" {
			text += "  " + s.Err
		}
		t.block(painted{"  ", plain}, text, plain)
	}
	for _, d := range t.o.Dropped {
		t.block(painted{"omitted   ", dim}, d, dim)
	}
	if len(t.verdicts) == 0 {
		return
	}
	t.row()
	t.row(t.paint(bold, "VERDICTS"))
	// The worst comes last, next to the prompt.
	sorted := slices.SortedStableFunc(slices.Values(t.verdicts), func(a, b bundle.Verdict) int {
		return cmp.Compare(a.Conclusion.Rank(), b.Conclusion.Rank())
	})
	for _, v := range sorted {
		t.block(painted{"  " + pad(line(string(v.Conclusion)), 17), tintOf(v.Conclusion)}, line(v.Rule)+" ("+line(v.Level)+")", plain)
		const in = "      "
		if v.Message != "" {
			t.block(painted{in, plain}, v.Message, plain)
		}
		if v.Seen != "" {
			t.block(painted{in + "seen  ", dim}, line(v.Seen), plain)
		}
		if len(v.Counts) > 0 {
			t.flow(painted{in + "orders  ", dim}, orderParts(v.Counts))
		}
	}
}
