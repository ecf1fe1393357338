package main

import (
	"context"
	"errors"
	"fmt"

	"assay/internal/command/runpage"
	"assay/reports/page"
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

// showEnd shows the verdict of a report, or the error of a run that has no report, and so no verdict.
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
