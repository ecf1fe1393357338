//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// plateau holds the samples of a driver while all its streams were open.
type plateau struct {
	resident sample // bytes, anonymous
	cpu      time.Duration
	events   int64
	result   result
}

// sampleEvery is the sampling interval of a driver that holds streams.
const sampleEvery = 250 * time.Millisecond

// hold runs a driver that opens n streams and samples it from when all are open
// until one has ended.
func (b *bench) hold(ctx context.Context, g *gateway, n int, argv []string) (*plateau, error) {
	ctx, stop := context.WithTimeout(ctx, perRun)
	defer stop()
	c, err := start(ctx, b.dir, argv)
	if err != nil {
		return nil, err
	}
	p := &plateau{}
	seen := p.watch(ctx, g, n, c)
	p.result, err = c.wait()
	if err != nil {
		if why := clean(p.result, n); why != nil {
			err = why // the report says more than the exit code
		}
	} else {
		err = seen
	}
	if err == nil && len(p.resident) == 0 {
		err = fmt.Errorf("%d streams were never open at one time", n)
	}
	return p, err
}

// watch samples until the streams end. It skips the first second with all streams open.
func (p *plateau) watch(ctx context.Context, g *gateway, n int, c *command) error {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	pid := c.cmd.Process.Pid
	var from books
	var cpu time.Duration
	full := 0
	for {
		select {
		case err := <-c.done:
			c.done <- err // for wait
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		now, err := g.read(ctx)
		if err != nil {
			return err
		}
		if now.active < int64(n) {
			if full > 0 {
				full = -1 << 30 // the plateau is over
			}
			continue
		}
		if full++; full < 4 {
			continue
		}
		used, bytes, err := look(pid)
		if err != nil {
			return nil //nolint:nilerr // the process has just ended
		}
		if p.resident = append(p.resident, float64(bytes)); len(p.resident) == 1 {
			from, cpu = now, used
		}
		p.cpu, p.events = used-cpu, now.events-from.events
	}
}

// look reads the CPU time of a process and its children, and the memory of the
// largest of them.
func look(pid int) (cpu time.Duration, bytes int64, err error) {
	for _, member := range family(pid) {
		used, err := cpuOf(member)
		if err != nil {
			return 0, 0, err
		}
		held, err := anonymous(member)
		if err != nil {
			return 0, 0, err
		}
		cpu, bytes = cpu+used, max(bytes, held)
	}
	return cpu, bytes, nil
}

// clean returns an error when the report of Assay's driver has a failure.
func clean(r result, n int) error {
	var report struct {
		Streams struct {
			Outcomes map[string]int64 `json:"outcomes"`
		} `json:"streams"`
		Reasons []string `json:"reasons"`
	}
	if err := json.Unmarshal(r.Output, &report); err != nil {
		return fmt.Errorf("the driver's report: %w", err)
	}
	if killed := report.Streams.Outcomes["killed"]; killed != int64(n) || len(report.Reasons) > 0 {
		return fmt.Errorf("%d of %d streams succeeded: %v %v", killed, n, report.Streams.Outcomes, report.Reasons)
	}
	return nil
}

// slopeFrom and slopeTo are the numbers of open streams between which memory per stream is measured.
const (
	slopeFrom = 5_000
	slopeTo   = 15_000
	slopeAim  = 256 // bytes
	ramp      = 5 * time.Second
	heldFor   = 15 * time.Second
)

// memory measures the memory of one more open stream of each driver.
func (b *bench) memory(versions ...string) func(context.Context, *page, *gateway) error {
	return func(ctx context.Context, p *page, g *gateway) error {
		return b.slopes(ctx, p, g, b.holders(versions...))
	}
}

func (b *bench) slopes(ctx context.Context, p *page, g *gateway, all []holder) error {
	p.printf("\n### Memory per open stream, %d to %d\n\n| driver | HTTP | MB at %d | MB at %d | bytes per stream |\n|---|---|---|---|---|\n", slopeFrom, slopeTo, slopeFrom, slopeTo)
	var failures []error
	for _, d := range all {
		var x, y []float64
		at := map[int]*sample{slopeFrom: {}, slopeTo: {}}
		for range min(b.runs, d.runs) {
			for _, n := range []int{slopeFrom, slopeTo} {
				seen, err := b.hold(ctx, g, n, d.argv(g, n))
				if err == nil && d.own {
					err = clean(seen.result, n)
				}
				if err != nil {
					failures = append(failures, fmt.Errorf("%s over %s, %d streams: %w", d.name, d.on, n, err))
					b.sayf("FAILED %v", err)
					continue
				}
				*at[n] = append(*at[n], seen.resident.median()/1e6)
				x, y = append(x, float64(n)), append(y, seen.resident.median())
				b.sayf("%-16s %-4s %6d open  %8.1f MB", d.name, d.on, n, seen.resident.median()/1e6)
			}
		}
		bytes := slope(x, y)
		p.printf("| %s | %s | %v | %v | %.0f |\n", d.name, d.on, *at[slopeFrom], *at[slopeTo], bytes)
		if d.own {
			p.aim(target{What: "memory per open stream over " + d.on, Got: bytes, Most: slopeAim, Unit: "bytes", Missing: len(*at[slopeFrom]) == 0 || len(*at[slopeTo]) == 0})
		}
	}
	return errors.Join(failures...)
}

// holder is a driver that opens n streams and holds them.
type holder struct {
	name, on string
	own      bool
	runs     int
	argv     func(g *gateway, n int) []string
}

// holder returns Assay's driver.
func (b *bench) holder(on string) holder {
	return holder{name: fast, on: on, own: true, runs: 3, argv: func(g *gateway, n int) []string { return b.holding(g, on, n, ramp, heldFor) }}
}

// holders lists the measured drivers of some versions. Peers only give the scale and run once.
func (b *bench) holders(versions ...string) []holder {
	var all, peers []holder
	for _, on := range versions {
		own := b.holder(on)
		all = append(all, own)
		if run := own.argv; b.base != "" && (on == http1 || on == h2c) {
			own.name, own.own = fast+" (base)", false
			own.argv = func(g *gateway, n int) []string { return b.older(run(g, n)) }
			all = append(all, own)
		}
		if on == ws {
			peers = append(peers, holder{name: coder, on: ws, runs: 1, argv: func(g *gateway, n int) []string {
				return []string{b.tool("websocket"), "-url", g.url, "-streams", strconv.Itoa(n), "-ramp", ramp.String()}
			}})
			continue
		}
		if b.missing["h2load"] == "" {
			peers = append(peers, holder{name: "h2load", on: on, runs: 1, argv: b.heldByH2load(on)})
		}
		peers = append(peers, holder{name: "connect-go JSON", on: on, runs: 1, argv: b.heldByConnect(on)})
	}
	return append(all, peers...)
}

// heldByH2load returns the command line of h2load with n streams: over HTTP/2 on ten connections, over HTTP/1.1 evenly opened.
func (b *bench) heldByH2load(on string) func(g *gateway, n int) []string {
	return func(g *gateway, n int) []string {
		count := strconv.Itoa(n)
		argv := []string{b.tool("h2load"), "-t1", "-n" + count, "-d", b.file("start.bin"), "-H", contentType}
		if on == http1 {
			return append(argv, "--h1", "-c"+count, "-r"+strconv.Itoa(n/5), g.start())
		}
		return append(argv, "-c10", "-m"+strconv.Itoa(n/10), g.start())
	}
}

// heldByConnect returns the command line of connect-go with n streams, evenly opened.
func (b *bench) heldByConnect(on string) func(g *gateway, n int) []string {
	return func(g *gateway, n int) []string {
		argv := []string{b.tool("connectgo"), "-url", g.url, "-streams", strconv.Itoa(n), "-ramp", ramp.String(), "-cacert", g.ca}
		if on != http1 {
			argv = append(argv, "-h2")
		}
		return argv
	}
}

// most opens the largest supported number of streams in one process.
func (b *bench) most(ctx context.Context, p *page, g *gateway) error {
	p.printf("\n### Maximum in one process\n\n| HTTP | streams | failed | MB |\n|---|---|---|---|\n")
	var failures []error
	for _, most := range []struct {
		on string
		n  int
	}{{http1, 19_900}, {h2c, 50_000}} {
		t := target{What: fmt.Sprintf("%d streams over %s in one process, none failed", most.n, most.on), Most: 32, Unit: "MB"}
		seen, err := b.hold(ctx, g, most.n, b.holding(g, most.on, most.n, 10*time.Second, 20*time.Second))
		if err == nil {
			err = clean(seen.result, most.n)
		}
		if err != nil {
			failures, t.Missing = append(failures, err), true
			held := sample{}
			if seen != nil {
				held = append(held, seen.resident.median()/1e6)
			}
			p.printf("| %s | %d | %v | %v |\n", most.on, most.n, err, held)
		} else {
			t.Got = seen.resident.median() / 1e6
			p.printf("| %s | %d | 0 | %.1f |\n", most.on, most.n, t.Got)
		}
		p.aim(t)
	}
	return errors.Join(failures...)
}

// heldAim is the highest allowed cost of an event over an HTTP version, relative to connect-go.
type heldAim struct {
	on   string
	most float64
}

// even holds 10,000 streams that were opened evenly, with one event per second each, and measures the cost of an event.
func (b *bench) even(all ...heldAim) func(context.Context, *page, *gateway) error {
	return func(ctx context.Context, p *page, g *gateway) error { return b.evenly(ctx, p, g, all) }
}

func (b *bench) evenly(ctx context.Context, p *page, g *gateway, all []heldAim) error {
	const n = 10_000
	p.printf("\n### %d held streams, one event per second each, evenly spread\n\n| driver | HTTP | CPU, µs/event | MB |\n|---|---|---|---|\n", n)
	var failures []error
	for _, aim := range all {
		on := aim.on
		cost, memory := [2]sample{}, [2]sample{}
		for range min(b.runs, 3) {
			for i, argv := range [][]string{b.holding(g, on, n, ramp, 11*time.Second), b.heldByConnect(on)(g, n)} {
				seen, err := b.hold(ctx, g, n, argv)
				if err == nil && i == 0 {
					err = clean(seen.result, n)
				}
				if err != nil {
					failures = append(failures, err)
					continue
				}
				cost[i] = append(cost[i], float64(seen.cpu.Nanoseconds())/1e3/float64(max(1, seen.events)))
				memory[i] = append(memory[i], seen.resident.median()/1e6)
				b.sayf("%s %v µs/event, %d events", on, cost[i], seen.events)
			}
		}
		for i, name := range []string{fast, "connect-go JSON"} {
			p.printf("| %s | %s | %v | %v |\n", name, on, cost[i], memory[i])
		}
		p.aim(target{
			What: "10,000 held streams over " + on + ", CPU per event", Most: aim.most, Peer: "connect-go JSON", Relative: true,
			Got: cost[0].median(), Against: cost[1].median(), Missing: len(cost[0])*len(cost[1]) == 0,
		})
	}
	return errors.Join(failures...)
}
