package bundle

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzOpen replaces one file with arbitrary text: the reader, the verifier and the next writer
// never panic or write outside the directory, and a changed bundle never verifies.
func FuzzOpen(f *testing.F) {
	files := append([]string{ManifestFile}, documents...)
	seed := map[string]string{
		ManifestFile:     `{"schema":"assay.manifest/v1","kind":"conform","files":[{"name":"../x","size":1,"sha256":""}]}`,
		runFile:          `{"schema":"assay.run/v1","id":"r1","planned":[{"scenario":"a.b"}]}`,
		eventsFile:       `{"schema":"assay.event/v1","at":"2026-01-01T00:00:00Z","event":"probed"}` + "\n",
		observationsFile: `{"schema":"assay.observation/v1","run":"r1","scenario":"a.b","omitted":{"bytes":1}}` + "\n",
		reproducersFile:  `{"schema":"assay.reproducer/v1","kind":"curl"}` + "\n{",
		verdictsFile:     `[{"scenario":"a.b","rule":"x","verdict":"pass"},null]`,
		resultFile:       `{"schema":"assay.report/v1","scenarios":[{"id":"a.b"}]}`,
	}
	for i, name := range files {
		f.Add(i, []byte(seed[name]))
	}
	f.Fuzz(func(t *testing.T, which int, text []byte) {
		dir := written(t)
		name := files[(which%len(files)+len(files))%len(files)]
		was, _ := os.ReadFile(filepath.Join(dir, name))
		must(t, os.WriteFile(filepath.Join(dir, name), text, 0o644))
		b, err := Open(dir)
		if err == nil && b.Run == nil {
			t.Error("opened without a run")
		}
		v, err := Verify(t.Context(), dir)
		if err == nil && v.OK && name != ManifestFile && string(was) != string(text) {
			t.Errorf("%s was changed, but the bundle verifies", name)
		}
		w, err := Create(dir, sampleRun())
		if err == nil {
			must(t, w.Close())
		}
		if beside, _ := os.ReadDir(filepath.Dir(dir)); len(beside) != 1 {
			t.Errorf("something was written beside the directory: %v", beside)
		}
	})
}
