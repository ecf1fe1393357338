//go:build linux

package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"time"
)

// concurrent is the number of short streams open at a time, connections the number
// of HTTP/2 connections for them.
const (
	concurrent  = 64
	connections = 8
)

// driver is one way to run W1: a tool and the HTTP version that it speaks.
type driver struct {
	Name string
	// Part divides the number of streams: slow tools reach the same cost per stream
	// with a fraction of them. 0 means all.
	Part int
	// argv returns the command line.
	argv func(b *bench, g *gateway, n int) []string
}

// tool returns the path of an installed or built program.
func (b *bench) tool(name string) string { return filepath.Join(b.tools, name) }

// file returns the path of an input file for the tools.
func (b *bench) file(name string) string { return filepath.Join(b.dir, name) }

// ours runs Assay's driver with everything that is on by default.
func ours(engine, on string) func(*bench, *gateway, int) []string {
	return func(b *bench, g *gateway, n int) []string {
		return append(b.load(g, on), "--streams", strconv.Itoa(concurrent), "--count", strconv.Itoa(n),
			"--out", b.fresh(), "--format", "json", "--engine", engine)
	}
}

// older returns a command line of Assay's driver, run by the older build.
func (b *bench) older(argv []string) []string { return append([]string{b.base}, argv[1:]...) }

// withBase returns Assay's drivers, and those of the older build if there is one.
func (b *bench) withBase(on string) []driver {
	var all []driver
	for _, engine := range []string{"fast", "portable"} {
		run := ours(engine, on)
		all = append(all, driver{Name: "assay " + engine, argv: run})
		if b.base != "" {
			all = append(all, driver{Name: "assay " + engine + " (base)", argv: func(b *bench, g *gateway, n int) []string { return b.older(run(b, g, n)) }})
		}
	}
	return all
}

// client runs a client of bench/clients.
func client(name string, flags ...string) func(*bench, *gateway, int) []string {
	return func(b *bench, g *gateway, n int) []string {
		return append([]string{b.tool(name), "-url", g.url, "-streams", strconv.Itoa(n), "-open", strconv.Itoa(concurrent)}, flags...)
	}
}

const contentType = "content-type: application/connect+json"

func wrk(b *bench, g *gateway, n int) []string {
	// wrk has no option for a count. At 20,000 streams per second this is about n; the gateway counts the real number.
	seconds := max(2, n/20_000)
	return []string{b.tool("wrk"), "-t1", fmt.Sprintf("-c%d", concurrent), fmt.Sprintf("-d%ds", seconds), "-s", b.file("start.lua"), g.start()}
}

func h2load1(b *bench, g *gateway, n int) []string {
	return []string{b.tool("h2load"), "--h1", "-t1", fmt.Sprintf("-c%d", concurrent), fmt.Sprintf("-n%d", n), "-d", b.file("start.bin"), "-H", contentType, g.start()}
}

func h2load2(b *bench, g *gateway, n int) []string {
	return []string{
		b.tool("h2load"), "-t1", fmt.Sprintf("-c%d", connections), fmt.Sprintf("-m%d", concurrent/connections), fmt.Sprintf("-n%d", n),
		"-d", b.file("start.bin"), "-H", contentType, g.start(),
	}
}

func fortio(b *bench, g *gateway, n int) []string {
	return []string{
		b.tool("fortio"), "load", "-quiet", "-c", strconv.Itoa(concurrent), "-n", strconv.Itoa(n), "-qps", "0",
		"-payload-file", b.file("start.bin"), "-H", contentType, g.start(),
	}
}

func k6(b *bench, g *gateway, n int) []string {
	return []string{
		b.tool("k6"), "run", "-q", "--no-usage-report", "--vus", strconv.Itoa(concurrent), "--iterations", strconv.Itoa(n),
		"-e", "URL=" + g.start(), b.file("start.js"),
	}
}

func ghz(b *bench, g *gateway, n int) []string {
	return []string{
		b.tool("ghz"), "--insecure", "--proto", b.proto, "--call", "process.Process/Start", "-d", message,
		"-c", strconv.Itoa(concurrent), "--connections", strconv.Itoa(connections), "-n", strconv.Itoa(n), "--format", "json", g.addr(),
	}
}

// slowPart is the Part of k6 and ghz.
const slowPart = 4

// drivers lists the drivers of short streams over a version. Over WebSocket, each stream has its own connection.
func (b *bench) drivers(on string) []driver {
	own := b.withBase(on)
	switch on {
	case http1:
		return append(own,
			driver{Name: "wrk", argv: wrk},
			driver{Name: "h2load", argv: h2load1},
			driver{Name: "fortio", argv: fortio},
			driver{Name: "net/http", argv: client("nethttp")},
			driver{Name: "connect-go JSON", argv: client("connectgo")},
			driver{Name: "k6", argv: k6, Part: slowPart})
	case h2c:
		return append(own,
			driver{Name: "h2load", argv: h2load2},
			driver{Name: "net/http", argv: client("nethttp", "-h2")},
			driver{Name: "connect-go JSON", argv: client("connectgo", "-h2")},
			driver{Name: "ghz", argv: ghz, Part: slowPart})
	case ws:
		return append(own, driver{Name: coder, argv: client("websocket")}, driver{Name: "k6", argv: k6ws, Part: slowPart})
	}
	return b.shortTLS(on)
}

// The names of Assay's fast driver, to which the targets apply, and of the HTTP versions in tables.
const (
	fast  = "assay fast"
	http1 = "1.1"
	h2c   = "h2c"
)

// holding returns the command line of Assay's driver that opens n streams evenly over a
// ramp, checks their lines, and kills them after the duration. No stream may end
// by itself earlier.
func (b *bench) holding(g *gateway, on string, n int, ramp, duration time.Duration) []string {
	return append(b.load(g, on), "--streams", strconv.Itoa(n), "--ramp", ramp.String(), "--duration", duration.String(),
		"--out", b.fresh(), "--format", "json", "--engine", "fast")
}
