package main

import (
	"fmt"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"assay/internal/bundle"
	"assay/internal/soak"
)

// newSoakProgress draws a bar on a terminal; elsewhere it logs a line a minute.
func newSoakProgress(io stdio) soak.Progress {
	log := &soakLines{io: io}
	if width, tty := terminal(io.err.To); tty {
		return &soakBar{soakLines: log, width: width}
	}
	return log
}

// soakEvery is the time between two log lines.
const soakEvery = time.Minute

// soakLines is the progress without a terminal.
type soakLines struct {
	io     stdio
	last   time.Duration
	failed int64 // of the windows that have ended
}

var _ soak.Progress = (*soakLines)(nil)

// Begin prints the headline.
func (l *soakLines) Begin(headline []string, _ time.Duration) {
	for _, text := range headline {
		l.io.errorf("%s\n", text)
	}
}

// Tick logs a line a minute.
func (l *soakLines) Tick(t soak.Tick) {
	if t.Elapsed-l.last >= soakEvery {
		l.last = t.Elapsed
		l.io.errorf("%s\n", l.line(t))
	}
}

// line describes a second.
func (l *soakLines) line(t soak.Tick) string {
	text := fmt.Sprintf("%v of %v  window %d of %d  %d open", t.Elapsed.Round(time.Second), t.Duration.Round(time.Second), t.Window, t.Windows, t.Load.Open)
	if t.Load.FirstEvent.Count > 0 {
		text += "  first event " + p50p99(t.Load.FirstEvent)
	}
	return text + fmt.Sprintf("  %d failed", l.failed+t.Load.Failed)
}

// Window logs a window that is not pass.
func (l *soakLines) Window(w *bundle.SoakWindow) {
	l.failed += w.Streams.Outcomes.Failed()
	if w.Verdict != bundle.LoadPass {
		l.io.errorf("window %d: %s: %s\n", w.Index, w.Verdict, w.Message)
	}
}

// Event logs what changed.
func (l *soakLines) Event(e bundle.SoakEvent) { l.io.errorf("%s: %s\n", e.Kind, e.Message) }

// End does nothing.
func (l *soakLines) End() {}

// soakBar is the progress on a terminal: a bar for the time, with what happens now behind it.
type soakBar struct {
	*soakLines
	width int
	p     *mpb.Progress
	b     *mpb.Bar
	now   chan soak.Tick
	text  string
}

// Begin draws the empty bar.
func (b *soakBar) Begin(headline []string, duration time.Duration) {
	b.soakLines.Begin(headline, duration)
	b.now = make(chan soak.Tick, 1)
	b.p = mpb.New(mpb.WithOutput(unguarded(b.io.err.To)), mpb.WithWidth(barWidth), mpb.WithRefreshRate(barRefresh))
	b.b = b.p.AddBar(duration.Milliseconds(), mpb.BarRemoveOnComplete(), mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
		select {
		case t := <-b.now:
			b.text = clipped(b.line(t), max(b.width-barWidth-4, 10))
		default:
		}
		return b.text
	})))
}

// Tick advances the bar.
func (b *soakBar) Tick(t soak.Tick) {
	b.b.SetCurrent(min(t.Elapsed, t.Duration-time.Second).Milliseconds()) // it completes only at the end
	select {
	case b.now <- t:
	default:
	}
}

// End removes the bar.
func (b *soakBar) End() {
	b.b.Abort(true)
	b.p.Wait()
}
