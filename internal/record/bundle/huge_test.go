//go:build !race

package bundle

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A bundle with a gigabyte of observations, in one line or many, is refused without using a
// gigabyte of memory.
func TestAHugeTranscriptTakesLittleMemory(t *testing.T) {
	dir := written(t)
	name := filepath.Join(dir, observationsFile)
	spoil := map[string]func(){
		"one file of a gigabyte":           func() { must(t, os.Truncate(name, 1<<30)) }, // sparse: takes no room
		"one line that is longer than any": func() { must(t, os.Truncate(name, maxObservations)) },
		"empty exchanges": func() {
			must(t, os.WriteFile(name, []byte(`{"schema":"assay.observation/v1","iterations":[{"exchanges":[{}`+strings.Repeat(",{}", maxParts+1)+"]}]}\n"), 0o644))
		},
		"empty objects": func() {
			must(t, os.WriteFile(name, []byte(`{"schema":"assay.observation/v1","iterations":[`+strings.Repeat("null,", maxObjects+1)), 0o644))
		},
	}
	for what, f := range spoil {
		f()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Open(dir)
		v, verr := Verify(t.Context(), dir)
		runtime.ReadMemStats(&after)
		if err == nil || verr != nil || v.OK {
			t.Errorf("%s: accepted (%v, %v)", what, err, verr)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<30 {
			t.Errorf("%s: took %d MB in all", what, took>>20)
		}
	}
}

func TestFilesOverALimitAreRefusedBeforeTheyAreRead(t *testing.T) {
	for file, size := range map[string]int64{
		resultFile: maxDocument + 1, observationsFile: maxObservations + 1, scriptsDir + "/a.b.yaml": maxScript + 1,
	} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			dir := written(t)
			must(t, os.Truncate(filepath.Join(dir, file), size)) // sparse: takes no room
			if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "the limit is") {
				t.Errorf("error %v, want one that names the limit", err)
			}
		})
	}
}

func TestACheckDoesNotReadDocumentsOfTooManyValues(t *testing.T) {
	many := "[" + strings.Repeat("0,", maxValues) + "0]"
	for _, name := range []string{runFile, verdictsFile, resultFile} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			w, err := Create(dir, sampleRun())
			must(t, err)
			must(t, w.Finish(sampleRun(), nil, sampleReport()))
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(many), 0o644))
			v, err := Verify(t.Context(), dir)
			must(t, err)
			var found string
			for _, p := range v.Problems {
				if p.Kind == ProblemSchema && p.File == name {
					found = p.Message
				}
			}
			if !strings.Contains(found, "JSON values; the limit is 2097152") {
				t.Errorf("the problem of its schema is %q", found)
			}
		})
	}
}
