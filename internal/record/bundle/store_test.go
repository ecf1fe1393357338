package bundle

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestABundleReadsBackAsItWasWritten(t *testing.T) {
	dir := written(t)
	b, err := Open(dir)
	must(t, err)
	run := sampleRun()
	run.Ended = run.Started.Add(time.Second)
	want := &Bundle{
		Dir: dir, Run: run, Observations: []*Observation{sampleObservation("a.b")},
		Scripts:  map[string][]byte{"a.b": []byte("id: a.b\n")},
		Report:   sampleReport(),
		Verdicts: []Verdict{{Scenario: "a.b", Axes: sampleAxes, Rule: "x.y", Level: "must", Conclusion: Pass}},
	}
	manifest := b.Manifest
	b.Manifest = nil
	if d := cmp.Diff(want, b); d != "" {
		t.Errorf("-wrote +read:\n%s", d)
	}
	names := []string{}
	for _, f := range manifest.Files {
		names = append(names, f.Name)
	}
	if d := cmp.Diff([]string{"events.jsonl", "observations.jsonl", "reproducers.jsonl", "result.json", "run.json", "scripts/a.b.yaml", "verdicts.json"}, names); d != "" {
		t.Errorf("files of the manifest, -want +got:\n%s", d)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, tempPrefix+"*")); len(left) > 0 {
		t.Errorf("temporary files stayed: %v", left)
	}
}

func TestARunThatWasKilledKeepsWhatItHad(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, sampleRun())
	must(t, err)
	must(t, w.Script("a.b", []byte("id: a.b\n")))
	must(t, w.Observation(sampleObservation("a.b"), Fail))
	t.Cleanup(func() { _ = w.Close() }) // never finished
	f, err := os.OpenFile(filepath.Join(dir, observationsFile), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(`{"schema":"assay.observation/v1","run":"r1","scen`)
	must(t, err)
	must(t, f.Close())

	b, err := Open(dir)
	must(t, err)
	if len(b.Observations) != 1 || b.Report != nil {
		t.Errorf("%d observations, report %v; want 1 and none", len(b.Observations), b.Report)
	}
	said := strings.Join(b.Partial, "\n")
	for _, part := range []string{"the run is unfinished", "observations.jsonl: line 2 is truncated after 49 bytes", "result.json is missing", "verdicts.json is missing"} {
		if !strings.Contains(said, part) {
			t.Errorf("Partial does not say %q:\n%s", part, said)
		}
	}
}

func TestCreateAcceptsOnlyWhatItMayReplace(t *testing.T) {
	foreign := func(t *testing.T, files map[string]string) string {
		dir := t.TempDir()
		for name, text := range files {
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
		return dir
	}
	tests := []struct {
		name string
		dir  func(t *testing.T) string
		want string // in the error, "" when accepted
	}{
		{"an absent directory", func(t *testing.T) string { return filepath.Join(t.TempDir(), "a", "b") }, ""},
		{"an empty directory", func(t *testing.T) string { return t.TempDir() }, ""},
		{"an older bundle", written, ""},
		{"what a killed Create left", func(t *testing.T) string { return foreign(t, map[string]string{tempPrefix + "run.json": "{"}) }, ""},
		{"a bundle of a later version", func(t *testing.T) string {
			return foreign(t, map[string]string{"run.json": `{"schema":"assay.run/v9"}`})
		}, ""},
		{"somebody's directory", func(t *testing.T) string { return foreign(t, map[string]string{"thesis.tex": "x"}) }, "neither empty nor an Assay bundle"},
		{"somebody's run.json", func(t *testing.T) string { return foreign(t, map[string]string{"run.json": `{"schema":"jogging/v1"}`}) }, "not ours"},
		{"a run.json that is no JSON", func(t *testing.T) string { return foreign(t, map[string]string{"run.json": "run!"}) }, "not ours"},
		{"a file", func(t *testing.T) string { return filepath.Join(foreign(t, map[string]string{"f": ""}), "f") }, "bundle directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := tt.dir(t)
			before, _ := filepath.Glob(filepath.Join(dir, "*"))
			w, err := Create(dir, sampleRun())
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("error %v, want one with %q", err, tt.want)
				}
				if after, _ := filepath.Glob(filepath.Join(dir, "*")); !cmp.Equal(before, after) {
					t.Errorf("the directory changed: %v, was %v", after, before)
				}
				return
			}
			must(t, err)
			must(t, w.Close())
			b, err := Open(dir)
			must(t, err)
			if len(b.Observations)+len(b.Scripts) != 0 || b.Report != nil {
				t.Errorf("something of before is still there: %+v", b)
			}
		})
	}
}

func TestReplacingABundleLeavesOtherFiles(t *testing.T) {
	dir := written(t)
	mine := filepath.Join(dir, "junit.xml")
	must(t, os.WriteFile(mine, []byte("<x/>"), 0o644))
	w, err := Create(dir, sampleRun())
	must(t, err)
	must(t, w.Close())
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
}

func TestNothingIsWrittenOutsideTheDirectory(t *testing.T) {
	t.Run("through a script's id", func(t *testing.T) {
		w, err := Create(filepath.Join(t.TempDir(), "run"), sampleRun())
		must(t, err)
		defer func() { _ = w.Close() }()
		for _, id := range []string{"", ".", "..", "../x", "a/b", `a\b`, "a..b", "/etc/x", ".hidden", "a\x00b", strings.Repeat("a", 300)} {
			if w.Script(id, nil) == nil {
				t.Errorf("script id %q was accepted", id)
			}
		}
	})
	t.Run("through a link", func(t *testing.T) {
		dir, outside := written(t), t.TempDir()
		must(t, os.RemoveAll(filepath.Join(dir, scriptsDir)))
		must(t, os.Symlink(outside, filepath.Join(dir, scriptsDir)))
		w, err := Create(dir, sampleRun())
		if err == nil {
			err = w.Script("a.b", []byte("x"))
			_ = w.Close()
		}
		if err == nil {
			t.Error("a link out of the directory was followed without an error")
		}
		if left, _ := os.ReadDir(outside); len(left) > 0 {
			t.Errorf("written outside: %v", left)
		}
	})
}

func TestAScriptIsStoredOnce(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "run"), sampleRun())
	must(t, err)
	defer func() { _ = w.Close() }()
	must(t, w.Script("a", []byte("1")))
	must(t, w.Script("a", []byte("1")))
	if err := w.Script("a", []byte("2")); err == nil {
		t.Error("another text under the same id was accepted")
	}
}

func TestAWriterOfNoDirectoryKeepsNothing(t *testing.T) {
	none, err := Create("", nil)
	must(t, err)
	for _, w := range []*Writer{none, nil} {
		must(t, w.Script("../x", nil))
		must(t, w.Observation(sampleObservation("a"), Fail))
		must(t, w.Finish(sampleRun(), nil, sampleReport()))
		must(t, w.Close())
	}
}

func TestAFailedWriteIsReturnedOnceWithItsPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, sampleRun())
	must(t, err)
	must(t, w.Observation(sampleObservation("a.b"), Fail))
	whole := w.lines[observationsFile].file
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	w.lines[observationsFile].file = full
	err = w.Observation(sampleObservation("c.d"), Fail)
	if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, observationsFile)) {
		t.Fatalf("error %v, want one that names the file", err)
	}
	if err := w.Observation(sampleObservation("e.f"), Fail); err != nil {
		t.Errorf("the error came a second time: %v", err)
	}
	_ = full.Close()
	w.lines[observationsFile].file = whole
	run := sampleRun()
	run.Ended = run.Started
	report := sampleReport()
	report.Scenarios = append(report.Scenarios, ScenarioResult{ID: "c.d"})
	must(t, w.Finish(run, nil, report))
	b, err := Open(dir)
	must(t, err)
	if len(b.Observations) != 1 || !strings.Contains(strings.Join(b.Partial, "\n"), "1 results have no observation") {
		t.Errorf("%d observations, partial %q; want what was recorded, and that one is missing", len(b.Observations), b.Partial)
	}
}

func TestNothingIsWrittenAfterTheEnd(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "run"), sampleRun())
	must(t, err)
	must(t, w.Finish(sampleRun(), nil, nil))
	must(t, w.Close())
	for name, err := range map[string]error{
		"observation": w.Observation(sampleObservation("a"), Fail), "script": w.Script("a", nil), "finish": w.Finish(sampleRun(), nil, nil),
	} {
		if err == nil {
			t.Errorf("%s after the end was accepted", name)
		}
	}
}

func TestManyWritersAtOnceGiveWholeLines(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, sampleRun())
	must(t, err)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				o := sampleObservation("a.b")
				o.Iterations[0].Conns[0].Sent = NewBlob([]byte(strings.Repeat("x", 16<<10)), nil)
				o.Iterations[0].Conns[0].Writes = nil
				if err := w.Observation(o, Fail); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	must(t, w.Close())
	b, err := Open(dir)
	must(t, err)
	if len(b.Observations) != 200 {
		t.Errorf("%d observations, want 200", len(b.Observations))
	}
}

func TestABrokenBundleIsRefusedWithFileAndLine(t *testing.T) {
	line := func(o *Observation) string {
		text, err := json.Marshal(o)
		must(t, err)
		return string(text)
	}
	good := line(sampleObservation("a.b"))
	changed := func(f func(*Observation)) string {
		o := sampleObservation("a.b")
		f(o)
		return line(o)
	}
	tests := []struct {
		name, file, text, want string
	}{
		{"a line in the middle is cut", observationsFile, good + "\n" + good[:40] + "\n" + good + "\n", "observations.jsonl:2: not an observation"},
		{"an empty line", observationsFile, good + "\n\n" + good + "\n", "observations.jsonl:2:"},
		{"a last line that is whole but wrong", observationsFile, good + "\n[]", "observations.jsonl:2:"},
		{"two values on a line", observationsFile, good + good + "\n", "observations.jsonl:1:"},
		{"a newer observation", observationsFile, `{"schema":"assay.observation/v2"}` + "\n", "reads only v1: use the version of assay that wrote v2"},
		{"another schema", observationsFile, `{"schema":"x/v1"}` + "\n", "not a file of an Assay bundle"},
		{"an observation of another run", observationsFile, changed(func(o *Observation) { o.Run = "r2" }) + "\n", `belongs to run "r2"`},
		{"another script", observationsFile, changed(func(o *Observation) { o.Script = "00" }) + "\n", "the bundle was changed"},
		{"a length that is not true", observationsFile, changed(func(o *Observation) { o.Iterations[0].Conns[0].Sent.Len = 3 }) + "\n", "iterations[0].conns[0].sent.len is 3"},
		{"a negative length", observationsFile, changed(func(o *Observation) { o.Iterations[0].Exchanges[0].Outputs["stdout"] = &Blob{Len: -1} }) + "\n", "outputs.stdout.len is -1"},
		{"an event that is not there", observationsFile, changed(func(o *Observation) { o.Iterations[0].Exchanges[0].Frames[0].Event = 7 }) + "\n", "frames[0].event is 7"},
		{"an end of stream that is not there", observationsFile, changed(func(o *Observation) { o.Iterations[0].Exchanges[0].EndStream = &EndStream{Frame: 5} }) + "\n", "end_stream.frame is 5"},
		{"a frame that is not there", observationsFile, changed(func(o *Observation) { o.Iterations[0].Exchanges[0].Events[0].Frame = 7 }) + "\n", "events[0].frame is 7"},
		{"a chunk past the end", observationsFile, changed(func(o *Observation) { o.Iterations[0].Conns[0].Writes[0].Len = 99 }) + "\n", "writes[0]: 99 bytes"},
		{"a run that is not JSON", runFile, "{\n\"schema\":\n!", "run.json:3:"},
		{"a run with a wrong type", runFile, "{\"schema\":\"assay.run/v1\",\n\n\"jobs\":\"many\"}", "run.json:3:"},
		{"a newer run", runFile, `{"schema":"assay.run/v2","jobs":"many"}`, "reads only v1"},
		{"a newer report", resultFile, `{"schema":"assay.report/v3"}`, "reads only v1"},
		{"verdicts that are cut", verdictsFile, "[\n{", "verdicts.json:2:"},
		{"a script of a strange name", scriptsDir + "/.x.yaml", "", "cannot be a file name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := written(t)
			must(t, os.WriteFile(filepath.Join(dir, tt.file), []byte(tt.text), 0o644))
			_, err := Open(dir)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v\nwant one with %q", err, tt.want)
			}
		})
	}
}

func TestWhatIsNoBundleIsSaidSo(t *testing.T) {
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is not a bundle: it has no run.json") {
		t.Errorf("error %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Error("an absent directory was opened")
	}
}
