package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder writes the files to a new directory.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// program is a program with the given main function, which may use container/ring.
func program(t *testing.T, body string) string {
	t.Helper()
	return folder(t, map[string]string{
		"go.mod":  "module program\n\ngo 1.26.0\n",
		"main.go": "package main\n\nimport \"container/ring\"\n\nfunc main() {\n\t" + body + "\n}\n",
	})
}

// database says that ring.New of every Go release is vulnerable.
func database(t *testing.T) string {
	t.Helper()
	dir := folder(t, map[string]string{
		"index/db.json":      `{"modified":"2026-01-01T00:00:00Z"}`,
		"index/modules.json": `[{"path":"stdlib","vulns":[{"id":"GO-2026-0001","modified":"2026-01-01T00:00:00Z"}]}]`,
		"ID/GO-2026-0001.json": `{"schema_version":"1.3.1","id":"GO-2026-0001","modified":"2026-01-01T00:00:00Z","details":"A ring may have no end.",
			"affected":[{"package":{"name":"stdlib","ecosystem":"Go"},"ranges":[{"type":"SEMVER","events":[{"introduced":"0"}]}],
			"ecosystem_specific":{"imports":[{"path":"container/ring","symbols":["New"]}]}}],
			"database_specific":{"url":"https://example.com/GO-2026-0001"}}`,
	})
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}).String()
}

func TestAVulnerableFunctionThatIsReachedFails(t *testing.T) {
	var out, stderr bytes.Buffer
	err := run(t.Context(), options{dir: program(t, "ring.New(1)"), db: database(t), out: &out, err: &stderr})
	if err == nil || !strings.Contains(err.Error(), "our code reaches a vulnerable function: update") {
		t.Errorf("error %v, want one that says what to do", err)
	}
	if !strings.Contains(out.String(), "GO-2026-0001") || !strings.Contains(out.String(), "main.go:6") {
		t.Errorf("the output does not name the finding and the call:\n%s%s", &out, &stderr)
	}
}

func TestAVulnerableFunctionThatIsNotReachedIsOnlyReported(t *testing.T) {
	var out, stderr bytes.Buffer
	err := run(t.Context(), options{dir: program(t, "_ = ring.Ring{}"), db: database(t), out: &out, err: &stderr})
	if err != nil || !strings.Contains(out.String(), "0 vulnerabilities") || strings.Contains(stderr.String(), notChecked) {
		t.Errorf("error %v:\n%s%s", err, &out, &stderr)
	}
}

func TestWithoutTheDatabaseItSaysSoAndSucceeds(t *testing.T) {
	refuses := httptest.NewServer(http.NotFoundHandler())
	refuses.Close()
	forbids := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer forbids.Close()
	stops := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer stops.Close()
	for name, db := range map[string]string{"refused": refuses.URL, "forbidden": forbids.URL, "unavailable": stops.URL} {
		t.Run(name, func(t *testing.T) {
			var out, stderr bytes.Buffer
			err := run(t.Context(), options{dir: program(t, "ring.New(1)"), db: db, out: &out, err: &stderr})
			if err != nil || !strings.HasPrefix(stderr.String(), notChecked+": ") {
				t.Errorf("error %v:\n%s%s", err, &out, &stderr)
			}
		})
	}
}

func TestCodeThatDoesNotCompileFails(t *testing.T) {
	var out, stderr bytes.Buffer
	err := run(t.Context(), options{dir: program(t, "ring.Neww(1)"), db: database(t), out: &out, err: &stderr})
	if err == nil || strings.Contains(stderr.String(), notChecked) {
		t.Errorf("error %v:\n%s%s", err, &out, &stderr)
	}
}

func TestADatabaseThatIsNoneFails(t *testing.T) {
	var out, stderr bytes.Buffer
	err := run(t.Context(), options{dir: program(t, "ring.New(1)"), db: "gopher://127.0.0.1", out: &out, err: &stderr})
	if err == nil || strings.Contains(stderr.String(), notChecked) {
		t.Errorf("error %v:\n%s%s", err, &out, &stderr)
	}
}
