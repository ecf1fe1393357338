//go:build linux

package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

//go:embed files
var files embed.FS

// message is the Start request of every peer.
const message = `{"process":{"cmd":"/bin/sh","args":["-c","seq 1 20"]}}`

// bench is one session.
type bench struct {
	assay, tools, proto, dir string
	base                     string // an older build of assay, "" for none

	streams, runs int
	only          []string // parts
	missing       map[string]string
	log           io.Writer
	fresher       int
}

// part is a measurement against one gateway; several make a part of -only.
type part struct {
	name string
	file string // canned, for the gateway; "" if the measurement starts its own
	tls  bool
	run  func(context.Context, *page, *gateway) error
}

// parts lists the measurements in order.
func (b *bench) parts() []part {
	const each, all = "one write per event", "one write per response"
	return []part{
		{"short", "w1", false, b.short(each, http1, h2c)},
		{"together", b.file("together.yaml"), false, b.short(all, http1, h2c)},
		{"memory", b.file("held.yaml"), false, b.memory(http1, h2c)},
		{"most", b.file("most.yaml"), false, b.most},
		{"even", b.file("even.yaml"), false, b.even(heldAim{http1, 0.22}, heldAim{h2c, 0.25})},
		{"pace", b.file("sink.yaml"), false, b.pace},
		{"stop", "", false, b.stop},
		{"ws", "w1", false, b.short("one write per message", ws)},
		{"ws", b.file("held.yaml"), false, b.memory(ws)},
		{"tls", "w1", true, b.short(each, https1, https2)},
		{"tls", b.file("together.yaml"), true, b.short(all, https1, https2)},
		{"tls", b.file("even.yaml"), true, b.even(heldAim{https2, 0.30})},
		{"tls", b.file("held.yaml"), true, b.memory(https2)},
	}
}

// partNames lists the parts of -only in order.
func partNames() []string {
	var names []string
	for _, p := range new(bench).parts() {
		names = append(names, p.name)
	}
	return slices.Compact(names)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	b := &bench{log: os.Stderr}
	only := flag.String("only", strings.Join(partNames(), ","), "parts to measure")
	limit := flag.Duration("limit", 90*time.Minute, "give up after this time")
	flag.StringVar(&b.assay, "assay", "bin/assay", "the assay binary")
	flag.StringVar(&b.base, "base", "", "an older assay binary, measured beside -assay in short, together and memory")
	flag.StringVar(&b.tools, "tools", "bin/peers", "folder of the peers; missing ones are installed there")
	flag.StringVar(&b.proto, "proto", "internal/envd/proto/process/process.proto", "the process service, for ghz")
	flag.IntVar(&b.streams, "streams", 200_000, "short streams per run")
	flag.IntVar(&b.runs, "runs", 5, "runs per driver")
	flag.Parse()
	b.only = strings.Split(*only, ",")
	for _, part := range b.only {
		if !slices.Contains(partNames(), part) {
			return fmt.Errorf("-only %q: want any of %s", part, strings.Join(partNames(), ", "))
		}
	}
	if b.streams < 1000 || b.runs < 1 {
		return fmt.Errorf("-streams %d -runs %d: want at least 1000 streams and 1 run", b.streams, b.runs)
	}
	for _, path := range []*string{&b.assay, &b.base, &b.tools, &b.proto} {
		if *path == "" {
			continue
		}
		abs, err := filepath.Abs(*path)
		if err != nil {
			return err
		}
		*path = abs
	}
	dir, err := os.MkdirTemp("", "assay-peers-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b.dir = dir
	ctx, stop := context.WithTimeout(ctx, *limit)
	defer stop()
	return b.session(ctx)
}

// session installs the peers, measures, and prints the page.
func (b *bench) session(ctx context.Context) error {
	missing, err := b.install(ctx)
	if err != nil {
		return err
	}
	b.missing = missing
	p := &page{}
	p.machine(b.versions(ctx), missing, b.streams, b.runs)
	var failures []error
	for _, part := range b.parts() {
		if !slices.Contains(b.only, part.name) {
			continue
		}
		b.sayf("== %s (%s)", part.name, load())
		err := b.noteStolen(p, func() error { return b.measure(ctx, p, part) })
		if err != nil {
			if ctx.Err() != nil {
				return errors.Join(err, ctx.Err())
			}
			b.sayf("FAILED %s: %v", part.name, err)
			failures = append(failures, fmt.Errorf("%s: %w", part.name, err))
			p.failed(part.name, err)
		}
	}
	p.targets()
	if _, err := fmt.Fprint(os.Stdout, p.String()); err != nil {
		return err
	}
	return errors.Join(failures...)
}

// measure starts the gateway of a part, and measures.
func (b *bench) measure(ctx context.Context, p *page, part part) error {
	if part.file == "" {
		return part.run(ctx, p, nil)
	}
	g, err := b.serve(ctx, part.file, part.tls)
	if err != nil {
		return err
	}
	defer g.close()
	return part.run(ctx, p, g)
}

// noteStolen measures a part and reports the CPU time that the host took away
// meanwhile: a virtual machine loses its CPUs for milliseconds at a time.
func (b *bench) noteStolen(p *page, measure func() error) error {
	before, unknown := machineTicks()
	if err := measure(); err != nil {
		return err
	}
	after, err := machineTicks()
	if unknown != nil || err != nil {
		return nil //nolint:nilerr // unknown: report nothing
	}
	p.printf("\nCPU time stolen by the host meanwhile: %.2f %%.\n", 100*after.since(before))
	return nil
}

func (b *bench) sayf(format string, args ...any) {
	// Progress is best effort.
	_, _ = fmt.Fprintf(b.log, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

// fresh returns the path of a new directory, which it does not make.
func (b *bench) fresh() string {
	b.fresher++
	return filepath.Join(b.dir, fmt.Sprintf("run%d", b.fresher))
}

// load returns the load average as text.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "load unknown"
	}
	words := strings.Fields(string(text))
	return "load " + words[0]
}

// machine describes the machine.
func machine(kernel string) string {
	cpu := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				cpu = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, Linux %s, %s", cpu, runtime.NumCPU(), kernel, runtime.Version())
}
