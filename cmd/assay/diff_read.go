package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"assay/internal/bundle"
	"assay/internal/diff"
	"assay/internal/load"
)

// maxCompared is the maximum length of a report, in bytes.
const maxCompared = 64 << 20

// compared is one argument of diff: a conform run or a load run.
type compared struct {
	run  *diff.Run
	load *diff.Load
}

// readCompared reads a bundle, the directory of a load run, or a report of either.
func readCompared(path string) (compared, error) {
	info, err := os.Stat(path)
	if err != nil {
		return compared{}, err
	}
	if !info.IsDir() {
		return readComparedFile(path)
	}
	if isLoad(path) {
		return readLoad(path)
	}
	b, err := bundle.Open(path)
	if err != nil {
		return compared{}, err
	}
	r := b.Report
	if r == nil || b.Unfinished {
		if _, r, err = judged(b, "", false); err != nil {
			return compared{}, err
		}
	}
	return compared{run: &diff.Run{Name: path, Report: r, Info: b.Run, Observations: b.Observations, Partial: b.Partial}}, nil
}

// isLoad reports whether a directory belongs to a load run.
func isLoad(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "load.json"))
	return err == nil
}

// readComparedFile reads a report; its schema says of which kind of run.
func readComparedFile(path string) (compared, error) {
	text, err := readUpTo(path, maxCompared)
	if err != nil {
		return compared{}, err
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return compared{}, fmt.Errorf("%s: neither a bundle nor a report: %w", path, err)
	}
	switch head.Schema {
	case load.Schema:
		return readLoad(path)
	case bundle.ReportSchema:
	default:
		return compared{}, fmt.Errorf("%s: schema is %q, want %s or %s (conform or load with --format json)", path, head.Schema, bundle.ReportSchema, load.Schema)
	}
	r := &bundle.Report{}
	if err := json.Unmarshal(text, r); err != nil {
		return compared{}, fmt.Errorf("%s: not a report: %w", path, err)
	}
	return compared{run: &diff.Run{Name: path, Report: r}}, nil
}

func readUpTo(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s: more than %d bytes, the limit of a report", path, limit)
	}
	return text, err
}

// leastInInterval is the minimum number of values in an interval for comparing its p99:
// with fewer, it is almost the maximum.
const leastInInterval = 10

// readLoad reads a load run in the form for comparison.
func readLoad(path string) (compared, error) {
	s, err := load.Open(path)
	if err != nil {
		return compared{}, err
	}
	r := s.Report
	l := &diff.Load{
		Name: path, Target: bundle.Target{URL: r.Target.URL, Embedded: r.Target.Embedded}, Profile: r.Target.Profile,
		Verdict: string(r.Verdict), Plan: planOf(r), Counts: countsOf(r), Thresholds: map[string]bool{}, Each: "one second of the run",
	}
	if len(r.Reasons) > 0 {
		l.Message = r.Reasons[0]
	}
	for _, t := range r.Thresholds {
		if t.OK != nil {
			l.Thresholds[t.Expr] = *t.OK
		}
	}
	if s.Intervals == nil {
		return compared{load: l}, nil
	}
	l.Intervals = map[string][]float64{}
	for series, intervals := range s.Intervals {
		if m := series.Metric; m != load.FirstEvent && m != load.Gap && m != load.EndOfStream {
			continue
		}
		p50, p99 := series.Metric.String()+".p50", series.Metric.String()+".p99"
		if series.Class != "" {
			p50, p99 = p50+"/"+series.Class, p99+"/"+series.Class
		}
		for _, i := range intervals {
			if i.Latency.Count >= leastInInterval {
				l.Intervals[p50] = append(l.Intervals[p50], float64(i.Latency.P50))
				l.Intervals[p99] = append(l.Intervals[p99], float64(i.Latency.P99))
			}
		}
	}
	return compared{load: l}, nil
}

func planOf(r *load.Report) map[string]string {
	return map[string]string{
		"model": r.Plan.Model, "streams": strconv.Itoa(r.Plan.Streams), "rate": strconv.FormatFloat(r.Plan.Rate, 'g', -1, 64),
		"count": strconv.Itoa(r.Plan.Count), "duration_ms": strconv.FormatInt(r.Plan.DurationMS, 10),
		"ramp_ms": strconv.FormatInt(r.Plan.RampMS, 10), "command": r.Plan.Command, "check": r.Plan.Check,
		"protocol": r.Target.Protocol, "codec": r.Target.Codec, "http": r.Target.HTTP, "engine": r.Driver.Engine,
	}
}

func countsOf(r *load.Report) map[string]int64 {
	counts := map[string]int64{
		"streams.opened": r.Streams.Opened, "streams.open_peak": r.Streams.OpenPeak, "streams.completed": r.Streams.Completed,
		"metrics.violations": int64(len(r.Metrics.Violations)),
	}
	for o, n := range r.Streams.Outcomes {
		counts["outcomes."+load.Outcome(o).String()] = n //nolint:gosec // an index of the array
	}
	return counts
}
