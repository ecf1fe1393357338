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

	"assay/internal/bundle"
	"assay/internal/regular"
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
		text, err := regular.Read(path, maxReport)
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
	text, err := regular.ReadIn(root, reportFile, maxReport)
	if err != nil {
		return nil, fmt.Errorf("%s is not the directory of a load run: %w", path, err)
	}
	s := &bundle.LoadRun{}
	if s.Report, err = readReport(filepath.Join(path, reportFile), text); err != nil {
		return nil, err
	}
	log, err := regular.Open(root, hlogFile)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(path, hlogFile), err)
	}
	defer func() { _ = log.Close() }()
	s.Intervals, err = readLog(filepath.Join(path, hlogFile), io.LimitReader(log, maxLog))
	return s, err
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

// readLog reads the tagged histograms of a log that folder.interval wrote.
func readLog(name string, in io.Reader) (map[bundle.LoadSeries][]bundle.LoadInterval, error) {
	all := map[bundle.LoadSeries][]bundle.LoadInterval{}
	r := bufio.NewScanner(in)
	r.Buffer(make([]byte, 0, 64<<10), maxLogLine)
	var broken error
	for n := 1; r.Scan(); n++ {
		if broken != nil {
			return nil, broken
		}
		line := r.Text()
		if line == "" || line[0] == '#' || line[0] == '"' {
			continue
		}
		s, i, err := readInterval(line)
		if err != nil {
			// An incomplete last line is legal; any other is damaged.
			broken = fmt.Errorf("%s:%d: %w", name, n, err)
			continue
		}
		if len(all[s]) >= maxIntervals {
			return nil, fmt.Errorf("%s:%d: more than %d intervals", name, n, maxIntervals)
		}
		all[s] = append(all[s], i)
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return all, nil
}

// readInterval reads "Tag=NAME,START,LENGTH,MAX,HISTOGRAM".
func readInterval(line string) (s bundle.LoadSeries, i bundle.LoadInterval, err error) {
	parts := strings.SplitN(line, ",", 5)
	tag, tagged := strings.CutPrefix(parts[0], "Tag=")
	if !tagged || len(parts) != 5 {
		return s, i, errors.New("not a tagged interval of a histogram log")
	}
	if s, err = seriesOf(tag); err != nil {
		return s, i, err
	}
	start, err := strconv.ParseFloat(parts[1], 64)
	if err != nil {
		return s, i, fmt.Errorf("the start of the interval: %w", err)
	}
	length, err := strconv.ParseFloat(parts[2], 64)
	if err != nil {
		return s, i, fmt.Errorf("the length of the interval: %w", err)
	}
	h, err := decodeHistogram(parts[4])
	if err != nil {
		return s, i, err
	}
	return s, bundle.LoadInterval{Start: sinceStart(start), Length: sinceStart(length), Latency: latencyOf(h)}, nil
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
