package suites

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/internal/judge/diff"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/testkit"
	"assay/reports"
)

// repeatable lists areas in which no free choice of the target depends on time: no races,
// no connections given up during a write, no list of what runs beside (a long one is chunked).
const repeatable = "area:connect-unary,area:connect-error,area:connect-type,area:connect-version,area:connect-get,area:grpc-status," +
	"area:grpc-type,area:grpc-metadata,area:grpc-web-trailer,area:process-exit,area:process-selector,area:process-start,area:health," +
	"!process.exit.background-child" // whether the end comes with the exit or with the pipe depends on which is seen first

// Two runs of the same build against the same gateway with the same seed differ only in
// times, ids and the counts of races, in every report and every file.
func TestTwoRunsWithOneSeedAreTheSame(t *testing.T) {
	t.Parallel()
	var runs [2]*Outcome
	var dirs [2]string
	for i := range runs {
		dirs[i] = filepath.Join(t.TempDir(), "run")
		out, err := Run(t.Context(), Options{Out: dirs[i], Seed: 7, Select: repeatable, Version: "test", Target: target.Options{TimeScale: testkit.Slowdown}})
		if err != nil {
			t.Fatal(err)
		}
		runs[i] = out
	}
	for _, format := range reports.Conform().Formats() {
		if d := cmp.Diff(render(t, format, runs[0].Report), render(t, format, runs[1].Report)); d != "" {
			t.Errorf("report %s (-first +second):\n%s", format, d)
		}
	}
	names := bundleFiles(t, dirs[0])
	if d := cmp.Diff(names, bundleFiles(t, dirs[1])); d != "" {
		t.Errorf("files (-first +second):\n%s", d)
	}
	for _, name := range names {
		if d := cmp.Diff(normalFile(t, dirs[0], name), normalFile(t, dirs[1], name)); d != "" {
			t.Errorf("%s (-first +second):\n%.4000s", name, d)
		}
	}
	side := func(i int) diff.Run {
		return diff.Run{Report: runs[i].Report, Info: runs[i].Run, Observations: runs[i].Observations}
	}
	if d := diff.Runs(side(0), side(1), diff.Options{}); !d.Equal || len(d.Context) > 0 {
		t.Errorf("the runs are not equal: %+v", d)
	}
}

// render draws a report without its fields for times and ids.
func render(t *testing.T, format string, r *bundle.Report) string {
	t.Helper()
	normal := *r
	normal.Run, normal.Target.URL, normal.Started, normal.DurationMS = "RUN", "URL", time.Time{}, 0
	normal.Notes = nil // of how busy the machine was
	normal.Scenarios = slices.Clone(r.Scenarios)
	for i := range normal.Scenarios {
		s := &normal.Scenarios[i]
		s.DurationMS, s.Rules = 0, slices.Clone(s.Rules)
		for j := range s.Rules {
			s.Rules[j].Counts = nil // of races
		}
	}
	var b bytes.Buffer
	if err := reports.Conform().Render(&b, format, &normal, reports.Style{Width: 100, Verbose: true}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func bundleFiles(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*", "*/*"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() {
				name, _ := filepath.Rel(dir, f)
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// normalFile returns a file of a bundle in its normal form. Observations are in the file in the
// order in which they ended; readers sort them, as here.
func normalFile(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	switch filepath.Ext(name) {
	case ".json", ".jsonl":
	default:
		return string(text)
	}
	var lines []string
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for d.More() {
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		lines = append(lines, encoded(t, (&normaliser{t: t}).value("", v)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// dropped are the fields of a bundle that may differ between runs, by reason. The ids of exchanges
// and connections, which are numbers, are dropped too.
var dropped = map[string][]string{
	"times":                    {"started", "ended", "began", "duration_ms", "driver_lag_ns", "rtt_ns", "spawn_ns", "end_ns", "deadline_ns", "beside"},
	"ids":                      {"run", "url", "local", "remote", "pid", "vars", "detail", "digests"},
	"counts of races":          {"counts"},
	"how busy the machine was": {"machine", "notes"},
	"where the kernel cut reads and writes, and which scenarios ran at the same time": {
		"conn", "writes", "reads", "frames", "frame", "events", "h2", "chunks", "stream", "evidence", "dropped",
	},
	"bytes that contain an id or a date": {"size", "data", "head", "tail", "sha256", "len", "off", "body", "sent", "received"},
}

// volatile are the header fields whose values are times or ids, and the length that depends on them.
var volatile = []string{"date", "host", ":authority", "user-agent", "content-length"}

// numbers matches the ids inside texts: runs, pids and ports.
var numbers = regexp.MustCompile(`\d{8}T\d{6}-[0-9a-f]{4}|\d{2,}`)

// normaliser removes the parts of a JSON value that may differ between two runs.
type normaliser struct{ t *testing.T }

func (n *normaliser) value(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		return n.object(v)
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = n.value(key, e)
		}
		// Concurrent steps are recorded in the order of their events; the step identifies them.
		if slices.Contains([]string{"exchanges", "conns", "awaits", "processes"}, key) {
			slices.SortFunc(list, func(a, b any) int { return strings.Compare(encoded(n.t, a), encoded(n.t, b)) })
		}
		return list
	case string:
		if key == "script" || key == "text" || strings.HasSuffix(key, "_text") {
			return v
		}
		return numbers.ReplaceAllString(v, "N")
	}
	return v
}

func (n *normaliser) object(v map[string]any) any {
	if _, at := v["t"]; at && len(v) == 2 {
		return "a time" // a Stamp
	}
	name, _ := v["name"].(string)
	if _, field := v["value"]; field && slices.Contains(volatile, strings.ToLower(name)) {
		return name
	}
	out := map[string]any{}
	for k, e := range v {
		if _, number := e.(json.Number); !isDropped(k) && (!number || k != "id") {
			out[k] = n.value(k, e)
		}
	}
	return out
}

func isDropped(key string) bool {
	for _, names := range dropped {
		if slices.Contains(names, key) {
			return true
		}
	}
	return false
}
