//go:build linux

package main

import (
	"context"
	"fmt"
	"time"
)

// figures is the cost of a driver's runs: microseconds of CPU time per stream, of
// the driver and of the gateway, and streams per second.
type figures struct{ cpu, server, rate sample }

// perRun bounds one run of any driver.
const perRun = 5 * time.Minute

// short runs every driver over some HTTP versions, in turn, b.runs times; how says how the gateway writes.
func (b *bench) short(how string, versions ...string) func(context.Context, *page, *gateway) error {
	return func(ctx context.Context, p *page, g *gateway) error {
		for _, on := range versions {
			all := b.drivers(on)
			got, failures, err := b.rotate(ctx, g, all, on)
			if err != nil {
				return err
			}
			p.printf("\n### Short streams over %s, %s\n\n", title(on), how)
			b.drawShort(p, on, all, got, failures)
			for _, a := range shortAims[on] {
				p.aim(against("short streams over "+on+", "+how+": CPU per stream", a, got))
			}
		}
		return nil
	}
}

// title names a version in headings.
func title(on string) string {
	if on == ws {
		return "WebSocket"
	}
	return "HTTP " + on
}

// oneShort runs one driver once.
func (b *bench) oneShort(ctx context.Context, g *gateway, d driver, got map[string]*figures) error {
	ctx, stop := context.WithTimeout(ctx, perRun)
	defer stop()
	n := b.streams
	if d.Part > 1 {
		n /= d.Part
	}
	r, err := g.run(ctx, b.dir, d.argv(b, g, n))
	if err != nil {
		return err
	}
	if r.Streams == 0 {
		return fmt.Errorf("the gateway saw no stream")
	}
	f := got[d.Name]
	if f == nil {
		f = &figures{}
		got[d.Name] = f
	}
	per := func(t time.Duration) float64 { return float64(t.Nanoseconds()) / 1e3 / float64(r.Streams) }
	f.cpu = append(f.cpu, per(r.CPU))
	f.server = append(f.server, per(r.ServerCPU))
	f.rate = append(f.rate, float64(r.Streams)/r.Wall.Seconds())
	b.sayf("%-21s %7d streams  %6.2f µs/stream  gateway %6.2f  %6.0f/s  %s", d.Name, r.Streams, per(r.CPU), per(r.ServerCPU), float64(r.Streams)/r.Wall.Seconds(), load())
	return nil
}

func (b *bench) drawShort(p *page, on string, all []driver, got map[string]*figures, failures map[string]error) {
	p.printf("| driver | CPU, µs/stream | × %s | gateway, µs/stream | streams/s |\n|---|---|---|---|---|\n", reference(on))
	for _, d := range all {
		f := got[d.Name]
		switch why := failures[d.Name]; {
		case f == nil && why != nil:
			p.printf("| %s | failed: %.100v | | | |\n", d.Name, why)
		case f == nil:
			p.printf("| %s | **missing** | | | |\n", d.Name)
		default:
			ratio := "–"
			if r := got[reference(on)]; r != nil {
				ratio = fmt.Sprintf("%.2f", f.cpu.median()/r.cpu.median())
			}
			p.printf("| %s | %v | %s | %.2f | %.0f |\n", d.Name, f.cpu, ratio, f.server.median(), f.rate.median())
		}
	}
}

// reference names the driver that ratios relate to.
func reference(on string) string {
	switch on {
	case http1, https1:
		return "wrk"
	case ws:
		return coder
	}
	return "h2load"
}

// aim is the highest allowed cost of Assay's driver relative to a peer.
type aim struct {
	peer string
	most float64
}

// shortAims are the targets of short streams.
var shortAims = map[string][]aim{
	http1:  {{"wrk", 1.10}, {"fortio", 0.75}, {"connect-go JSON", 0.22}, {"k6", 0.16}},
	h2c:    {{"h2load", 0.90}, {"connect-go JSON", 0.25}, {"ghz", 0.08}},
	https1: {{"wrk", 1.10}},
	https2: {{"h2load", 0.90}},
	ws:     {{coder, 0.60}, {"k6", 0.25}},
}
