package main

import (
	"fmt"
	"time"

	"github.com/vbauerster/mpb/v8"

	"assay/internal/load/soak"
	"assay/internal/record/bundle"
)

// soakProgress shows the progress of a soak: on a terminal a bar for the time, with what happens now behind it; elsewhere a
// line a minute.
type soakProgress struct {
	meter[string]
	time   *mpb.Bar // nil: there is no terminal
	last   time.Duration
	failed int64 // of the windows that have ended
}

var _ soak.Progress = (*soakProgress)(nil)

func newSoakProgress(io stdio) *soakProgress { return &soakProgress{meter: meter[string]{io: io}} }

// Begin prints the headline.
func (p *soakProgress) Begin(headline []string, duration time.Duration) {
	for _, text := range headline {
		p.io.errorf("%s\n", text)
	}
	if p.open(barRefresh) {
		line := func(now string) string { return now }
		p.time = p.bar(duration.Milliseconds(), mpb.BarStyle(), mpb.AppendDecorators(p.text(line, p.width-barWidth-4)))
	}
}

// Tick shows a second.
func (p *soakProgress) Tick(t soak.Tick) {
	text := fmt.Sprintf("%v of %v  window %d of %d  %d open", t.Elapsed.Round(time.Second), t.Duration.Round(time.Second), t.Window, t.Windows, t.Load.Open)
	if t.Load.FirstEvent.Count > 0 {
		text += "  first event " + p50p99(t.Load.FirstEvent)
	}
	text += fmt.Sprintf("  %d failed", p.failed+t.Load.Failed)
	p.set(text)
	if p.time != nil {
		p.time.SetCurrent(min(t.Elapsed, t.Duration-time.Second).Milliseconds()) // it completes only at the end
	} else if t.Elapsed-p.last >= time.Minute {
		p.last = t.Elapsed
		p.io.errorf("%s\n", text)
	}
}

// Window logs a window that is not pass.
func (p *soakProgress) Window(w *bundle.SoakWindow) {
	p.failed += w.Streams.Outcomes.Failed()
	if w.Verdict != bundle.LoadPass {
		p.io.errorf("window %d: %s: %s\n", w.Index, w.Verdict, w.Message)
	}
}

// Event logs what changed.
func (p *soakProgress) Event(e bundle.SoakEvent) { p.io.errorf("%s: %s\n", e.Kind, e.Message) }

// End removes the bar.
func (p *soakProgress) End() { p.close() }
