package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/testkit"
)

// problems returns the kinds and the messages of the problems that Verify finds.
func problems(t *testing.T, dir string) (kinds []ProblemKind, said string) {
	t.Helper()
	v, err := Verify(t.Context(), dir)
	must(t, err)
	var all strings.Builder
	for _, p := range v.Problems {
		kinds = append(kinds, p.Kind)
		all.WriteString(p.Message + "\n")
	}
	if v.OK != (len(kinds) == 0) || v.Exit == 0 != v.OK {
		t.Errorf("OK %v and exit %d beside %d problems", v.OK, v.Exit, len(kinds))
	}
	return kinds, all.String()
}

func TestASealedBundleHasNoProblems(t *testing.T) {
	dir := written(t)
	if kinds, said := problems(t, dir); len(kinds) > 0 {
		t.Error(said)
	}
	v, err := Verify(t.Context(), dir)
	must(t, err)
	if v.Files != 8 || v.Kind != KindConform || v.Run != "r1" || v.Bytes < 1000 {
		t.Errorf("%+v", v)
	}
}

// remade changes the manifest of a bundle.
func remade(t *testing.T, dir string, change func(*Manifest)) {
	t.Helper()
	name := filepath.Join(dir, ManifestFile)
	text, err := os.ReadFile(name)
	must(t, err)
	var m Manifest
	must(t, json.Unmarshal(text, &m))
	change(&m)
	text, err = encode(m, "  ")
	must(t, err)
	must(t, os.WriteFile(name, text, 0o644))
}

// resealed seals a bundle again, with the current digests of its files.
func resealed(t *testing.T, dir string) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer func() { _ = root.Close() }()
	must(t, Seal(root, Manifest{Kind: KindConform, Run: "r1"}))
}

func TestWhatIsWrongWithABundleIsNamed(t *testing.T) {
	put := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)) }
	}
	list := func(files ...FileDigest) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			remade(t, dir, func(m *Manifest) { m.Files = append(m.Files, files...) })
		}
	}
	tests := []struct {
		name  string
		spoil func(t *testing.T, dir string)
		kind  ProblemKind
		want  string
	}{
		{"a file of the same length was edited", func(t *testing.T, dir string) {
			name := filepath.Join(dir, verdictsFile)
			text, err := os.ReadFile(name)
			must(t, err)
			must(t, os.WriteFile(name, []byte(strings.Replace(string(text), `"pass"`, `"fail"`, 1)), 0o644))
		}, ProblemEdited, "verdicts.json was changed"},
		{"a file was cut", func(t *testing.T, dir string) { must(t, os.Truncate(filepath.Join(dir, resultFile), 20)) }, ProblemEdited, "the file 20 bytes"},
		{"a file is missing", func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, resultFile))) }, ProblemMissing, "result.json is missing"},
		{"a file was added", put("junit.xml", "<x/>"), ProblemStranger, `"junit.xml"`},
		{"a script was added", put(scriptsDir+"/z.yaml", "id: z\n"), ProblemStranger, `"scripts/z.yaml"`},
		{"a folder was added", func(t *testing.T, dir string) { must(t, os.MkdirAll(filepath.Join(dir, "more", "deep"), 0o755)) }, ProblemStranger, `"more/"`},
		{"a file became a link to another", func(t *testing.T, dir string) {
			must(t, os.Rename(filepath.Join(dir, resultFile), filepath.Join(t.TempDir(), "r")))
			must(t, os.Symlink("/etc/hostname", filepath.Join(dir, resultFile)))
		}, ProblemEdited, "not a regular file"},
		{"a file became a pipe", func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Join(dir, eventsFile)))
			must(t, testkit.MkFIFO(filepath.Join(dir, eventsFile)))
		}, ProblemEdited, "not a regular file"},
		{"the manifest is gone", func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, ManifestFile))) }, ProblemUnfinished, "no manifest.json"},
		{"the manifest is cut", put(ManifestFile, `{"schema":"assay.manifest/v1","fil`), ProblemManifest, "not readable"},
		{"the manifest has a field of another type", put(ManifestFile, `{"schema":"assay.manifest/v1","files":7}`), ProblemManifest, "not readable"},
		{"a name leads upwards", list(FileDigest{Name: "../../etc/passwd", SHA256: strings.Repeat("0", 64)}), ProblemManifest, "not a file of a bundle"},
		{"a name is absolute", list(FileDigest{Name: "/etc/passwd", SHA256: strings.Repeat("0", 64)}), ProblemManifest, "not a file of a bundle"},
		{"a name has a NUL", list(FileDigest{Name: "scripts/a\x00.yaml"}), ProblemManifest, "not a file of a bundle"},
		{"a name has ten thousand letters", list(FileDigest{Name: "scripts/" + strings.Repeat("a", 10_000) + ".yaml"}), ProblemManifest, "not a file of a bundle"},
		{"a name stands there twice", list(FileDigest{Name: runFile, SHA256: strings.Repeat("0", 64)}), ProblemManifest, "twice"},
		{"two names differ in case", list(FileDigest{Name: "scripts/A.B.yaml", SHA256: strings.Repeat("0", 64)}), ProblemManifest, "differ only in case"},
		{"the manifest lists no run", func(t *testing.T, dir string) { remade(t, dir, func(m *Manifest) { m.Files = nil }) }, ProblemManifest, "none of run.json, load.json and soak.json"},
		{"an observation lacks a field", func(t *testing.T, dir string) {
			put(observationsFile, `{"schema":"assay.observation/v1"}`+"\n")(t, dir)
			resealed(t, dir)
		}, ProblemSchema, "observations.jsonl:1: at /: missing properties"},
		{"a verdict is none", func(t *testing.T, dir string) {
			put(verdictsFile, `[{"rule":"x","level":"must","verdict":"splendid"}]`)(t, dir)
			resealed(t, dir)
		}, ProblemSchema, "at /0/verdict"},
		{"an event is of a newer version", func(t *testing.T, dir string) {
			put(eventsFile, `{"schema":"assay.event/v2","at":"2026-01-01T00:00:00Z","event":"run-begun"}`+"\n")(t, dir)
			resealed(t, dir)
		}, ProblemSchema, "events.jsonl:1: at /schema"},
		{"the last line is cut", func(t *testing.T, dir string) {
			put(eventsFile, `{"schema":"assay.ev`)(t, dir)
			resealed(t, dir)
		}, ProblemSchema, "line 1 is truncated"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := written(t)
			tt.spoil(t, dir)
			kinds, said := problems(t, dir)
			if !slices.Contains(kinds, tt.kind) || !strings.Contains(said, tt.want) {
				t.Errorf("found %v, want %s with %q:\n%s", kinds, tt.kind, tt.want, said)
			}
			if longest := slices.MaxFunc(strings.Split(said, "\n"), func(a, b string) int { return len(a) - len(b) }); len(longest) > 600 {
				t.Errorf("a message is %d bytes long", len(longest))
			}
		})
	}
}

func TestWhatIsNoBundleOrANewerOneIsRefused(t *testing.T) {
	newer := written(t)
	must(t, os.WriteFile(filepath.Join(newer, ManifestFile), []byte(`{"schema":"assay.manifest/v7","files":{}}`), 0o644))
	foreign := t.TempDir()
	must(t, os.WriteFile(filepath.Join(foreign, ManifestFile), []byte(`{"name":"a web app"}`), 0o644))
	for name, tc := range map[string]struct{ dir, want string }{
		"absent":          {filepath.Join(t.TempDir(), "x"), "bundle"},
		"empty":           {t.TempDir(), "is not a bundle: it has no manifest.json"},
		"somebody else's": {foreign, "not a file of an Assay bundle"},
		"newer":           {newer, `"assay.manifest/v7", but this version of assay reads only v1: use the version of assay that wrote v7`},
	} {
		if _, err := Verify(t.Context(), tc.dir); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, tc.want)
		}
	}
	if _, err := Open(newer); err == nil || !strings.Contains(err.Error(), "use the version of assay that wrote v7") {
		t.Errorf("Open: error %v", err)
	}
}

// A pipe in place of a file would block a reader forever.
func TestAPipeInABundleIsNotOpened(t *testing.T) {
	for _, name := range []string{ManifestFile, runFile, observationsFile, resultFile, scriptsDir + "/a.b.yaml"} {
		dir := written(t)
		must(t, os.Remove(filepath.Join(dir, name)))
		must(t, testkit.MkFIFO(filepath.Join(dir, name)))
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestALoadFolderIsSealedByOneCall(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, metricsDir), 0o755))
	for name, text := range map[string]string{loadFile: "{}\n", hlogFile: "#\n", metricsDir + "/before.txt": "x 1\n", "mine.txt": "not of the bundle"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer func() { _ = root.Close() }()
	must(t, Seal(root, Manifest{Kind: KindLoad, Started: time.Unix(1, 0), Ended: time.Unix(2, 0)}))
	kinds, said := problems(t, dir)
	if len(kinds) != 1 || kinds[0] != ProblemStranger {
		t.Error(said)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), `of kind "load"`) {
		t.Errorf("Open: error %v", err)
	}
}

// A manifest may list a file of any size with that size. Its digest takes hours, and ends with the caller.
func TestTheDigestOfAHugeFileEndsWithItsContext(t *testing.T) {
	const huge = 1 << 40
	dir := written(t)
	if err := os.Truncate(filepath.Join(dir, eventsFile), huge); err != nil {
		t.Skip(err)
	}
	remade(t, dir, func(m *Manifest) {
		for i := range m.Files {
			if m.Files[i].Name == eventsFile {
				m.Files[i].Size = huge
			}
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if v, err := Verify(ctx, dir); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%+v, error %v", v, err)
	}
}

// The digest of a file that is too long to be read is of no use.
func TestASummaryDoesNotDigestAHugeFile(t *testing.T) {
	for _, name := range []string{ManifestFile, resultFile} {
		dir := written(t)
		if err := os.Truncate(filepath.Join(dir, name), 1<<40); err != nil {
			t.Skip(err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := Sealed(dir)
			if err == nil {
				_, err = Summarize(dir)
			}
			ended <- err
		}()
		select {
		case err := <-ended:
			if err == nil || !strings.Contains(err.Error(), "the limit is") {
				t.Errorf("%s: error %v", name, err)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%s: it is read", name)
		}
	}
}
