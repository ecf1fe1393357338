package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// closedPipe returns the end of a pipe whose reader has gone.
func closedPipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

// A reader that closes the pipe (`assay report run | head -1`) is not an error: the program
// keeps the exit code of the run, says nothing about the pipe, and writes its other files.
func TestAReaderThatWentAwayChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"conform", "--select", "connect.unary.not-found", "--out", "good"},
		{"load", "--streams", "2", "--count", "4", "--threshold", "outcomes.ok == 5", "--out", "missed"},
		{"load", "--streams", "2", "--count", "4", "--out", "met"},
	} {
		if text, code := ran(t, dir, args...); code > 1 {
			t.Fatalf("assay %v: exit code %d\n%s", args, code, text)
		}
	}
	for name, c := range map[string]struct {
		args  []string
		want  int
		files []string
	}{
		"list":              {[]string{"list"}, 0, nil},
		"list as JSON":      {[]string{"list", "--format", "json"}, 0, nil},
		"load":              {[]string{"load", "--streams", "2", "--count", "4", "--threshold", "outcomes.ok == 5", "--report", "json=l.json", "--out", "loaded"}, 1, []string{"l.json", "loaded/manifest.json"}},
		"load as Markdown":  {[]string{"load", "--streams", "2", "--count", "4", "--format", "markdown"}, 0, nil},
		"load as JUnit":     {[]string{"load", "--streams", "2", "--count", "4", "--format", "junit"}, 0, nil},
		"load, no gateway":  {[]string{"load", "http://127.0.0.1:1", "--format", "json"}, 3, nil},
		"conform":           {[]string{"conform", "--select", "connect.unary.not-found", "--report", "junit=c.xml", "--out", "run"}, 0, []string{"c.xml", "run/manifest.json"}},
		"conform as JSON":   {[]string{"conform", "--select", "connect.unary.not-found", "--format", "json"}, 0, nil},
		"replay":            {[]string{"replay", "connect.unary.not-found"}, 0, nil},
		"report":            {[]string{"report", "good", "--report", "text=r.txt"}, 0, []string{"r.txt"}},
		"report, Markdown":  {[]string{"report", "good", "--format", "markdown"}, 0, nil},
		"report, JUnit":     {[]string{"report", "good", "--format", "junit"}, 0, nil},
		"report of a load":  {[]string{"report", "missed", "--format", "markdown"}, 1, nil},
		"judge as Markdown": {[]string{"judge", "good", "--format", "markdown"}, 0, nil},
		"verify":            {[]string{"verify", "good"}, 0, nil},
		"diff":              {[]string{"diff", "met", "met"}, 0, nil},
		"diff as Markdown":  {[]string{"diff", "good", "good", "--format", "markdown"}, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, _, stderr := program(t, c.args...)
			p.Dir = dir
			p.Stdout = closedPipe(t)
			_ = p.Run()
			if got := p.ProcessState.ExitCode(); got != c.want || strings.Contains(stderr.String(), "pipe") {
				t.Errorf("exit code %d, want %d\n%s", got, c.want, stderr)
			}
			for _, file := range c.files {
				if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Size() == 0 {
					t.Errorf("%s: %v", file, err)
				}
			}
		})
	}
}
