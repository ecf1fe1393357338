package bundle

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWhatDoesNotFitIsLeftOutByName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	run := sampleRun()
	w, err := Create(dir, run)
	must(t, err)
	w.Limit(8 << 10)
	for _, id := range []string{"a.b", "c.d", "e.f"} {
		must(t, w.Script(id, []byte("id: "+id+"\n")))
		o := sampleObservation(id)
		if id == "c.d" {
			o.Iterations[0].Vars["long"] = strings.Repeat("x", 10<<10)
		}
		must(t, w.Observation(o, Fail))
	}
	run.Ended = run.Started.Add(time.Second)
	must(t, w.Finish(run, nil, sampleReport()))

	b, err := Open(dir)
	must(t, err)
	var left []string
	for _, o := range b.Observations {
		if o.Omitted != nil {
			left = append(left, o.Scenario)
			if len(o.Iterations) > 0 || o.Script == "" || o.Run != "r1" || o.Omitted.Bytes < 10<<10 {
				t.Errorf("what is left of it: %+v", o)
			}
		}
	}
	if d := cmp.Diff([]string{"c.d"}, left); d != "" || len(b.Observations) != 3 {
		t.Errorf("left out, -want +got:\n%s", d)
	}
	if n := len(b.Manifest.Omitted); n != 1 || b.Manifest.Limit != 8<<10 {
		t.Errorf("the manifest says %d of limit %d", n, b.Manifest.Limit)
	}
	const note = "not kept as evidence, to stay within 8 kB: 1 observation of 12 kB (c.d [connect/json/1.1/identity])"
	if said := strings.Join(b.Partial, "\n"); !strings.Contains(said, note) {
		t.Errorf("Partial does not say so:\n%s", said)
	}
}

func TestWhatPassedLeavesRoomForWhatDidNot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, sampleRun())
	must(t, err)
	w.Limit(64 << 10)
	put := func(id string, worst Conclusion) {
		o := sampleObservation(id)
		o.Iterations[0].Vars["long"] = strings.Repeat("x", 10<<10)
		must(t, w.Observation(o, worst))
	}
	for _, id := range []string{"p.a", "p.b", "p.c", "p.d"} {
		put(id, Pass)
	}
	put("f.a", Fail)
	omitted, _ := w.Omitted()
	must(t, w.Close())
	var left []string
	for _, o := range omitted {
		left = append(left, o.Scenario)
	}
	if d := cmp.Diff([]string{"p.c", "p.d"}, left); d != "" {
		t.Errorf("left out, -want +got:\n%s", d)
	}
}

func TestSizesAreToldInShort(t *testing.T) {
	for n, want := range map[int64]string{100 << 20: "100 MB", 3 << 19: "1.5 MB", 1 << 20: "1 MB", 5000: "5 kB", 1: "1 kB", 31_457_281: "30 MB"} {
		if got := Megabytes(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

// fullDisk is a file on a disk with room for a number of bytes.
type fullDisk struct {
	file *os.File
	room int
}

func (f *fullDisk) Write(p []byte) (int, error) {
	n := min(len(p), f.room)
	f.room -= n
	if w, err := f.file.Write(p[:n]); err != nil || n == len(p) {
		return w, err
	}
	return n, &os.PathError{Op: "write", Path: f.file.Name(), Err: syscall.ENOSPC}
}

func (f *fullDisk) Truncate(n int64) error { return f.file.Truncate(n) }
func (f *fullDisk) Sync() error            { return f.file.Sync() }
func (f *fullDisk) Close() error           { return f.file.Close() }

// Wherever in a line the disk becomes full, earlier lines stay whole, the bundle is never sealed,
// and verdicts that still fit are written.
func TestAFullDiskLeavesWholeLinesAndNoManifest(t *testing.T) {
	line, err := encode(sampleObservation("a.b"), "")
	must(t, err)
	for room := range 2*len(line) + 2 {
		if room%97 != 0 && room%len(line) > 1 {
			continue // test only some points within a line, and those around its ends
		}
		dir := filepath.Join(t.TempDir(), "run")
		run := sampleRun()
		w, err := Create(dir, run)
		must(t, err)
		must(t, w.Script("a.b", []byte("id: a.b\n")))
		l := w.lines[observationsFile]
		l.file = &fullDisk{l.file.(*os.File), room}
		var failed error
		for _, id := range []string{"a.b", "a.c", "a.d"} {
			failed = errors.Join(failed, w.Observation(sampleObservation(id), Fail))
		}
		if !errors.Is(failed, syscall.ENOSPC) || strings.Count(failed.Error(), "could not be written") != 1 {
			t.Fatalf("room for %d: %v, want the full disk, once", room, failed)
		}
		run.Ended = run.Started.Add(time.Second)
		must(t, w.Finish(run, []Verdict{{Rule: "x.y", Level: "must", Conclusion: Pass}}, sampleReport()))
		b, err := Open(dir)
		must(t, err)
		if len(b.Observations) != room/len(line) || len(b.Verdicts) != 1 || !b.Unfinished {
			t.Errorf("room for %d: %d observations, %d verdicts, unfinished %v", room, len(b.Observations), len(b.Verdicts), b.Unfinished)
		}
		if said := strings.Join(b.Partial, "\n"); strings.Contains(said, "cut after") {
			t.Errorf("room for %d: a part of a line was left: %s", room, said)
		}
	}
}

// Links planted under the name of any bundle file or temporary file are replaced or refused, and
// never followed.
func TestPlantedLinksAreNotFollowed(t *testing.T) {
	names := []string{ManifestFile, runFile, eventsFile, observationsFile, reproducersFile, verdictsFile, resultFile, scriptsDir}
	for _, name := range names {
		names = append(names, tempPrefix+name)
	}
	for _, name := range append(names, tempPrefix+"a.b.yaml", scriptsDir+"/a.b.yaml") {
		t.Run(name, func(t *testing.T) {
			dir := written(t)
			outside := filepath.Join(t.TempDir(), "victim")
			must(t, os.WriteFile(outside, []byte("untouched"), 0o644))
			must(t, os.RemoveAll(filepath.Join(dir, name)))
			must(t, os.Symlink(outside, filepath.Join(dir, name)))
			run := sampleRun()
			w, err := Create(dir, run)
			if err == nil {
				_ = w.Script("a.b", []byte("id: a.b\n"))
				_ = w.Event(RunEvent{Kind: RunBegun})
				_ = w.Observation(sampleObservation("a.b"), Fail)
				_ = w.Reproducer(Reproducer{Scenario: "a.b"})
				_ = w.Finish(run, nil, sampleReport())
			}
			if text, err := os.ReadFile(outside); err != nil || string(text) != "untouched" {
				t.Errorf("the file outside is %q: %v", text, err)
			}
		})
	}
}

func TestEventsAndReproducersReadBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	run := sampleRun()
	w, err := Create(dir, run)
	must(t, err)
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	must(t, w.Event(RunEvent{At: at, Kind: RunBegun, Detail: "u"}))
	must(t, w.Event(RunEvent{At: at, Kind: ScenarioDone, Scenario: "a.b", Axes: sampleAxes, Verdict: "fail"}))
	must(t, w.Reproducer(Reproducer{Scenario: "a.b", Axes: sampleAxes, Rule: "z", Kind: ReproduceShell, Text: "printf x", Ran: true, Output: strings.Repeat("é", maxOutput)}))
	must(t, w.Reproducer(Reproducer{Scenario: "a.b", Axes: sampleAxes, Kind: ReproduceReplay, Text: "assay replay a.b", Ran: true, Shown: true}))
	must(t, w.Reproducer(Reproducer{Scenario: "gone", Axes: sampleAxes, Kind: ReproduceCurl}))
	run.Ended = at
	must(t, w.Finish(run, nil, sampleReport()))
	if kinds, said := problems(t, dir); len(kinds) > 0 {
		t.Error(said)
	}
	b, err := Open(dir)
	must(t, err)
	if len(b.Events) != 2 || !b.Events[0].At.Equal(at) || b.Events[1].Scenario != "a.b" || b.Events[1].Axes != sampleAxes {
		t.Errorf("events: %+v", b.Events)
	}
	got := b.Report.Scenarios[0].Reproducers
	if len(b.Reproducers) != 3 || len(got) != 2 || got[0].Kind != ReproduceReplay || got[1].Rule != "z" {
		t.Errorf("%d reproducers, of a.b: %+v", len(b.Reproducers), got)
	}
	if n := len(got[1].Output); n > maxOutput+8 {
		t.Errorf("an output of %d bytes was kept", n)
	}
}

func TestADocumentOfTooManyObjectsIsNotDecoded(t *testing.T) {
	var list []struct{ ID string }
	text := "[" + strings.Repeat("{},", maxObjects/4) + "{}]"
	if err := DecodeDocument([]byte(text), &list, ""); err == nil || len(list) > 0 || !strings.Contains(err.Error(), "JSON objects; the limit is") {
		t.Errorf("%d objects: %v", len(list), err)
	}
}
