package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	program := flag.String("assay", "bin/assay", "the assay binary")
	modes := flag.String("modes", "*", "globs of modes, separated by commas")
	only := flag.String("commands", strings.Join(commands(), ","), "commands to run")
	jobs := flag.Int("jobs", 2, "runs at the same time")
	limits := defaultLimits
	flag.DurationVar(&limits.wall, "time", limits.wall, "longest time of a run; conform has eight times as long")
	flag.Parse()
	abs, err := filepath.Abs(*program)
	if err != nil {
		return err
	}
	b := &bench{program: abs, limits: limits, jobs: *jobs, out: os.Stdout}
	for _, command := range strings.Split(*only, ",") {
		if !slices.Contains(commands(), command) {
			return fmt.Errorf("-commands %q: want any of %s", command, strings.Join(commands(), ", "))
		}
	}
	cases := slices.DeleteFunc(allCases(), func(c trial) bool {
		return !slices.Contains(strings.Split(*only, ","), c.command) || !matches(*modes, c.mode.ID)
	})
	if len(cases) == 0 {
		return fmt.Errorf("-modes %q: no mode matches", *modes)
	}
	return b.table(ctx, cases)
}

func matches(globs, id string) bool {
	return slices.ContainsFunc(strings.Split(globs, ","), func(glob string) bool {
		ok, err := path.Match(glob, id)
		return err == nil && ok
	})
}

// bench runs trials, some at the same time, and prints their rows in order.
type bench struct {
	program string
	limits  limits
	jobs    int
	out     io.Writer
}

// table prints a row for each trial, and returns an error that counts those that broke a
// limit.
func (b *bench) table(ctx context.Context, trials []trial) error {
	_, _ = fmt.Fprintf(b.out, "%-8s  %-24s %-8s %4s %-14s %7s %7s %6s  %s\n", "LAYER", "MODE", "COMMAND", "EXIT", "VERDICT", "SECONDS", "CPU", "MB", "BREAKS")
	rows := make([]chan row, len(trials))
	for i := range rows {
		rows[i] = make(chan row, 1)
	}
	free := make(chan struct{}, max(1, b.jobs))
	var running sync.WaitGroup
	running.Go(func() {
		for i, t := range trials {
			free <- struct{}{}
			running.Go(func() {
				rows[i] <- b.try(ctx, t)
				<-free
			})
		}
	})
	defer running.Wait()
	broken := 0
	for i, t := range trials {
		r := <-rows[i]
		if r.err != nil {
			return fmt.Errorf("%s %s: %w", t.mode.ID, t.command, r.err)
		}
		if len(r.breaks) > 0 {
			broken++
		}
		_, _ = fmt.Fprintf(b.out, "%-8s  %-24s %-8s %4d %-14s %7.1f %7.1f %6d  %s\n", t.mode.Layer, t.mode.ID, t.command, r.exit, r.verdict,
			r.wall.Seconds(), r.cpu.Seconds(), r.peak>>20, strings.Join(r.breaks, ", "))
	}
	if broken > 0 {
		return fmt.Errorf("%d of %d runs break a limit", broken, len(trials))
	}
	return nil
}
