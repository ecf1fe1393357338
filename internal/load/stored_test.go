package load

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/record/bundle"
)

// writeRun writes the folder of a run with two intervals and returns its path.
func writeRun(t *testing.T, r *bundle.LoadReport) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	base := time.Unix(1_700_000_000, 0)
	f, err := createFolder(dir, base)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		set := newSet()
		for v := range int64(100) {
			if err := set[FirstEvent].RecordValue(1000*int64(i+1) + v); err != nil {
				t.Fatal(err)
			}
		}
		f.interval("", set, base.Add(time.Duration(i)*time.Second), time.Second)
	}
	short := newSet()
	_ = short[FirstEvent].RecordValue(7)
	_ = short[StartLag].RecordValue(7) // a delay of the driver is not written for a class
	f.interval("short", short, base.Add(time.Second), time.Second)
	if err := f.finish(r); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAStoredRunIsReadBackByInterval(t *testing.T) {
	dir := writeRun(t, &bundle.LoadReport{Schema: bundle.LoadSchema, Verdict: bundle.LoadPass})
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := s.Intervals[bundle.LoadSeries{Metric: "first_event"}]
	short := s.Intervals[bundle.LoadSeries{Metric: "first_event", Class: "short"}]
	if len(got) != 2 || len(short) != 1 || short[0].Latency.Max != 7 || len(s.Intervals) != 2 || s.Report.Verdict != bundle.LoadPass {
		t.Fatalf("got %+v", s)
	}
	if got[0].Latency.Count != 100 || got[0].Latency.P50 != 1049 || got[1].Latency.P50 < 2000 || got[1].Start != time.Second || got[1].Length != time.Second {
		t.Errorf("got %+v", got)
	}
	alone, err := Open(filepath.Join(dir, reportFile))
	if err != nil || alone.Intervals != nil || alone.Report.Verdict != bundle.LoadPass {
		t.Errorf("got %+v, %v", alone, err)
	}
}

func TestALogThatWasCutOrDamaged(t *testing.T) {
	dir := writeRun(t, &bundle.LoadReport{Schema: bundle.LoadSchema, Verdict: bundle.LoadPass})
	file := filepath.Join(dir, hlogFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	lines = lines[:len(lines)-1] // without the interval of the class
	text = []byte(strings.Join(lines, ""))
	last := len(lines) - 1
	for name, c := range map[string]struct {
		text, want string
		intervals  int
	}{
		"the last line was cut":          {string(text[:len(text)-30]), "", 1},
		"a line before it is damaged":    {strings.Join(lines[:last-1], "") + strings.Replace(lines[last-1], "HIST", "HASC", 1) + lines[last], "a damaged histogram", 0},
		"a metric that does not exist":   {strings.Replace(string(text), "Tag=first_event", "Tag=nonesuch", 1), `there is no metric "nonesuch"`, 0},
		"a class without a name":         {strings.Replace(string(text), "Tag=first_event", "Tag=first_event/", 1), `there is no metric "first_event/"`, 0},
		"a start that is not a number":   {strings.Replace(string(text), "first_event,0", "first_event,x", 1), "the start of the interval", 0},
		"a length that is not a number":  {strings.Replace(string(text), ",1.000,", ",x,", 1), "the length of the interval", 0},
		"a line longer than any of ours": {string(text) + strings.Repeat("x", maxLogLine+1) + "\n", "too long", 0},
		"a comment at the end is fine":   {string(text) + "# end\n", "", 2},
		"an empty log has no intervals":  {"", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(dir)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want a mention of %q", err, c.want)
				}
				return
			}
			if err != nil || len(s.Intervals[bundle.LoadSeries{Metric: "first_event"}]) != c.intervals {
				t.Errorf("got %+v, %v", s, err)
			}
		})
	}
}

func TestWhatIsNoStoredRun(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"another schema":           {`{"schema":"assay.report/v1"}`, `schema is "assay.report/v1"`},
		"a newer version":          {`{"schema":"assay.load/v2","verdict":"pass"}`, `want "assay.load/v1"`},
		"a run that was cut short": {`{"schema":"assay.load/v1"}`, "cut short"},
		"no JSON":                  {`{`, "not a report of a load run"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, "load.json")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{file, dir} {
				if _, err := Open(path); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: got %v, want a mention of %s", path, err, c.want)
				}
			}
		})
	}
	if _, err := Open(filepath.Join(dir, "nonesuch")); err == nil {
		t.Error("no error for a missing path")
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not the directory of a load run") {
		t.Errorf("got %v", err)
	}
}

func FuzzReadInterval(f *testing.F) {
	payload, err := newHistogram().EncodeV2()
	if err != nil {
		f.Fatal(err)
	}
	f.Add("Tag=gap,0.000,1.000,0.000," + string(payload))
	f.Add("Tag=gap,0,1,0,")
	f.Add("Tag=gap/held-open,0,1,0," + string(payload))
	f.Add("Tag=first_event,NaN,1e99,0,HISTFAAAABl4nA")
	f.Fuzz(func(t *testing.T, line string) {
		s, i, _, err := readInterval(line)
		if err == nil && (s.Metric == "" || i.Latency.Count < 0 || !strings.HasPrefix(line, "Tag="+s.String()+",")) {
			t.Errorf("%q reads as %v %+v", line, s, i)
		}
	})
}
