package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"assay/internal/base/safefile"
	"assay/internal/judge/diff"
	"assay/internal/load"
	"assay/internal/record/bundle"
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
		if _, r, err = judged(b, judging{}); err != nil {
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
	text, err := safefile.Read(path, maxCompared)
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
	case bundle.LoadSchema:
		return readLoad(path)
	case bundle.ReportSchema:
	default:
		return compared{}, fmt.Errorf("%s: schema is %q, want %s or %s (conform or load with --format json)", path, head.Schema, bundle.ReportSchema, bundle.LoadSchema)
	}
	r := &bundle.Report{}
	if err := bundle.DecodeDocument(text, r, ""); err != nil {
		return compared{}, fmt.Errorf("%s: not a report: %w", path, err)
	}
	if r.Verdict == "" {
		return compared{}, fmt.Errorf("%s: the report has no verdict", path)
	}
	return compared{run: &diff.Run{Name: path, Report: r}}, nil
}

// readLoad reads a load run.
func readLoad(path string) (compared, error) {
	s, err := load.Open(path)
	if err != nil {
		return compared{}, err
	}
	return compared{load: &diff.Load{Name: path, LoadRun: s}}, nil
}
