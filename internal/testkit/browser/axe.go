package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"assay/internal/testkit"
)

// Finding is one accessibility rule that a page breaks.
type Finding struct {
	ID     string `json:"id"`
	Impact string `json:"impact"` // minor, moderate, serious or critical
	Help   string `json:"help"`
	Nodes  []struct {
		HTML           string `json:"html"`
		FailureSummary string `json:"failureSummary"`
	} `json:"nodes"`
}

// String describes the finding and the first elements that it is about.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s: %s, in %d elements", f.ID, f.Impact, f.Help, len(f.Nodes))
	for i, n := range f.Nodes {
		if i == 3 {
			break
		}
		fmt.Fprintf(&b, "\n  %.300s\n    %s", n.HTML, strings.ReplaceAll(n.FailureSummary, "\n", "\n    "))
	}
	return b.String()
}

// Axe fails the test for every accessibility rule of axe-core that the page breaks and that
// is serious or critical. It loads the page again, without its content security policy, and
// opens all details first: what is folded is read as well.
func (p *Page) Axe(t testing.TB) {
	t.Helper()
	p.grave(t, p.Findings(t))
}

// AxeAsIs is Axe for the page as it is now: it does not load it again, and
// keeps its content security policy.
func (p *Page) AxeAsIs(t testing.TB) {
	t.Helper()
	p.grave(t, p.findings(t))
}

// grave fails the test for the findings that are serious or critical.
func (p *Page) grave(t testing.TB, findings []Finding) {
	t.Helper()
	for _, f := range findings {
		if f.Impact == "serious" || f.Impact == "critical" {
			t.Errorf("%s: %v", p.url, f)
		}
	}
}

// Findings returns the accessibility rules of axe-core that the page breaks.
func (p *Page) Findings(t testing.TB) []Finding {
	t.Helper()
	view := p.view
	view.NoScript = false
	q := p.browser.tab(t, p.url, view)
	command(t, q, page.SetBypassCSP, page.SetBypassCSPParams{Enabled: true})
	act(t, q, "open "+q.url, chromedp.Navigate(q.url))
	Eval[any](t, q, "for (const d of document.querySelectorAll('details')) d.open = true; null")
	return q.findings(t)
}

// findings runs axe-core in the page.
func (p *Page) findings(t testing.TB) []Finding {
	t.Helper()
	Eval[any](t, p, axe(t)+"; null")
	text := Eval[string](t, p, `axe.run(document, {preload: false, resultTypes: ["violations"]}).then(r => JSON.stringify(r.violations))`)
	var found []Finding
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		t.Fatalf("axe: %v", err)
	}
	return found
}

var installed = sync.OnceValues(func() (string, error) {
	dir, err := home()
	if err != nil {
		return "", err
	}
	if err := testkit.InstallNPM(context.Background(), dir); err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(dir, "node_modules/axe-core/axe.min.js"))
	return string(text), err
})

// axe returns the script of axe-core.
func axe(t testing.TB) string {
	t.Helper()
	source, err := installed()
	if errors.Is(err, testkit.ErrNoNode) {
		missing(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// home returns the folder of the packages from npm. Tests run in the folders of their
// packages, somewhere below the root of the module.
func home() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "internal/testkit/browser/axe"), nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("the test does not run inside the module")
		}
		dir = up
	}
}
