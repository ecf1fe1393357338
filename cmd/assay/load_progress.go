package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"assay/internal/bundle"
	"assay/internal/load"
)

// newLoadProgress draws a bar on a terminal; elsewhere it logs a line every 10 s.
func newLoadProgress(io stdio) load.Progress {
	if _, tty := terminal(io.err.To); tty {
		return &loadBar{io: io}
	}
	return &loadLines{io: io}
}

// loadBar is the progress on a terminal: a bar for time or count, in the closed model a
// second bar for the open streams, and below them latencies and failures.
type loadBar struct {
	io    stdio
	total int64
	count bool
	width int
	p     *mpb.Progress
	bars  []*mpb.Bar // the first is the time, or the count
	open  *mpb.Bar   // how many of those that are wanted

	mu   sync.Mutex
	last load.Tick
}

var _ load.Progress = (*loadBar)(nil)

const (
	barWidth   = 24 // of a bar alone
	barLabel   = 8  // of the word before it
	barRefresh = 200 * time.Millisecond
)

// Begin draws the empty bar and the lines below it.
func (b *loadBar) Begin(headline string, duration time.Duration, count int) {
	b.io.errorf("%s\n", headline)
	b.total, b.count = duration.Milliseconds(), duration == 0
	if b.count {
		b.total = int64(count)
	}
	if b.width, _ = terminal(b.io.err.To); b.width == 0 {
		b.width = 80
	}
	b.p = mpb.New(mpb.WithOutput(unguarded(b.io.err.To)), mpb.WithWidth(barWidth), mpb.WithRefreshRate(barRefresh))
	at := func(t load.Tick) string {
		if b.count {
			return fmt.Sprintf("%d of %d ended", t.Completed, b.total)
		}
		return fmt.Sprintf("%v of %v%s", t.Elapsed.Round(time.Second), duration, stage(t))
	}
	b.bar(b.total, "run", at)
	b.open = b.bar(0, "open", func(t load.Tick) string {
		if t.Wanted > 0 {
			return fmt.Sprintf("%d of %d, %d/s", t.Open, t.Wanted, t.Rate)
		}
		return fmt.Sprintf("%d, %d/s", t.Open, t.Rate)
	})
	for _, line := range []func(load.Tick) string{latencyLine, failureLine} {
		b.bars = append(b.bars, b.p.New(0, mpb.NopStyle(), mpb.BarRemoveOnComplete(), mpb.PrependDecorators(b.text(line, b.width-2))))
	}
}

// bar adds a bar with a word before and a text behind it.
func (b *loadBar) bar(total int64, word string, text func(load.Tick) string) *mpb.Bar {
	one := b.p.AddBar(total, mpb.BarRemoveOnComplete(), mpb.PrependDecorators(decor.Name(word, decor.WC{W: barLabel, C: decor.DindentRight})),
		mpb.AppendDecorators(b.text(text, max(b.width-barWidth-barLabel-4, 10))))
	b.bars = append(b.bars, one)
	return one
}

// text shows the last tick in at most so many columns.
func (b *loadBar) text(line func(load.Tick) string, columns int) decor.Decorator {
	return decor.Any(func(decor.Statistics) string { return clipped(line(b.seen()), columns) })
}

func (b *loadBar) seen() load.Tick {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last
}

// Tick advances the bars.
func (b *loadBar) Tick(t load.Tick) {
	b.mu.Lock()
	b.last = t
	b.mu.Unlock()
	at := t.Elapsed.Milliseconds()
	if b.count {
		at = t.Completed
	}
	b.bars[0].SetCurrent(min(at, b.total-1)) // the bar completes only at the end of the run
	if t.Wanted > 0 {
		b.open.SetTotal(t.Wanted+1, false)
		b.open.SetCurrent(min(t.Open, t.Wanted))
	}
}

// End removes the bars.
func (b *loadBar) End() {
	for _, one := range b.bars {
		one.Abort(true)
	}
	b.p.Wait()
}

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

// clipped truncates text to at most n columns.
func clipped(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
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

// logEvery is the number of seconds between two log lines.
const logEvery = 10

// loadLines is the progress without a terminal.
type loadLines struct {
	io stdio
	n  int
}

var _ load.Progress = (*loadLines)(nil)

// Begin prints the headline.
func (l *loadLines) Begin(headline string, _ time.Duration, _ int) { l.io.errorf("%s\n", headline) }

// Tick logs every tenth second.
func (l *loadLines) Tick(t load.Tick) {
	if l.n++; l.n%logEvery == 0 {
		l.io.errorf("%4.0fs  %s\n", t.Elapsed.Seconds(), loadLine(t))
	}
}

// End does nothing.
func (l *loadLines) End() {}
