package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"assay/internal/command/runpage"
	"assay/internal/load"
	"assay/internal/record/bundle"
	"assay/reports/page"
)

// loadProgress shows the progress of a load run. On a terminal it draws a bar for time or count, in the closed model a
// second bar for the open streams, and below them latencies and failures; elsewhere it logs a line every 10 s. It also
// feeds the page of --ui.
type loadProgress struct {
	meter[load.Tick]
	page     *runpage.Server // may be nil
	run      *mpb.Bar        // of the time, or the count; nil: there is no terminal
	total    int64
	count    bool
	streams  *mpb.Bar // how many of those that are wanted are open
	seconds  int
	outcomes bundle.StreamOutcomes // that the page has
}

var _ load.Progress = (*loadProgress)(nil)

func newLoadProgress(io stdio, page *runpage.Server) *loadProgress {
	return &loadProgress{meter: meter[load.Tick]{io: io}, page: page}
}

const (
	barLabel   = 8 // the word before a bar
	barRefresh = 200 * time.Millisecond
)

// Begin says what runs, and draws the empty bars and the lines below them.
func (p *loadProgress) Begin(headline string, duration time.Duration, count int) {
	p.io.errorf("%s\n", headline)
	plan, _, _ := strings.Cut(headline, "\n")
	p.page.Sentence(plan)
	if !p.open(barRefresh) {
		return
	}
	p.total, p.count = duration.Milliseconds(), duration == 0
	if p.count {
		p.total = int64(count)
	}
	p.run = p.labelled(p.total, "run", func(t load.Tick) string {
		if p.count {
			return fmt.Sprintf("%d of %d ended", t.Completed, p.total)
		}
		return fmt.Sprintf("%v of %v%s", t.Elapsed.Round(time.Second), duration, stage(t))
	})
	p.streams = p.labelled(0, "open", func(t load.Tick) string {
		if t.Wanted > 0 {
			return fmt.Sprintf("%d of %d, %d/s", t.Open, t.Wanted, t.Rate)
		}
		return fmt.Sprintf("%d, %d/s", t.Open, t.Rate)
	})
	for _, line := range []func(load.Tick) string{latencyLine, failureLine} {
		p.bar(0, mpb.NopStyle(), mpb.PrependDecorators(p.text(line, p.width-2)))
	}
}

// labelled adds a bar with a word before and a text behind it.
func (p *loadProgress) labelled(total int64, word string, text func(load.Tick) string) *mpb.Bar {
	return p.bar(total, mpb.BarStyle(), mpb.PrependDecorators(decor.Name(word, decor.WC{W: barLabel, C: decor.DindentRight})),
		mpb.AppendDecorators(p.text(text, p.width-barWidth-barLabel-4)))
}

// Tick shows one second.
func (p *loadProgress) Tick(t load.Tick) {
	p.set(t)
	p.show(t)
	if p.run == nil {
		if p.seconds++; p.seconds%10 == 0 {
			p.io.errorf("%4.0fs  %s\n", t.Elapsed.Seconds(), loadLine(t))
		}
		return
	}
	at := t.Elapsed.Milliseconds()
	if p.count {
		at = t.Completed
	}
	p.run.SetCurrent(min(at, p.total-1)) // the bar completes only at the end of the run
	if t.Wanted > 0 {
		p.streams.SetTotal(t.Wanted+1, false)
		p.streams.SetCurrent(min(t.Open, t.Wanted))
	}
}

// show shows one second on the page.
func (p *loadProgress) show(t load.Tick) {
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
	p.page.Moment("rate", x, float64(t.Rate))
	p.page.Moment("open", x, float64(t.Open), wanted)
	p.page.Moment("first-event", x, firstEvent...)
	p.page.Moment("gap", x, gap...)
	p.page.Moment("failed", x, float64(t.Failed))
	p.page.Facts(t.Elapsed.Round(time.Second).String()+stage(t), strconv.FormatInt(t.Open, 10), strconv.FormatInt(t.Completed, 10), strconv.FormatInt(t.Failed, 10), first, between)
	for o, n := range t.Outcomes.All() {
		if more := n - p.outcomes[o]; more > 0 && o.Failed() {
			p.page.Entry(runpage.Entry{
				Tone: page.Bad, Symbol: "✗", Word: strings.ReplaceAll(o.String(), "_", " "), Text: fmt.Sprintf("%d more after %v", more, t.Elapsed.Round(time.Second)),
			})
		}
	}
	p.outcomes = t.Outcomes
}

// End removes the bars.
func (p *loadProgress) End() { p.close() }

// stage names the stage of the run, "" for the main part.
func stage(t load.Tick) string {
	switch {
	case t.Ending:
		return ", ending"
	case t.Warming:
		return ", warming up"
	}
	return ""
}

// latencyLine formats the latencies of the last second: p50/p99.
func latencyLine(t load.Tick) string {
	of := func(l bundle.Latency) string {
		if l.Count == 0 {
			return "-"
		}
		return p50p99(l)
	}
	return "p50/p99  first event " + of(t.FirstEvent) + "  gap " + of(t.Gap)
}

// failureLine formats the failures and the driver's own delay.
func failureLine(t load.Tick) string {
	line := fmt.Sprintf("%d failed", t.Failed)
	if t.DriverLag.Count > 0 {
		line += "  driver lag " + p50p99(t.DriverLag)
	}
	return line
}

// loadLine describes one second.
func loadLine(t load.Tick) string {
	line := fmt.Sprintf("%d open, %d/s", t.Open, t.Rate)
	if t.FirstEvent.Count > 0 {
		line += ", first event " + p50p99(t.FirstEvent)
	}
	if t.Gap.Count > 0 {
		line += ", gap " + p50p99(t.Gap)
	}
	line += fmt.Sprintf(", %d failed", t.Failed)
	if t.DriverLag.Count > 0 {
		line += ", driver lag " + p50p99(t.DriverLag)
	}
	return line + stage(t)
}

// p50p99 formats two quantiles of the last second.
func p50p99(l bundle.Latency) string {
	ms := func(us int64) string { return fmt.Sprintf("%.1f", float64(us)/1e3) }
	return ms(l.P50) + "/" + ms(l.P99) + " ms"
}
