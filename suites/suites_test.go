package suites

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"strings"
	"testing"

	"assay/internal/bundle"
	"assay/internal/target"
	"assay/internal/testkit"
	"assay/reports"
)

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
// conformant.
func TestConformance(t *testing.T) {
	if f := flag.Lookup("test.count"); f != nil && f.Value.String() != "1" {
		t.Skip("Ginkgo refuses -count: repeat the call of go test, or use `assay conform --repeat N`")
	}
	underGoTest = true
	defer func() { underGoTest = false }()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o := Options{
		Target:  target.Options{URL: *urlFlag, TimeScale: testkit.Slowdown},
		Profile: *profileFlag, Select: *selectFlag, Strict: *strictFlag, Out: *outFlag,
		Version: "test", Specs: os.Stderr,
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
	if err := reports.Terminal(&text, out.Report, reports.Style{Width: 120}); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + text.String())
	if out.Report.Verdict != bundle.Conformant {
		t.Errorf("verdict %s, exit code %d", out.Report.Verdict, out.Report.Exit)
	}
}
