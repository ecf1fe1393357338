//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

// latencies are the distributions of a report, in microseconds.
type latencies map[string]struct {
	Count, P50, P99, P999, Max int64
}

// parseLatencies reads the latencies from a report of Assay's driver or of a client.
func parseLatencies(output []byte) (latencies, error) {
	var report struct {
		Latency latencies `json:"latency_us"`
	}
	if err := json.Unmarshal(output, &report); err != nil {
		return nil, fmt.Errorf("the report: %w", err)
	}
	return report.Latency, nil
}

const (
	paceRate = 10_000
	paceFor  = 3 * time.Second
)

// pace compares how late starts are at 10,000 per second against a gateway
// that never responds.
func (b *bench) pace(ctx context.Context, p *page, g *gateway) error {
	sink, err := discard()
	if err != nil {
		return err
	}
	defer sink.Close()
	own := []string{
		b.assay, "load", g.url, "--http", h2c, "--rate", strconv.Itoa(paceRate), "--duration", paceFor.String(), "--format", "json", "--engine", "fast",
	}
	sleeper := []string{b.tool("pacer"), "-sink", sink.Addr().String(), "-rate", strconv.Itoa(paceRate), "-duration", paceFor.String()}
	var p99 [2]sample
	p.printf("\n### %d starts per second against a sink: delay of the start\n\n| driver | p50, µs | p99, µs | p99.9, µs |\n|---|---|---|---|\n", paceRate)
	var middle, tail [2]sample
	for range b.runs {
		for i, argv := range [][]string{own, sleeper} {
			lag, err := b.paced(ctx, argv)
			if err != nil {
				return err
			}
			l := lag["start_lag"]
			p99[i], middle[i], tail[i] = append(p99[i], float64(l.P99)), append(middle[i], float64(l.P50)), append(tail[i], float64(l.P999))
			b.sayf("start lag of %d: p50 %d µs, p99 %d µs, p99.9 %d µs", l.Count, l.P50, l.P99, l.P999)
		}
	}
	for i, name := range []string{fast, "time.Sleep"} {
		p.printf("| %s | %.0f | %v | %.0f |\n", name, middle[i].median(), p99[i], tail[i].median())
	}
	p.aim(target{
		What: "10,000 starts/s, start lag p99", Most: 0.10, Peer: "time.Sleep", Relative: true, Got: p99[0].median(), Against: p99[1].median(),
	})
	return nil
}

// paced runs a driver and reads its report. It ignores the exit code: against a
// gateway that never responds, the streams fail.
func (b *bench) paced(ctx context.Context, argv []string) (latencies, error) {
	ctx, stop := context.WithTimeout(ctx, perRun)
	defer stop()
	c, err := start(ctx, b.dir, argv)
	if err != nil {
		return nil, err
	}
	r, failed := c.wait()
	lag, err := parseLatencies(r.Output)
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	return lag, nil
}

// discard listens and discards everything it receives.
func discard() (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not block
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			go func() {
				_, _ = io.Copy(io.Discard, conn) // until the client closes
				_ = conn.Close()
			}()
		}
	}()
	return l, nil
}

const (
	stops   = 6
	stopFor = 50 * time.Millisecond
)

// stop stops a driver that holds 2,000 streams six times for 50 ms, and
// compares the reported gaps with the true second plus the gateway's own delay.
func (b *bench) stop(ctx context.Context, p *page, _ *gateway) error {
	const n = 2000
	p.printf("\n### Driver stopped %d × %v: error of the reported gaps\n\n| driver | reported p99.9, ms over | gateway late p99.9, ms | error, ms | driver lag p99.9, ms |\n|---|---|---|---|---|\n", stops, stopFor)
	var wrong [2]sample
	var lag string
	for range min(b.runs, 3) {
		for i := range wrong {
			off, own, err := b.oneStop(ctx, p, i == 0, n)
			if err != nil {
				return err
			}
			wrong[i] = append(wrong[i], off)
			if i == 0 {
				lag = own
			}
		}
	}
	b.sayf("driver lag p99.9 %s ms", lag)
	p.aim(target{
		What: "driver stopped 6 × 50 ms, error of gap p99.9", Most: 0.10, Peer: "a user-space clock", Relative: true, Got: wrong[0].median(), Against: wrong[1].median(),
	})
	return nil
}

// oneStop runs the stop test once, with Assay's driver or with one that uses time.Now. It
// returns the error in milliseconds and the lag that the driver reports.
func (b *bench) oneStop(ctx context.Context, p *page, own bool, n int) (off float64, lag string, err error) {
	g, err := b.serve(ctx, b.file("even.yaml"), false)
	if err != nil {
		return 0, "", err
	}
	defer g.close()
	name, argv := "net/http, time.Now", []string{b.tool("nethttp"), "-url", g.url, "-streams", strconv.Itoa(n), "-ramp", "2s"}
	if own {
		name, argv = fast, b.holding(g, http1, n, 2*time.Second, 12*time.Second)
	}
	l, err := b.stopped(ctx, argv)
	if err != nil {
		return 0, "", err
	}
	now, err := g.read(ctx)
	if err != nil {
		return 0, "", err
	}
	over, late := float64(l["gap"].P999)/1e3-1000, float64(now.late.Microseconds())/1e3
	off, lag = max(over-late, 0), "–"
	if seen, ok := l["driver_lag"]; ok {
		lag = fmt.Sprintf("%.1f", float64(seen.P999)/1e3)
	}
	p.printf("| %s | %.1f | %.1f | %.1f | %s |\n", name, over, late, off, lag)
	return off, lag, nil
}

// stopped runs a driver and stops it repeatedly in the middle.
func (b *bench) stopped(ctx context.Context, argv []string) (latencies, error) {
	ctx, stop := context.WithTimeout(ctx, perRun)
	defer stop()
	c, err := start(ctx, b.dir, argv)
	if err != nil {
		return nil, err
	}
	pause := func(d time.Duration) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
	pause(5 * time.Second)
	for range stops {
		for _, pid := range family(c.cmd.Process.Pid) {
			_ = syscall.Kill(pid, syscall.SIGSTOP) // it may have ended
		}
		pause(stopFor)
		for _, pid := range family(c.cmd.Process.Pid) {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
		pause(700 * time.Millisecond)
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", c.cmd.Process.Pid)); err != nil {
		return nil, errors.New("the driver ended before it was stopped")
	}
	r, err := c.wait()
	if err != nil {
		return nil, err
	}
	return parseLatencies(r.Output)
}
