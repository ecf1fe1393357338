package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"assay/internal/load"
)

// newLoadProgress draws a bar on a terminal; elsewhere it logs a line every 10 s.
func newLoadProgress(io stdio) load.Progress {
	if _, tty := terminal(io.err); tty {
		return &loadBar{io: io}
	}
	return &loadLines{io: io}
}

// loadBar is the progress on a terminal: time or count as a bar, and what is open,
// how fast, and how well behind it.
type loadBar struct {
	io    stdio
	total int64
	count bool
	p     *mpb.Progress
	b     *mpb.Bar

	mu   sync.Mutex
	last load.Tick
}

var _ load.Progress = (*loadBar)(nil)

// Begin draws the empty bar.
func (b *loadBar) Begin(headline string, duration time.Duration, count int) {
	b.io.errorf("%s\n", headline)
	b.total, b.count = duration.Milliseconds(), duration == 0
	if b.count {
		b.total = int64(count)
	}
	width, _ := terminal(b.io.err)
	room := max(10, width-40)
	b.p = mpb.New(mpb.WithOutput(b.io.err), mpb.WithWidth(20), mpb.WithRefreshRate(200*time.Millisecond))
	b.b = b.p.AddBar(b.total, mpb.BarRemoveOnComplete(), mpb.AppendDecorators(
		decor.Elapsed(decor.ET_STYLE_GO, decor.WCSyncSpace),
		decor.Any(func(decor.Statistics) string { return "  " + clipped(loadLine(b.seen()), room) })))
}

func (b *loadBar) seen() load.Tick {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last
}

// Tick moves the bar on.
func (b *loadBar) Tick(t load.Tick) {
	b.mu.Lock()
	b.last = t
	b.mu.Unlock()
	at := t.Elapsed.Milliseconds()
	if b.count {
		at = t.Completed
	}
	b.b.SetCurrent(min(at, b.total-1)) // it is complete when the run ends, not before
}

// End takes the bar away.
func (b *loadBar) End() {
	b.b.Abort(true)
	b.p.Wait()
}

// clipped is text in at most n columns.
func clipped(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// loadLine is one second in words.
func loadLine(t load.Tick) string {
	line := fmt.Sprintf("%d open, %d/s", t.Open, t.Rate)
	if t.FirstEvent.Count > 0 {
		line += ", first event " + p50p99(t.FirstEvent)
	}
	if t.Gap.Count > 0 {
		line += ", gap " + p50p99(t.Gap)
	}
	line += fmt.Sprintf(", %d failed", t.Failed)
	if t.Winding {
		line += ", ending"
	}
	return line
}

// p50p99 is two quantiles of the last second.
func p50p99(l load.Latency) string {
	ms := func(us int64) string { return fmt.Sprintf("%.1f", float64(us)/1e3) }
	return ms(l.P50) + "/" + ms(l.P99) + " ms"
}

// logEvery is how many seconds lie between two lines off a terminal.
const logEvery = 10

// loadLines is the progress off a terminal.
type loadLines struct {
	io stdio
	n  int
}

var _ load.Progress = (*loadLines)(nil)

// Begin says what is about to happen.
func (l *loadLines) Begin(headline string, _ time.Duration, _ int) { l.io.errorf("%s\n", headline) }

// Tick logs every tenth second.
func (l *loadLines) Tick(t load.Tick) {
	if l.n++; l.n%logEvery == 0 {
		l.io.errorf("%4.0fs  %s\n", t.Elapsed.Seconds(), loadLine(t))
	}
}

// End says nothing.
func (l *loadLines) End() {}
