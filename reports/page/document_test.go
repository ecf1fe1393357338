package page

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"
)

// written returns a page.
func written(t *testing.T, d Document) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// policyOf returns the policy of a page.
func policyOf(t *testing.T, text string) string {
	t.Helper()
	m := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(text)
	if m == nil {
		t.Fatal("no policy")
	}
	return html.UnescapeString(m[1])
}

func aChart() Chart {
	return Chart{
		ID: "c", Title: "A chart", X: Axis{Label: "x"}, Y: Axis{Label: "y", Unit: UnitMicros},
		Series: []Series{{Name: "a", Points: []Point{{0, 1}, {1, 2000}}}},
	}
}

// A browser computes the digest of each script and style, and runs it only if the policy has it.
func TestThePolicyAllowsWhatThePageHasAndNothingElse(t *testing.T) {
	text := written(t, Document{Title: "t", Charts: []Chart{aChart()}, Scripts: []string{"own()"}, Styles: []string{"p{}"}})
	policy := policyOf(t, text)
	n := 0
	for _, m := range regexp.MustCompile(`(?s)<(script|style)>(.*?)</(script|style)>`).FindAllStringSubmatch(text, -1) {
		n++
		if !strings.Contains(policy, m[1]+"-src ") || !strings.Contains(policy, digest(m[2])) {
			t.Errorf("the policy does not allow the %s that begins with %.40q", m[1], m[2])
		}
	}
	if n != 4 {
		t.Errorf("%d scripts and styles, want 4", n)
	}
	if got := strings.Count(policy, "sha256-"); got != n {
		t.Errorf("%d digests for %d scripts and styles", got, n)
	}
	for _, part := range []string{"default-src 'none'", "base-uri 'none'", "form-action 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy lacks %s: %s", part, policy)
		}
	}
	for _, part := range []string{"unsafe", "connect-src", "http", "*"} {
		if strings.Contains(policy, part) {
			t.Errorf("the policy has %s: %s", part, policy)
		}
	}
}

func TestOnlyALivePageConnects(t *testing.T) {
	if policy := policyOf(t, written(t, Document{Connect: true})); !strings.HasSuffix(policy, "; connect-src 'self'") {
		t.Errorf("the policy is %s", policy)
	}
}

func TestThePageRefersToNothingOutside(t *testing.T) {
	text := written(t, Document{Title: "t", Charts: []Chart{aChart()}})
	if m := regexp.MustCompile(`(?i)(src|href)="[^#"][^"]*"|url\(|@import|<link|<img|<iframe|<base`).FindString(text); m != "" {
		t.Errorf("the page has %s", m)
	}
}

func TestNoEmbeddedScriptEndsItsElement(t *testing.T) {
	for name, s := range map[string]string{"page.js": script, "uPlot": chartScript} {
		if m := regexp.MustCompile(`(?i)</script|<!--`).FindString(s); m != "" {
			t.Errorf("%s has %s", name, m)
		}
	}
	for name, s := range map[string]string{"page.css": style, "uPlot": chartStyle} {
		if strings.Contains(strings.ToLower(s), "</style") {
			t.Errorf("%s ends its element", name)
		}
	}
}

// Data survives as it is, and ends neither its element nor the sandbox of a terminal.
func TestDataIsInertAndWhole(t *testing.T) {
	const hostile = "</script><script>alert(1)</script>\u202e\x1b[2J\u2028\U000e0001日本&"
	text := written(t, Document{Title: hostile, Data: map[string]any{"d": hostile}})
	if n := strings.Count(text, "<script"); n != 2 {
		t.Errorf("%d scripts, want 2", n)
	}
	if strings.ContainsAny(text, "\u202e\x1b\u2028\U000e0001") {
		t.Error("a character that a terminal obeys came through")
	}
	_, rest, _ := strings.Cut(text, `id="d">`)
	data, _, _ := strings.Cut(rest, "</script>")
	var back string
	if err := json.Unmarshal([]byte(data), &back); err != nil || back != hostile {
		t.Errorf("got %q: %v", back, err)
	}
}

func TestAPageWithDataThatIsNoJSONIsNotWritten(t *testing.T) {
	var b strings.Builder
	if err := Write(&b, Document{Data: map[string]any{"f": func() {}}}); err == nil || b.Len() > 0 {
		t.Errorf("error %v, %d bytes", err, b.Len())
	}
}

func TestAPageWithoutChartsHasNoUPlot(t *testing.T) {
	if text := written(t, Document{}); strings.Contains(text, chartScript) || strings.Contains(text, `id="charts"`) {
		t.Error("uPlot is in a page that needs it not")
	}
}

// The files are those of the package uplot 1.6.32 on npm.
func TestUPlotIsUnchanged(t *testing.T) {
	for name, want := range map[string]string{
		"uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
		"uPlot.min.css":     "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
		"LICENSE":           "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
	} {
		text, err := os.ReadFile("uplot/" + name)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		if got := hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%s has sha256 %s, want %s", name, got, want)
		}
	}
}
