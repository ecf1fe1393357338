package browser

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// patience is how long one action of a reader may take, on a machine that may stand still.
const patience = 2 * time.Minute

// Browser is a running Chromium.
type Browser struct {
	ctx context.Context
}

// Start starts a headless Chromium that ends with the test. Without a Chromium it skips the
// test, or fails it if CI is set.
func Start(t testing.TB) *Browser {
	t.Helper()
	path, ok := find()
	if !ok {
		missing(t, "no Chromium: `make debian` installs one, and CHROME_BIN names one")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.NoSandbox, // the pages are ours, and root has no sandbox
		chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true),
	)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, stop := chromedp.NewContext(ctx)
	t.Cleanup(stop)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return &Browser{ctx: ctx}
}

// find returns the path of a Chromium.
func find() (string, bool) {
	names := []string{"chromium-headless-shell", "chromium", "google-chrome"}
	if bin := os.Getenv("CHROME_BIN"); bin != "" {
		names = []string{bin}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, true
		}
	}
	return "", false
}

// missing ends a test that this machine cannot run.
func missing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip("SKIPPED, NOT TESTED IN A BROWSER: " + why)
}
