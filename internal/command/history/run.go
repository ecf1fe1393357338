package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/internal/base/safefile"
	"assay/internal/record/bundle"
)

// Run is what the history knows of one bundle.
type Run struct {
	Path    string
	Digest  string // of the manifest
	Kind    bundle.Kind
	ID      string
	Started time.Time
	Target  string // the URL, or "embedded"
	Profile string
	Version string
	Verdict string
	// Rules has the verdict of each rule of a run of scenarios.
	Rules map[string]string
	// Values are the figures of a run under load, in microseconds or as a number: first_event.p99.
	Values map[string]float64
}

// read reads a bundle.
func read(path string) (*Run, error) {
	s, err := bundle.Summarize(path)
	if err != nil {
		return nil, err
	}
	m := s.Manifest
	r := &Run{
		Path: path, Digest: s.Digest, Kind: m.Kind, ID: m.Run, Started: m.Started.UTC(), Profile: m.Profile, Version: m.Tool.Version,
		Rules: map[string]string{}, Values: map[string]float64{},
	}
	r.Target = targetOf(m)
	if m.Interrupted {
		return nil, errors.New("the run was interrupted")
	}
	switch {
	case s.Conform != nil:
		r.Verdict = s.Conform.Verdict
		for _, rule := range s.Conform.Rules {
			r.Rules[rule.ID] = string(rule.Verdict)
		}
		for _, rule := range s.Conform.RunRules {
			if worse := r.Rules[rule.ID]; worse != string(bundle.Fail) {
				r.Rules[rule.ID] = string(rule.Verdict)
			}
		}
	case s.Load != nil:
		r.Verdict = string(s.Load.Verdict)
		l := &s.Load.Latency
		r.latencies("", l)
		r.Values["streams_failed"] = float64(s.Load.Streams.Outcomes.Failed())
	case s.Soak != nil:
		r.Verdict = string(s.Soak.Verdict)
		r.soak(s.Soak)
	}
	return r, nil
}

// embedded stands for the embedded gateway, whose port differs in each run.
const embedded = "embedded"

func targetOf(m *bundle.Manifest) string {
	if m.Target.Embedded {
		return embedded
	}
	return m.Target.URL
}

// latencies adds the percentiles that have values.
func (r *Run) latencies(prefix string, l *bundle.LoadLatencies) {
	for name, one := range map[string]bundle.Latency{"first_event": l.FirstEvent, "gap": l.Gap, "end_of_stream": l.EndOfStream} {
		if one.Count > 0 {
			r.Values[prefix+name+".p50"], r.Values[prefix+name+".p99"] = float64(one.P50), float64(one.P99)
		}
	}
}

// soak adds the medians over the windows.
func (r *Run) soak(s *bundle.SoakReport) {
	all := map[string][]float64{}
	for i := range s.Windows {
		one := &Run{Values: map[string]float64{}}
		one.latencies("", &s.Windows[i].Latency)
		for name, v := range one.Values {
			all[name] = append(all[name], v)
		}
	}
	for name, values := range all {
		r.Values[name] = median(values)
	}
	r.Values["streams_failed"] = float64(s.Totals.Outcomes.Failed())
	for i := range s.Series {
		if one := &s.Series[i]; one.Unit == "bytes" {
			r.Values["slope of "+one.Name] = one.Slope
		}
	}
}

// unitOf returns the unit of a figure.
func unitOf(name string) string {
	if strings.HasSuffix(name, ".p50") || strings.HasSuffix(name, ".p99") {
		return "us"
	}
	return ""
}

// The bounds of a search.
const (
	mostDepth   = 6
	mostFolders = 100_000
)

// find returns the directories of bundles at a path and below it, whole or not, sorted, without following links.
func find(path string) (dirs []string, err error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	top := filepath.Clean(path)
	seen := 0
	err = filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			if p == top || safefile.NoDescriptors(err) {
				return err
			}
			return fs.SkipDir // not readable
		}
		if !d.IsDir() {
			return nil
		}
		if seen++; seen > mostFolders {
			return fmt.Errorf("%s has more than %d folders: name the folder of the bundles", path, mostFolders)
		}
		if info, err := os.Lstat(filepath.Join(p, bundle.ManifestFile)); err == nil && info.Mode().IsRegular() || bundle.Unsealed(p) {
			dirs = append(dirs, p)
			return fs.SkipDir
		}
		if rel, err := filepath.Rel(top, p); err == nil && rel != "." && strings.Count(rel, string(filepath.Separator))+1 >= mostDepth {
			return fs.SkipDir
		}
		return nil
	})
	slices.Sort(dirs)
	return dirs, err
}

func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	if n == 0 {
		return 0
	}
	return (s[(n-1)/2] + s[n/2]) / 2
}
