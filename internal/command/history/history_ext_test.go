package history_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/command/history"
	"assay/internal/record/bundle"
)

var began = time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC)

// store writes a bundle of one file: what the history reads, sealed.
func store(t *testing.T, dir, name string, kind bundle.Kind, n int, report any) string {
	t.Helper()
	path := filepath.Join(dir, fmt.Sprintf("%s-%02d", kind, n))
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, name), text, 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	at := began.Add(time.Duration(n) * 24 * time.Hour)
	if err := bundle.Seal(root, bundle.Manifest{
		Kind: kind, Tool: bundle.Tool{Name: "assay", Version: "1"}, Run: fmt.Sprintf("r%d", n), Started: at, Ended: at.Add(time.Minute),
		Target: bundle.Target{URL: "http://127.0.0.1:8081"}, Profile: "connect",
	}); err != nil {
		t.Fatal(err)
	}
	return path
}

// twenty writes twenty bundles of each kind. With the eleventh, a rule broke and a latency rose by a quarter; another rule
// goes to and fro.
func twenty(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for n := 1; n <= 20; n++ {
		verdict, flaky := bundle.Pass, bundle.Pass
		latency := bundle.Latency{Count: 1000, P50: 2000 + int64(n%3)*40, P99: 9000 + int64(n%5)*900}
		if n >= 11 {
			verdict = bundle.Fail
			latency.P50 += 500
		}
		if n%4 == 0 {
			flaky = bundle.Fail
		}
		store(t, dir, "result.json", bundle.KindConform, n, &bundle.Report{
			Schema: bundle.ReportSchema, Run: fmt.Sprintf("r%d", n), Verdict: "conformant",
			Rules: []bundle.RuleResult{{ID: "process.exit.code", Verdict: verdict}, {ID: "process.start.first", Verdict: bundle.Pass}, {ID: "process.kill.race", Verdict: flaky}},
		})
		store(t, dir, "load.json", bundle.KindLoad, n, &bundle.LoadReport{Schema: bundle.LoadSchema, Verdict: bundle.LoadPass, Latency: bundle.LoadLatencies{FirstEvent: latency}})
	}
	return dir
}

func load(t *testing.T, o history.Options) *bundle.History {
	t.Helper()
	runs, skipped, err := history.Load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return history.Of(runs, skipped, "test")
}

func TestTheEleventhOfTwentyIsNamed(t *testing.T) {
	h := load(t, history.Options{Paths: []string{twenty(t)}})
	if len(h.Groups) != 2 || len(h.Groups[0].Runs) != 20 {
		t.Fatalf("%+v", h)
	}
	conform, under := h.Groups[0], h.Groups[1]
	if c := conform.Changes; len(c) != 1 || c[0].Kind != bundle.HistoryBroken || c[0].Name != "process.exit.code" || c[0].Since != 11 || c[0].Run != "r11" || c[0].Before != "pass" || c[0].After != "fail" {
		t.Errorf("%+v", c)
	}
	if f := conform.Flaky; len(f) != 1 || f[0].Rule != "process.kill.race" || f[0].Flips != 9 {
		t.Errorf("%+v", f)
	}
	if c := under.Changes; len(c) != 1 || c[0].Kind != bundle.HistoryWorse || c[0].Name != "first_event.p50" || c[0].Since != 11 || c[0].P > 0.01 || !strings.Contains(c[0].Message, "conform-11") && !strings.Contains(c[0].Message, "load-11") {
		t.Errorf("%+v", c)
	}
}

// The index saves reading, follows changed and removed bundles, and is built again when it is damaged.
func TestTheIndexIsACache(t *testing.T) {
	dir := twenty(t)
	o := history.Options{Paths: []string{dir}, Index: filepath.Join(t.TempDir(), "sub", "history.db")}
	same := func(when string, runs int) {
		t.Helper()
		h := load(t, o)
		n := 0
		for _, g := range h.Groups {
			n += len(g.Runs)
		}
		if n != runs || h.Groups[0].Changes[0].Since != 11 {
			t.Errorf("%s: %d runs, changes %+v", when, n, h.Groups[0].Changes)
		}
	}
	same("first", 40)
	same("again", 40)
	// The report is not read again: a changed one is not seen until the manifest changes.
	if err := os.WriteFile(filepath.Join(dir, "load-03", "load.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	same("from the index", 40)
	o.Rebuild = true
	same("rebuilt", 39)
	o.Rebuild = false
	if err := os.RemoveAll(filepath.Join(dir, "load-04")); err != nil {
		t.Fatal(err)
	}
	same("one is gone", 38)
	if err := os.Truncate(o.Index, 5000); err != nil {
		t.Fatal(err)
	}
	same("damaged", 38)
	o.Index = filepath.Join(dir, "conform-01", "result.json")
	if _, _, err := history.Load(t.Context(), o); err == nil || !strings.Contains(err.Error(), "is no index") {
		t.Errorf("a file that is no index: %v", err)
	}
}

func TestWhatIsNoBundleIsSkipped(t *testing.T) {
	dir := twenty(t)
	for _, bad := range []string{`{"schema":"assay.manifest/v9"}`, `{"schema":"assay.manifest/v1","kind":"tea"}`, `{`} {
		path := filepath.Join(dir, fmt.Sprintf("bad-%d", len(bad)))
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "manifest.json"), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if h := load(t, history.Options{Paths: []string{dir}}); len(h.Skipped) != 3 || len(h.Groups[0].Runs) != 20 {
		t.Errorf("skipped %+v", h.Skipped)
	}
	if _, _, err := history.Load(context.Background(), history.Options{Paths: []string{filepath.Join(dir, "nowhere")}}); err == nil {
		t.Error("a missing folder is no error")
	}
}

func TestOldBundlesAreRemoved(t *testing.T) {
	dir := twenty(t)
	h := load(t, history.Options{Paths: []string{dir}})
	now := began.Add(20 * 24 * time.Hour)
	keep, err := history.ParseKeep("5")
	if err != nil {
		t.Fatal(err)
	}
	old := history.Old(h, keep, now)
	if len(old) != 30 || !strings.HasSuffix(old[0], "-01") {
		t.Errorf("%d old bundles: %v", len(old), old)
	}
	if keep, err = history.ParseKeep("1h"); err != nil {
		t.Fatal(err)
	}
	if old := history.Old(h, keep, now.Add(1000*time.Hour)); len(old) != 38 {
		t.Errorf("%d old bundles, want all but the newest of each group", len(old))
	}
	// The bundles of conform here have no run.json, and are not whole.
	if err := bundle.Remove(filepath.Join(dir, "conform-01")); err == nil || !strings.Contains(err.Error(), "not whole") {
		t.Errorf("a bundle that is not whole: %v", err)
	}
	old = []string{filepath.Join(dir, "load-01"), filepath.Join(dir, "load-02")}
	if err := bundle.Remove(old[0]); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(old[0]); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
	if err := os.WriteFile(filepath.Join(old[1], "mine.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := bundle.Remove(old[1]); err == nil || !strings.Contains(err.Error(), "mine.txt") {
		t.Errorf("a bundle with a file of somebody: %v", err)
	}
	for _, bad := range []string{"", "0", "-1", "d", "30w", "-5h"} {
		if _, err := history.ParseKeep(bad); err == nil {
			t.Errorf("keep %q is taken", bad)
		}
	}
}

// The bundles of a certificate are its evidence, at whatever path they are found.
func TestTheEvidenceOfACertificateIsNeverOld(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "evidence")
	if err := os.Rename(twenty(t), dir); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	for want, certificate := range map[int]string{38: "other.json", 0: bundle.CertificateFile} {
		file := filepath.Join(top, certificate)
		if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		h := load(t, history.Options{Paths: []string{dir}})
		if old := history.Old(h, history.Keep{Count: 1}, began); len(old) != want {
			t.Errorf("%s: %d old bundles, want %d", certificate, len(old), want)
		}
		for i := range h.Groups {
			for j := range h.Groups[i].Runs {
				r := &h.Groups[i].Runs[j]
				r.Path = filepath.Join(link, filepath.Base(r.Path))
			}
		}
		if old := history.Old(h, history.Keep{Count: 1}, began); len(old) != want {
			t.Errorf("%s, through a link: %d old bundles, want %d", certificate, len(old), want)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

// A bundle that was left out hides what changed with it, unless its group has a later run.
func TestABundleThatIsLeftOutMayBeTheNewest(t *testing.T) {
	truncate := func(name string) func(path string) error {
		return func(path string) error { return os.Truncate(filepath.Join(path, name), 10) }
	}
	for name, c := range map[string]struct {
		bundle string
		damage func(path string) error
		unsure bool
	}{
		"the newest, its report truncated":     {"load-20", truncate("load.json"), true},
		"the newest, its manifest truncated":   {"load-20", truncate("manifest.json"), true},
		"the newest, its manifest lost":        {"load-20", func(path string) error { return os.Remove(filepath.Join(path, "manifest.json")) }, true},
		"an older one, its report truncated":   {"load-19", truncate("load.json"), false},
		"an older one, its manifest truncated": {"load-19", truncate("manifest.json"), true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := twenty(t)
			path := filepath.Join(dir, c.bundle)
			if err := c.damage(path); err != nil {
				t.Fatal(err)
			}
			runs, left, err := history.Load(t.Context(), history.Options{Paths: []string{dir}})
			if err != nil || len(left) != 1 || left[0].Path != path {
				t.Fatalf("left out %+v, error %v", left, err)
			}
			if unsure := history.Unsure(runs, left); len(unsure) == 1 != c.unsure {
				t.Errorf("unsure of %+v, want %v", unsure, c.unsure)
			}
		})
	}
}
