package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"assay/internal/bundle"
	"assay/internal/load"
	"assay/internal/runpage"
	"assay/reports"
	"assay/reports/page"
	"assay/scenarios"
	"assay/suites"
)

// liveFlag is --ui.
type liveFlag struct{ addr string }

func (f *liveFlag) register(fs flags) {
	fs.StringVar(&f.addr, "ui", "", "show the run in a browser while it goes on, on this `ADDRESS` of this machine, for example 127.0.0.1:8088")
	fs.check(func() error {
		if err := runpage.CheckAddress(f.addr); f.addr != "" && err != nil {
			return fmt.Errorf("--ui %s: %w", f.addr, err)
		}
		return nil
	})
}

// serve begins to show a run; without --ui it returns nil, which shows nothing.
func (f *liveFlag) serve(ctx context.Context, io stdio, face runpage.Face) (*runpage.Server, error) {
	if f.addr == "" {
		return nil, nil
	}
	s, err := runpage.Listen(ctx, f.addr, face, io.guard.clean)
	if err != nil {
		return nil, usage(fmt.Errorf("--ui: %w", err))
	}
	io.errorf("the run in a browser: %s\n", s.URL())
	return s, nil
}

// seconds is the axis of the charts of a run.
var seconds = page.Axis{Label: "seconds since the beginning", Unit: page.UnitCount}

// conformFace is the page of a run of scenarios.
func conformFace() runpage.Face {
	return runpage.Face{
		Title: "Assay: a run of scenarios", Kicker: "Assay conformance run", Facts: []string{"Done", "Failed", "Running", "Elapsed"}, List: "Failed or undecided",
		Charts: []page.Chart{{
			ID: "runs", Title: "Scenario runs", Summary: "Runs that have ended, and those of them that failed.", X: seconds,
			Y: page.Axis{Label: "runs", Unit: page.UnitCount}, Series: []page.Series{{Name: "done"}, {Name: "failed"}},
		}},
	}
}

// liveConform shows the progress of scenarios, and passes it on.
type liveConform struct {
	suites.Progress
	page *runpage.Server

	mu                           sync.Mutex
	began                        time.Time
	total, done, failed, running int
}

// Begin shows what runs.
func (l *liveConform) Begin(run *bundle.Run, instances []scenarios.Instance) {
	l.mu.Lock()
	l.began, l.total = time.Now(), len(instances)
	l.mu.Unlock()
	l.page.Sentence(headline(run, len(instances)))
	l.Progress.Begin(run, instances)
}

// Start counts a running scenario.
func (l *liveConform) Start(i scenarios.Instance) {
	l.mu.Lock()
	l.running++
	l.mu.Unlock()
	l.Progress.Start(i)
}

// Done shows a finished scenario.
func (l *liveConform) Done(i scenarios.Instance, c bundle.Conclusion, took time.Duration) {
	l.mu.Lock()
	l.running--
	l.done++
	if bad(c) {
		l.failed++
	}
	elapsed := time.Since(l.began)
	l.page.Moment("runs", elapsed.Seconds(), float64(l.done), float64(l.failed))
	l.page.Facts(fmt.Sprintf("%d of %d", l.done, l.total), strconv.Itoa(l.failed), strconv.Itoa(l.running), elapsed.Round(time.Second).String())
	l.mu.Unlock()
	word := strings.ReplaceAll(string(c), "-", " ")
	switch {
	case bad(c):
		l.page.Entry(runpage.Entry{Tone: page.Bad, Symbol: "✗", Word: word, Text: i.Scenario.ID + "  " + i.Axes.String()})
	case c == bundle.Inconclusive:
		l.page.Entry(runpage.Entry{Tone: page.Warn, Symbol: "?", Word: word, Text: i.Scenario.ID + "  " + i.Axes.String()})
	}
	l.Progress.Done(i, c, took)
}

// loadFace is the page of a load run.
func loadFace() runpage.Face {
	chart := func(id, title, summary string, unit page.Unit, lines ...string) page.Chart {
		c := page.Chart{ID: id, Title: title, Summary: summary, X: seconds, Y: page.Axis{Label: title, Unit: unit}}
		for _, name := range lines {
			c.Series = append(c.Series, page.Series{Name: name})
		}
		return c
	}
	return runpage.Face{
		Title: "Assay: a load run", Kicker: "Assay load run", List: "Failed streams",
		Facts: []string{"Elapsed", "Open", "Completed", "Failed", "First event, p50/p99", "Gap, p50/p99"},
		Charts: []page.Chart{
			chart("rate", "Streams a second", "Streams that began in each second.", page.UnitCount, "begun"),
			chart("open", "Open streams", "Streams that were open at the end of each second.", page.UnitCount, "open", "wanted"),
			chart("first-event", "Time to the first event", "Percentiles of each second.", page.UnitMicros, "p50", "p99", "max"),
			chart("gap", "Gap between events", "Percentiles of each second.", page.UnitMicros, "p50", "p99", "max"),
			chart("failed", "Failed streams", "Streams that have failed since the beginning.", page.UnitCount, "failed"),
		},
	}
}

// liveLoad shows the progress of a load run, and passes it on.
type liveLoad struct {
	load.Progress
	page *runpage.Server
	last bundle.StreamOutcomes
}

// Begin shows what runs.
func (l *liveLoad) Begin(headline string, duration time.Duration, count int) {
	plan, _, _ := strings.Cut(headline, "\n")
	l.page.Sentence(plan)
	l.Progress.Begin(headline, duration, count)
}

// Tick shows one second.
func (l *liveLoad) Tick(t load.Tick) {
	x, none := t.Elapsed.Seconds(), math.NaN()
	wanted := none
	if t.Wanted > 0 {
		wanted = float64(t.Wanted)
	}
	quantiles := func(l bundle.Latency) (text string, values []float64) {
		if l.Count == 0 {
			return "–", []float64{none, none, none}
		}
		return p50p99(l), []float64{float64(l.P50), float64(l.P99), float64(l.Max)}
	}
	first, firstEvent := quantiles(t.FirstEvent)
	between, gap := quantiles(t.Gap)
	l.page.Moment("rate", x, float64(t.Rate))
	l.page.Moment("open", x, float64(t.Open), wanted)
	l.page.Moment("first-event", x, firstEvent...)
	l.page.Moment("gap", x, gap...)
	l.page.Moment("failed", x, float64(t.Failed))
	l.page.Facts(t.Elapsed.Round(time.Second).String()+stage(t), strconv.FormatInt(t.Open, 10), strconv.FormatInt(t.Completed, 10), strconv.FormatInt(t.Failed, 10), first, between)
	for o, n := range t.Outcomes.All() {
		if more := n - l.last[o]; more > 0 && o.Failed() {
			l.page.Entry(runpage.Entry{
				Tone: page.Bad, Symbol: "✗", Word: strings.ReplaceAll(o.String(), "_", " "), Text: fmt.Sprintf("%d more after %v", more, t.Elapsed.Round(time.Second)),
			})
		}
	}
	l.last = t.Outcomes
	l.Progress.Tick(t)
}

// showEnd shows the verdict of a report, or the error of a run that has none.
func showEnd(s *runpage.Server, v page.Verdict, err error) {
	if err != nil && v.Word == "" {
		var exit *exitError
		v = page.Verdict{Tone: page.Warn, Symbol: "?", Word: "Not run", Sentence: err.Error()}
		if errors.As(err, &exit) && exit.code == exitDefect {
			v.Tone, v.Symbol, v.Word = page.Bad, "⚠", "Defect"
		}
	}
	s.End(runpage.Verdict{Tone: v.Tone, Symbol: v.Symbol, Word: v.Word, Sentence: v.Sentence})
}

// conformEnd and loadEnd return what a page shows at the end of a run; nothing without a report.
func conformEnd(out *suites.Outcome) page.Verdict {
	if out == nil {
		return page.Verdict{}
	}
	return reports.Ending(out.Report)
}

func loadEnd(r *bundle.LoadReport) page.Verdict {
	if r == nil {
		return page.Verdict{}
	}
	return reports.LoadEnding(r)
}
