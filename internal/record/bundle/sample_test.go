package bundle

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
	"time"
)

func sampleRun() *Run {
	return &Run{
		Schema: RunSchema, ID: "r1", Tool: Tool{Name: "assay", Version: "0.1.0"},
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Target: Target{URL: "http://127.0.0.1:1"},
		Profile: "full", Seed: 1<<63 + 1, Jobs: 2, Calibration: Calibration{RTT: 1000, TimeScale: 1},
		Features: map[string]Feature{"process.start": {State: FeaturePresent}},
	}
}

var sampleAxes = Axes{Protocol: "connect", Codec: "json", HTTP: "1.1", Compression: "identity"}

func sampleObservation(id string) *Observation {
	text := "nothing\n"
	end := Stamp{T: 90, N: 9}
	return &Observation{
		Schema: ObservationSchema, Run: "r1", Scenario: id, Axes: sampleAxes, Script: digest([]byte("id: " + id + "\n")), Seed: 1<<63 + 1,
		Started: Stamp{T: 1, N: 1}, Ended: end,
		Iterations: []Iteration{{
			Vars:  map[string]string{"d": "5"},
			Conns: []Conn{{ID: 0, Sent: NewBlob([]byte("GET <&>"), []Chunk{{Len: 7}}), Writes: []Chunk{{Len: 7}}, Ended: &ConnEnd{At: end, By: "peer", How: "fin"}}},
			Exchanges: []Exchange{{
				Name: "p", Op: "start", Shape: ShapeStream, Outcome: OutcomeComplete, Returned: &end,
				Frames:  []Frame{{Flags: 1, Len: 3, Head: []byte("abcdef"), Event: 0}},
				Events:  []Event{{Kind: EventEnd, Exit: &Exit{Code: -1, Error: &text}}},
				Outputs: map[string]*Blob{"stdout": {Len: 3, Data: []byte("abc")}},
			}},
		}},
		Scrapes: []Scrape{{Name: "before", Iteration: -1, Status: 200, Body: []byte("x 1\n")}},
	}
}

func sampleReport() *Report {
	return &Report{
		Schema: ReportSchema, Run: "r1", Verdict: Conformant, Counts: map[Conclusion]int{Pass: 1}, Rules: []RuleResult{},
		Scenarios: []ScenarioResult{{ID: "a.b", Axes: sampleAxes, Verdict: Pass, Rules: []RuleVerdict{{ID: "x.y", Verdict: Pass}}}},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// written returns the directory of a complete bundle of one scenario. The Writer writes it once
// for all tests, because its syncs are slow; each test gets a copy.
func written(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	files, err := sampleFiles()
	must(t, err)
	must(t, os.CopyFS(dir, files))
	return dir
}

var sampleFiles = sync.OnceValues(func() (fstest.MapFS, error) {
	parent, err := os.MkdirTemp("", "bundle")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(parent) }()
	dir, run := filepath.Join(parent, "run"), sampleRun()
	w, err := Create(dir, run)
	if err != nil {
		return nil, err
	}
	run.Ended = run.Started.Add(time.Second)
	err = errors.Join(w.Script("a.b", []byte("id: a.b\n")), w.Observation(sampleObservation("a.b"), Fail),
		w.Finish(run, []Verdict{{Scenario: "a.b", Axes: sampleAxes, Rule: "x.y", Level: "must", Conclusion: Pass}}, sampleReport()))
	if err != nil {
		return nil, err
	}
	files := fstest.MapFS{}
	return files, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = &fstest.MapFile{Data: text, Mode: 0o644}
		return err
	})
})
