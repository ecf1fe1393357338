package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"assay/internal/base/crash"
	"assay/internal/base/termsafe"
	"assay/internal/command/runpage"
	"assay/internal/record/bundle"
	"assay/reports/page"
	"assay/scenarios"
	"assay/suites"
)

// logger writes warnings and worse to stderr.
func logger(io stdio) *slog.Logger {
	return slog.New(slog.NewTextHandler(io.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// nothingRun classifies errors that end a run before its first scenario.
func nothingRun(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return &exitError{exitInterrupted, errors.New("interrupted before the first scenario")}
	}
	var none *scenarios.NothingSelectedError
	if errors.As(err, &none) || errors.Is(err, suites.ErrNothingAccepted) {
		return &exitError{exitInconclusive, err}
	}
	return err
}

// meter shows the state of a run as bars on a terminal. Elsewhere it draws nothing.
type meter[T any] struct {
	io    stdio
	width int // of the terminal
	p     *mpb.Progress
	bars  []*mpb.Bar

	mu    sync.Mutex
	state T
}

// barWidth is the width of a bar alone.
const barWidth = 24

// open begins to draw, and reports whether there is a terminal.
func (m *meter[T]) open(refresh time.Duration) (tty bool) {
	if m.width, tty = terminal(m.io.err.To); !tty {
		return false
	}
	if m.width == 0 {
		m.width = 80
	}
	m.p = mpb.New(mpb.WithOutput(unguarded(m.io.err.To)), mpb.WithWidth(barWidth), mpb.WithRefreshRate(refresh))
	return true
}

// bar adds a bar.
func (m *meter[T]) bar(total int64, how mpb.BarFillerBuilder, decorators ...mpb.BarOption) *mpb.Bar {
	b := m.p.New(total, how, append(decorators, mpb.BarRemoveOnComplete())...)
	m.bars = append(m.bars, b)
	return b
}

// text shows a line about the state in at most so many columns.
func (m *meter[T]) text(line func(T) string, columns int) decor.Decorator {
	return decor.Any(func(decor.Statistics) string { return clipped(line(m.seen()), max(columns, 10)) })
}

// set sets the state.
func (m *meter[T]) set(state T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = state
}

func (m *meter[T]) seen() T {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state
}

// close removes the bars.
func (m *meter[T]) close() {
	for _, b := range m.bars {
		b.Abort(true)
	}
	if m.p != nil {
		m.p.Wait()
	}
}

// clipped truncates text to at most n columns.
func clipped(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// conformState is how far a run of scenarios is.
type conformState struct {
	began               time.Time
	total, done, failed int
	running             []string // ids, in the order of their start
}

// conformProgress shows the progress of scenarios: a bar on a terminal, elsewhere a line every 10 s, and the page of --ui.
type conformProgress struct {
	meter[conformState]
	page *runpage.Server // may be nil
	all  *mpb.Bar
	log  crash.Group
	quit chan struct{}
}

var _ suites.Progress = (*conformProgress)(nil)

func newProgress(io stdio, page *runpage.Server) *conformProgress {
	return &conformProgress{meter: meter[conformState]{io: io}, page: page, quit: make(chan struct{})}
}

// change changes the state.
func (p *conformProgress) change(how func(s *conformState)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.state
	s.running = slices.Clone(s.running)
	how(&s)
	p.state = s
}

// Begin says what runs.
func (p *conformProgress) Begin(run *bundle.Run, instances []scenarios.Instance) {
	p.io.errorf("%s\n", headline(run, len(instances)))
	p.page.Sentence(headline(run, len(instances)))
	p.change(func(s *conformState) { s.began, s.total = time.Now(), len(instances) })
	if p.open(100 * time.Millisecond) {
		p.all = p.bar(int64(len(instances)), mpb.BarStyle(), mpb.PrependDecorators(decor.CountersNoUnit("%d/%d", decor.WCSyncSpace)),
			mpb.AppendDecorators(decor.Elapsed(decor.ET_STYLE_GO, decor.WCSyncSpace), p.text(conformTail, p.width-60)))
		return
	}
	p.log.Go(func() {
		tick := time.NewTicker(10 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-p.quit:
				return
			case <-tick.C:
				s := p.seen()
				running := slices.Compact(slices.Sorted(slices.Values(s.running)))
				p.io.errorf("%4.0fs  %d of %d done, %d failed; running: %s\n", time.Since(s.began).Seconds(), s.done, s.total, s.failed, strings.Join(running, " "))
			}
		}
	})
}

// conformTail is the text behind the bar.
func conformTail(s conformState) (text string) {
	if s.failed > 0 {
		text = fmt.Sprintf("  %d failed", s.failed)
	}
	if len(s.running) > 0 {
		text += "  " + termsafe.Text(s.running[0])
	}
	return text
}

// Start adds a running scenario.
func (p *conformProgress) Start(i scenarios.Instance) {
	p.change(func(s *conformState) { s.running = append(s.running, i.Scenario.ID) })
}

// Done shows a finished scenario.
func (p *conformProgress) Done(i scenarios.Instance, c bundle.Conclusion, _ time.Duration) {
	bad := c.FailsRun() || c == bundle.Error
	p.change(func(s *conformState) {
		if at := slices.Index(s.running, i.Scenario.ID); at >= 0 {
			s.running = slices.Delete(s.running, at, at+1)
		}
		s.done++
		if bad {
			s.failed++
		}
		elapsed := time.Since(s.began)
		p.page.Moment("runs", elapsed.Seconds(), float64(s.done), float64(s.failed))
		p.page.Facts(fmt.Sprintf("%d of %d", s.done, s.total), strconv.Itoa(s.failed), strconv.Itoa(len(s.running)), elapsed.Round(time.Second).String())
	})
	entry := runpage.Entry{Tone: page.Bad, Symbol: "✗", Word: strings.ReplaceAll(string(c), "-", " "), Text: i.Scenario.ID + "  " + i.Axes.String()}
	switch {
	case bad:
		p.page.Entry(entry)
	case c == bundle.Inconclusive:
		entry.Tone, entry.Symbol = page.Warn, "?"
		p.page.Entry(entry)
	}
	if p.all != nil {
		p.all.Increment()
	}
}

// End removes the bar, or stops the log.
func (p *conformProgress) End() {
	close(p.quit)
	p.log.Wait()
	p.close()
}

// headline describes the run in one line.
func headline(run *bundle.Run, n int) string {
	url := run.Target.URL
	if run.Target.Embedded {
		url = "the embedded gateway (" + url + ")"
	}
	text := fmt.Sprintf("%s · profile %s · %s · round trip %v",
		url, run.Profile, plural(n, "run", "runs"), time.Duration(run.Calibration.RTT).Round(10*time.Microsecond))
	if shell := strings.Join(run.Target.Shell, " "); shell != "/bin/sh -c" {
		text += " · shell " + shell
	}
	return text
}
