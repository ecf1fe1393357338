package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"assay/internal/bundle"
	"assay/internal/crash"
	"assay/internal/termsafe"
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

// newProgress draws a bar on a terminal; elsewhere it logs a line every 10 s.
func newProgress(io stdio) suites.Progress {
	if _, tty := terminal(io.err.To); tty {
		return &bar{io: io}
	}
	return &lines{io: io}
}

// bar is the progress on a terminal.
type bar struct {
	io      stdio
	mu      sync.Mutex
	p       *mpb.Progress
	b       *mpb.Bar
	running []string
	failed  int
}

var _ suites.Progress = (*bar)(nil)

// Begin draws the empty bar.
func (b *bar) Begin(run *bundle.Run, instances []scenarios.Instance) {
	b.io.errorf("%s\n", headline(run, len(instances)))
	width, _ := terminal(b.io.err.To)
	b.p = mpb.New(mpb.WithOutput(unguarded(b.io.err.To)), mpb.WithWidth(24), mpb.WithRefreshRate(100*time.Millisecond))
	room := max(10, width-60)
	b.b = b.p.AddBar(int64(len(instances)), mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.CountersNoUnit("%d/%d", decor.WCSyncSpace)),
		mpb.AppendDecorators(decor.Elapsed(decor.ET_STYLE_GO, decor.WCSyncSpace), decor.Any(func(decor.Statistics) string { return b.tail(room) })))
}

// tail returns the text behind the bar.
func (b *bar) tail(room int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := ""
	if b.failed > 0 {
		s = fmt.Sprintf("  %d failed", b.failed)
	}
	if len(b.running) > 0 {
		s += "  " + termsafe.Text(b.running[0])
	}
	if len(s) > room {
		s = s[:room-1] + "…"
	}
	return s
}

// Start adds a running scenario.
func (b *bar) Start(i scenarios.Instance) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running = append(b.running, i.Scenario.ID)
}

// Done advances the bar.
func (b *bar) Done(i scenarios.Instance, c bundle.Conclusion, _ time.Duration) {
	b.mu.Lock()
	for n, id := range b.running {
		if id == i.Scenario.ID {
			b.running = append(b.running[:n], b.running[n+1:]...)
			break
		}
	}
	if bad(c) {
		b.failed++
	}
	b.mu.Unlock()
	b.b.Increment()
}

// End removes the bar.
func (b *bar) End() {
	b.b.Abort(true)
	b.p.Wait()
}

func bad(c bundle.Conclusion) bool {
	return c.FailsRun() || c == bundle.Error
}

// headline describes the run in one line.
func headline(run *bundle.Run, n int) string {
	url := run.Target.URL
	if run.Target.Embedded {
		url = "the embedded gateway (" + url + ")"
	}
	runs := "runs"
	if n == 1 {
		runs = "run"
	}
	text := fmt.Sprintf("%s · profile %s · %d %s · round trip %v",
		url, run.Profile, n, runs, time.Duration(run.Calibration.RTT).Round(10*time.Microsecond))
	if shell := strings.Join(run.Target.Shell, " "); shell != "/bin/sh -c" {
		text += " · shell " + shell
	}
	return text
}

// lines is the progress off a terminal.
type lines struct {
	io      stdio
	mu      sync.Mutex
	total   int
	done    int
	failed  int
	running map[string]int
	began   time.Time
	quit    chan struct{}
	ended   chan struct{}
}

var _ suites.Progress = (*lines)(nil)

// Begin starts the ten-second log.
func (l *lines) Begin(run *bundle.Run, instances []scenarios.Instance) {
	l.total, l.began, l.running = len(instances), time.Now(), map[string]int{}
	l.quit, l.ended = make(chan struct{}), make(chan struct{})
	l.io.errorf("%s\n", headline(run, len(instances)))
	crash.Go(l.loop)
}

func (l *lines) loop() {
	defer close(l.ended)
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-l.quit:
			return
		case <-tick.C:
			l.io.errorf("%s\n", l.line())
		}
	}
}

func (l *lines) line() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := slices.Sorted(maps.Keys(l.running))
	return fmt.Sprintf("%4.0fs  %d of %d done, %d failed; running: %s",
		time.Since(l.began).Seconds(), l.done, l.total, l.failed, strings.Join(names, " "))
}

// Start counts a running scenario.
func (l *lines) Start(i scenarios.Instance) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running[i.Scenario.ID]++
}

// Done counts a finished scenario.
func (l *lines) Done(i scenarios.Instance, c bundle.Conclusion, _ time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done++
	if l.running[i.Scenario.ID]--; l.running[i.Scenario.ID] <= 0 {
		delete(l.running, i.Scenario.ID)
	}
	if bad(c) {
		l.failed++
	}
}

// End stops the log.
func (l *lines) End() {
	close(l.quit)
	<-l.ended
}
