package load

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"assay/internal/record/bundle"
)

// The files of a folder that a run leaves behind.
const (
	reportFile    = "load.json"
	hlogFile      = "latency.hlog"
	metricsFolder = "metrics"
)

// folder is the directory of a run: load.json with the report so far, which is replaced
// each second, latency.hlog with a tagged histogram per series and second and the counts of
// each second, metrics/ with every scrape, and the manifest of the bundle, which is written last. A nil folder keeps
// nothing. finish returns the first error.
type folder struct {
	root *os.Root
	file *os.File
	log  *bufio.Writer
	base time.Time

	mu  sync.Mutex // scrapes and intervals come from two goroutines
	err error
}

// OpenOut opens the directory of a run to write into, and makes it if it is not there. One that holds anything is refused and
// not changed, unless ours says that a run may replace or continue what is in it; the seal of that is removed. refusal is a format for
// the directory and a name in it.
func OpenOut(dir string, ours func(root *os.Root) bool, refusal string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("the output directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("the output directory: %w", err)
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return bundle.IsTemporary(e.Name()) })
	switch {
	case err != nil:
		err = fmt.Errorf("the output directory: %w", err)
	case len(entries) > 0 && !ours(root):
		err = fmt.Errorf(refusal, dir, entries[0].Name())
	default:
		if err = root.Remove(bundle.ManifestFile); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// ReplaceReport replaces a file by a report as JSON: a reader, or a crash, sees the old one or the new one. See
// bundle.ReplaceFile for durable.
func ReplaceReport(root *os.Root, name string, report any, durable bool) error {
	text, err := json.MarshalIndent(report, "", "  ")
	if err == nil {
		err = bundle.ReplaceFile(root, name, append(text, '\n'), durable)
	}
	return err
}

// createFolder makes the directory. If it exists, it must be empty or that of an older
// run, whose files are replaced.
func createFolder(dir string, base time.Time) (*folder, error) {
	if dir == "" {
		return nil, nil //nolint:nilnil // a nil folder is a valid no-op
	}
	root, err := OpenOut(dir, isOurs, "directory %s is neither empty nor that of an older load run (it holds %q): name another directory, or empty it; nothing was changed")
	if err != nil {
		return nil, err
	}
	f := &folder{root: root, base: base}
	if err := f.prepare(dir); err != nil {
		_ = root.Close()
		return nil, err
	}
	return f, nil
}

func (f *folder) prepare(dir string) (err error) {
	// Written first, so that the directory is known as ours at any moment.
	if err := f.report(&bundle.LoadReport{Schema: bundle.LoadSchema}); err != nil {
		return err
	}
	if err := f.root.RemoveAll(metricsFolder); err != nil {
		return fmt.Errorf("older run in %s: %w", dir, err)
	}
	if err := f.root.Mkdir(metricsFolder, 0o755); err != nil {
		return fmt.Errorf("the output directory: %w", err)
	}
	if f.file, err = f.root.Create(hlogFile); err != nil {
		return fmt.Errorf("the output directory: %w", err)
	}
	f.log = bufio.NewWriter(f.file)
	w := hdrhistogram.NewHistogramLogWriter(f.log)
	base := f.base.UnixMilli()
	return errors.Join(
		w.OutputComment("[Assay: values are microseconds, Interval_Max is milliseconds; tags are the metrics of the report, of a class after a /; a comment with the counts follows each second]"),
		w.OutputLogFormatVersion(), w.OutputStartTime(base), w.OutputBaseTime(base), w.OutputLegend())
}

// isOurs reports whether load.json is that of a load run.
func isOurs(root *os.Root) bool {
	file, err := root.Open(reportFile)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	var r struct {
		Schema string `json:"schema"`
	}
	name, _, _ := strings.Cut(bundle.LoadSchema, "/")
	return json.NewDecoder(io.LimitReader(file, 64<<20)).Decode(&r) == nil && strings.HasPrefix(r.Schema, name+"/")
}

func (f *folder) write(name string, p []byte) error {
	if err := f.root.WriteFile(name, p, 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

func (f *folder) report(r *bundle.LoadReport) error {
	if err := ReplaceReport(f.root, reportFile, r, false); err != nil {
		return fmt.Errorf("writing %s: %w", reportFile, err)
	}
	return nil
}

// flush ends a second: all that was recorded so far, with the report on it, can be read.
func (f *folder) flush(r *bundle.LoadReport) {
	f.keep(f.log.Flush())
	f.keep(f.report(r))
}

func (f *folder) keep(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

// failed returns the first error.
func (f *folder) failed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// scrape saves one scrape.
func (f *folder) scrape(name string, body []byte) {
	if f != nil {
		f.keep(f.write(metricsFolder+"/"+name+".txt", body))
	}
}

// interval writes the histograms of one interval of a class, or of all streams for "". It
// formats the line itself, because the library's writer has no unit for the largest value:
// tag, start and length in seconds, largest value in milliseconds, the histogram.
func (f *folder) interval(class string, set *metricSet, begun time.Time, length time.Duration) {
	if f == nil {
		return
	}
	// The base time in the file has whole seconds; starts are relative to it.
	start := begun.Sub(f.base.Truncate(time.Second)).Seconds()
	for m, h := range set {
		s := bundle.LoadSeries{Metric: Metric(m).String(), Class: class} //nolint:gosec // an index of the array
		if h.TotalCount() == 0 || class != "" && !Metric(m).ofStreams() {
			continue
		}
		payload, err := h.EncodeV2()
		if err != nil {
			f.keep(fmt.Errorf("writing %s: %w", hlogFile, err))
			return
		}
		_, err = fmt.Fprintf(f.log, "Tag=%s,%.3f,%.3f,%.3f,%s\n", s, start, length.Seconds(), float64(h.Max())/1000, payload)
		f.keep(err)
	}
}

// momentMark begins a comment of the log, which holds the counts of a moment as JSON. The
// lines of its histograms come before it.
const momentMark = "#[Assay moment] "

// moment writes the counts of an interval, whose histograms were written.
func (f *folder) moment(m bundle.LoadMoment) {
	if f == nil {
		return
	}
	text, err := json.Marshal(m)
	if err == nil {
		_, err = fmt.Fprintf(f.log, "%s%s\n", momentMark, text)
	}
	if err != nil {
		f.keep(fmt.Errorf("writing %s: %w", hlogFile, err))
	}
}

// finish writes the report, closes the files and seals the folder as a bundle.
func (f *folder) finish(r *bundle.LoadReport) error {
	if f == nil {
		return nil
	}
	f.flush(r)
	f.keep(f.file.Close())
	if f.failed() == nil {
		f.keep(bundle.Seal(f.root, bundle.Manifest{
			Kind: bundle.KindLoad, Tool: r.Tool, Seed: r.Plan.Seed, Started: f.base, Ended: f.base.Add(time.Duration(r.DurationMS) * time.Millisecond),
			Target: bundle.Target{URL: r.Target.URL, Embedded: r.Target.Embedded}, Profile: r.Target.Profile, Interrupted: r.Interrupted,
		}))
	}
	f.keep(f.root.Close())
	if err := f.failed(); err != nil {
		return fmt.Errorf("the files of the run are not complete: %w; make room, or name another directory", err)
	}
	return nil
}
