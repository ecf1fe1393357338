package load

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"assay/internal/base/safefile"
	"assay/internal/record/bundle"
)

// The limits for files that are read back: a folder may come from anywhere.
const (
	maxReport    = 64 << 20
	maxLog       = 1 << 30
	maxLogLine   = 256 << 10     // more than any of our histograms
	maxIntervals = 7 * 24 * 3600 // a week of seconds, for each series
)

// Open reads the directory of a run (--out), or only the report from a file. The report
// of a killed run is that of its last second, and is Interrupted. A damaged log is an error;
// an incomplete last line of the log is left out.
func Open(path string) (*bundle.LoadRun, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		text, err := safefile.Read(path, maxReport)
		if err != nil {
			return nil, err
		}
		r, err := readReport(path, text)
		return &bundle.LoadRun{Report: r}, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	text, err := safefile.ReadIn(root, reportFile, maxReport)
	if err != nil {
		return nil, fmt.Errorf("%s is not the directory of a load run: %w", path, err)
	}
	s := &bundle.LoadRun{}
	if s.Report, err = readReport(filepath.Join(path, reportFile), text); err != nil {
		return nil, err
	}
	log, err := safefile.Open(root, hlogFile)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(path, hlogFile), err)
	}
	defer func() { _ = log.Close() }()
	stored, err := readLog(filepath.Join(path, hlogFile), io.LimitReader(log, maxLog))
	if err != nil {
		return s, err
	}
	s.Intervals = stored.intervals
	if s.Report.Timeline == nil && s.Report.Curves == nil { // the run was killed
		stored.complete(s.Report)
	}
	return s, nil
}

func readReport(name string, text []byte) (*bundle.LoadReport, error) {
	r := &bundle.LoadReport{}
	if err := bundle.DecodeDocument(text, r, ""); err != nil {
		return nil, fmt.Errorf("%s: not a report of a load run: %w", name, err)
	}
	switch {
	case r.Schema != bundle.LoadSchema:
		return nil, fmt.Errorf("%s: schema is %q, want %q", name, r.Schema, bundle.LoadSchema)
	case r.Verdict == "":
		return nil, fmt.Errorf("%s: the run was cut short before its report was written", name)
	}
	return r, nil
}

// storedLog is what a log holds.
type storedLog struct {
	intervals map[bundle.LoadSeries][]bundle.LoadInterval
	totals    map[bundle.LoadSeries]sparse
	timeline  timeline
	second    timedValues // values whose moment has not come yet
}

// readLog reads the tagged histograms and the moments of a log that a folder wrote.
func readLog(name string, in io.Reader) (*storedLog, error) {
	all := &storedLog{intervals: map[bundle.LoadSeries][]bundle.LoadInterval{}, totals: map[bundle.LoadSeries]sparse{}}
	r := bufio.NewScanner(in)
	r.Buffer(make([]byte, 0, 64<<10), maxLogLine)
	var broken error
	for n := 1; r.Scan(); n++ {
		if broken != nil {
			return nil, broken
		}
		if err := all.add(r.Text()); err != nil {
			// An incomplete last line is legal; any other is damaged.
			broken = fmt.Errorf("%s:%d: %w", name, n, err)
			if errors.Is(err, errTooMany) {
				return nil, broken
			}
		}
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return all, nil
}

var errTooMany = fmt.Errorf("more than %d intervals", maxIntervals)

// add adds a line.
func (l *storedLog) add(line string) error {
	if text, is := strings.CutPrefix(line, momentMark); is {
		var m bundle.LoadMoment
		if err := bundle.DecodeDocument([]byte(text), &m, ""); err != nil {
			return fmt.Errorf("a damaged moment: %w", err)
		}
		l.timeline.add(m, l.second)
		l.second = timedValues{}
		return nil
	}
	if line == "" || line[0] == '#' || line[0] == '"' {
		return nil
	}
	s, i, values, err := readInterval(line)
	if err != nil {
		return err
	}
	if len(l.intervals[s]) >= maxIntervals {
		return errTooMany
	}
	l.intervals[s] = append(l.intervals[s], i)
	l.totals[s] = l.totals[s].plus(values)
	for t, m := range timedMetrics {
		if s == (bundle.LoadSeries{Metric: m.String()}) {
			l.second[t] = l.second[t].plus(values)
		}
	}
	return nil
}

// complete adds the timeline and the curves to the report of a killed run.
func (l *storedLog) complete(r *bundle.LoadReport) {
	var classes []string
	for i := range r.Classes {
		classes = append(classes, r.Classes[i].Name)
	}
	r.Timeline = l.timeline.report()
	r.Curves = curvesOf(classes, func(m Metric, class string) sparse {
		return l.totals[bundle.LoadSeries{Metric: m.String(), Class: class}]
	})
}

// readInterval reads "Tag=NAME,START,LENGTH,MAX,HISTOGRAM".
func readInterval(line string) (s bundle.LoadSeries, i bundle.LoadInterval, values sparse, err error) {
	parts := strings.SplitN(line, ",", 5)
	tag, tagged := strings.CutPrefix(parts[0], "Tag=")
	if !tagged || len(parts) != 5 {
		return s, i, nil, errors.New("not a tagged interval of a histogram log")
	}
	if s, err = seriesOf(tag); err != nil {
		return s, i, nil, err
	}
	start, err := strconv.ParseFloat(parts[1], 64)
	if err != nil {
		return s, i, nil, fmt.Errorf("the start of the interval: %w", err)
	}
	length, err := strconv.ParseFloat(parts[2], 64)
	if err != nil {
		return s, i, nil, fmt.Errorf("the length of the interval: %w", err)
	}
	h, err := decodeHistogram(parts[4])
	if err != nil {
		return s, i, nil, err
	}
	values = sparseOf(h)
	return s, bundle.LoadInterval{Start: sinceStart(start), Length: sinceStart(length), Latency: values.latency()}, values, nil
}

func sinceStart(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// decodeHistogram decodes a histogram of the library. It turns a panic of the library on
// damaged input into an error.
func decodeHistogram(text string) (h *hdrhistogram.Histogram, err error) {
	defer func() {
		if p := recover(); p != nil {
			h, err = nil, fmt.Errorf("a damaged histogram: %v", p)
		}
	}()
	h, err = hdrhistogram.Decode([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("a damaged histogram: %w", err)
	}
	return h, nil
}
