package suites

import (
	"cmp"
	"flag"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"assay/internal/judge"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/testkit"
	"assay/reports"
)

func TestMain(m *testing.M) {
	// The runs wait more than they compute. Ginkgo refuses -parallel, which this does not count as.
	_ = flag.Lookup("test.parallel").Value.Set("8")
	os.Exit(m.Run()) // Ginkgo leaves a goroutine of each run, so that none are looked for
}

// The flags are those of `assay conform`, after -args.
var (
	urlFlag       = flag.String("url", "", "base URL of the gateway under test; default: the embedded gateway")
	profileFlag   = flag.String("profile", "", "profile: a name or a file")
	selectFlag    = flag.String("select", "", "scenarios to run, as in assay conform --select")
	strictFlag    = flag.Bool("strict", false, "should and may rules fail too")
	tokenFileFlag = flag.String("token-file", "", "file with the access token")
	outFlag       = flag.String("out", "", "directory for the bundle")
)

// TestConformance is the tree of specs under `go test`. It fails if the target is not
// conformant, or if the stored bundle gives other verdicts than the run.
func TestConformance(t *testing.T) {
	if f := flag.Lookup("test.count"); f != nil && f.Value.String() != "1" {
		t.Skip("Ginkgo refuses -count: repeat the call of go test, or use `assay conform --repeat N`")
	}
	t.Parallel()
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	o := Options{
		Target:  target.Options{URL: *urlFlag, TimeScale: testkit.Slowdown},
		Profile: *profileFlag, Select: *selectFlag, Strict: *strictFlag, Out: cmp.Or(*outFlag, filepath.Join(t.TempDir(), "run")),
		Version: "test", Specs: os.Stderr, underGoTest: true,
	}
	if o.Select == "" && o.Target.URL == "" {
		o.Select = smoke()
	}
	if *tokenFileFlag != "" {
		token, err := os.ReadFile(*tokenFileFlag)
		if err != nil {
			t.Fatal(err)
		}
		o.Target.Token = strings.TrimSpace(string(token))
	}
	out, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := reports.Conform().Render(&text, reports.FormatTerminal, out.Report, reports.Style{Width: 120}); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + text.String())
	if out.Report.Verdict != bundle.Conformant {
		t.Errorf("verdict %s, exit code %d", out.Report.Verdict, out.Report.Exit)
	}
	checkStored(t, o.Out, out)
}

// smoke limits a short run to a few areas; a long one runs the whole catalogue. Under the race detector that takes minutes:
// only with ASSAY_NIGHTLY.
func smoke() string {
	if testing.Short() || testkit.Slowdown > 1 && os.Getenv("ASSAY_NIGHTLY") == "" {
		return "area:connect-unary,area:connect-request,area:process-exit,area:process-signal,area:coppice"
	}
	return ""
}

// checkStored judges the stored bundle: it has the same verdicts and the same report as the run.
func checkStored(t *testing.T, dir string, out *Outcome) {
	t.Helper()
	b, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Partial) > 0 {
		t.Errorf("the bundle is partial: %v", b.Partial)
	}
	v, err := bundle.Verify(t.Context(), dir)
	if err != nil || !v.OK {
		t.Errorf("the bundle does not verify: %v %+v", err, v)
	}
	rules, profile, err := Catalogue(Options{ProfileText: b.Run.ProfileText})
	if err != nil {
		t.Fatal(err)
	}
	j := &judge.Judge{Rules: rules, Profile: profile, Strict: b.Run.Strict}
	verdicts, report, err := j.Bundle(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(out.Verdicts, verdicts); diff != "" {
		t.Errorf("stored and live verdicts differ (-live +stored):\n%s", diff)
	}
	if diff := gocmp.Diff(out.Report, report); diff != "" {
		t.Errorf("stored and live reports differ (-live +stored):\n%s", diff)
	}
}
