package terminal_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"assay/fakes/gateway"
	"assay/fakes/stdio"
	"assay/fakes/terminal"
)

// start starts a gateway that ends with the test.
func start(t *testing.T, o gateway.Options) *gateway.Gateway {
	t.Helper()
	g, err := gateway.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// get requests a URL for a host; "" is the one of the URL.
func get(t *testing.T, url, host string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

func TestThePageAndItsFilesHaveTheStrictPolicy(t *testing.T) {
	t.Parallel()
	g := start(t, gateway.Options{Prefix: "/box", Token: "secret"})
	if want := g.URL() + "/terminal"; g.TerminalURL() != want {
		t.Errorf("the page is at %q, want %q", g.TerminalURL(), want)
	}
	for path, kind := range map[string]string{
		"": "text/html", "/page.js": "text/javascript", "/link.js": "text/javascript", "/pane.js": "text/javascript", "/screen.js": "text/javascript",
		"/xterm.js": "text/javascript", "/addon-fit.js": "text/javascript", "/page.css": "text/css", "/xterm.css": "text/css",
	} {
		response, body := get(t, g.TerminalURL()+path, "")
		h := response.Header
		if response.StatusCode != http.StatusOK || body == "" || !strings.HasPrefix(h.Get("Content-Type"), kind) {
			t.Errorf("%q: %s, %s, %d bytes", path, response.Status, h.Get("Content-Type"), len(body))
		}
		if h.Get("Content-Security-Policy") != terminal.Policy || h.Get("X-Frame-Options") != "DENY" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%q has the headers %v", path, h)
		}
		if strings.Contains(body, "secret") {
			t.Errorf("%q tells the token", path)
		}
	}
	if strings.Contains(terminal.Policy, "unsafe") || strings.Contains(terminal.Policy, "http") {
		t.Errorf("the policy is %s", terminal.Policy)
	}
	for _, path := range []string{"/LICENSE", "/page.html", "/..%2fpage.go", "/nothing"} {
		if response, _ := get(t, g.TerminalURL()+path, ""); response.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s, want 404", path, response.Status)
		}
	}
}

func TestThePageNamesTheFeaturesOfTheGateway(t *testing.T) {
	t.Parallel()
	g := start(t, gateway.Options{Without: []string{stdio.FeatureSession}})
	if _, body := get(t, g.TerminalURL(), ""); !strings.Contains(body, `data-features="stdio.ws stdio.pty stdio.panes stdio.eof"`) {
		t.Errorf("the page begins %.200s", body)
	}
	if response, _ := get(t, g.TerminalURL(), "gateway.example"); response.StatusCode != http.StatusForbidden {
		t.Errorf("another host: %s, want 403", response.Status)
	}
}

func TestWithoutTheStdioSurfaceThereIsNoPage(t *testing.T) {
	t.Parallel()
	g := start(t, gateway.Options{Without: []string{stdio.FeatureWS}})
	if g.TerminalURL() != "" {
		t.Errorf("the page is at %s", g.TerminalURL())
	}
	if response, _ := get(t, g.URL()+"/terminal", ""); response.StatusCode != http.StatusNotFound {
		t.Errorf("%s, want 404", response.Status)
	}
}

// The files are those of the packages @xterm/xterm 5.5.0 and @xterm/addon-fit 0.10.0 on npm.
func TestTheFilesOfOthersAreUnchanged(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"xterm/xterm.js":   "1f991ac3b4b283ebf96e60ae23a00a52765dd3a2e46fa6fdda9f1aab032f7495",
		"xterm/xterm.css":  "ba8e6985669488981ccf40c0cefe3aba80722cb6c92de7ad628b0bd717faf2b6",
		"xterm/LICENSE":    "b569f629d00f2626a8100df2a1798210535621e42164dfd426a6fe5aac7b0ccd",
		"fit/addon-fit.js": "bdaefa370b1bfc42ee88d46fe6072400902a4d4b2d45cd93438dda9b23c97089",
		"fit/LICENSE":      "e256f01188af527e4d06d21d06fbf785ae9c50d4b328bf03cbe0ba7f0aa4228f",
	} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		if got := hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%s has sha256 %s, want %s", name, got, want)
		}
	}
}
