package browser

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// patience is how long one action of a reader may take, on a machine that may stand still.
const patience = 2 * time.Minute

// Browser is a running Chromium.
type Browser struct {
	ctx  context.Context
	stop func()
}

// shared is the Chromium of the tests that run at the same time.
var shared struct {
	mu      sync.Mutex
	users   int
	browser *Browser
}

// Start returns a headless Chromium that lasts until the test ends. Tests that run at the same time share it, and its
// clipboard; their pages share nothing else. Without a Chromium it skips the test, or fails it if CI is set.
func Start(t testing.TB) *Browser {
	t.Helper()
	path, ok := find()
	if !ok {
		missing(t, "no Chromium: `make debian` installs one, and CHROME_BIN names one")
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.users == 0 {
		b, err := start(path)
		if err != nil {
			t.Fatalf("start %s: %v", path, err)
		}
		shared.browser = b
	}
	shared.users++
	t.Cleanup(func() {
		shared.mu.Lock()
		defer shared.mu.Unlock()
		if shared.users--; shared.users == 0 {
			shared.browser.stop()
		}
	})
	return shared.browser
}

func start(path string) (*Browser, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.NoSandbox, // the pages are ours, and root has no sandbox
		chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true),
	)
	ctx, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, leave := chromedp.NewContext(ctx)
	b := &Browser{ctx: ctx, stop: func() { leave(); end() }}
	if err := chromedp.Do(ctx); err != nil {
		b.stop()
		return nil, err
	}
	return b, nil
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
