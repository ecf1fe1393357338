package terminal_test

import (
	"fmt"
	"strings"
	"testing"

	"assay/fakes/gateway"
	"assay/internal/browser"
)

// user is who uses the page.
type user struct {
	*browser.Page
	t *testing.T
	g *gateway.Gateway
}

// visit opens the page of a gateway in a browser.
func visit(t *testing.T, b *browser.Browser, g *gateway.Gateway) *user {
	t.Helper()
	u := &user{b.Open(t, g.TerminalURL(), browser.View{}), t, g}
	u.Wait(t, "window.panes && panes.length === 1")
	return u
}

// fill sets fields of a pane's form.
func (u *user) fill(pane int, fields map[string]string) {
	u.t.Helper()
	for name, value := range fields {
		browser.Eval[any](u.t, u.Page, fmt.Sprintf("document.querySelectorAll('.pane')[%d].querySelector('form').elements[%q].value = %q; null", pane, name, value))
	}
}

// connect presses the button of a pane, and waits for the state.
func (u *user) connect(pane int, state string) {
	u.t.Helper()
	browser.Eval[any](u.t, u.Page, fmt.Sprintf("document.querySelectorAll('.pane')[%d].querySelector('button.main').click(); null", pane))
	u.state(pane, state)
}

// run runs a script in the first pane.
func (u *user) run(script string, more ...string) {
	u.t.Helper()
	fields := map[string]string{"cmd": "bash", "args": "-c\n" + script}
	for i := 0; i < len(more); i += 2 {
		fields[more[i]] = more[i+1]
	}
	u.fill(0, fields)
	browser.Eval[any](u.t, u.Page, "document.querySelector('button.main').click(); null")
}

// state waits until the state of a pane is one, or its sentence contains a text.
func (u *user) state(pane int, want string) {
	u.t.Helper()
	u.Wait(u.t, fmt.Sprintf("(s => s.dataset.state === %q || s.querySelector('.state').textContent.includes(%q))(document.querySelectorAll('.pane')[%d])", want, want, pane))
}

// sees waits until a pane shows a text.
func (u *user) sees(pane int, text string) {
	u.t.Helper()
	u.Wait(u.t, fmt.Sprintf("panes[%d].screen.text.includes(%q)", pane, text))
}

// shown returns what a pane shows.
func (u *user) shown(pane int) string {
	u.t.Helper()
	return browser.Eval[string](u.t, u.Page, fmt.Sprintf("panes[%d].screen.text", pane))
}

// well fails the test if the page has broken its policy, thrown, or called anyone but the gateway.
func (u *user) well() {
	u.t.Helper()
	for _, said := range u.Said() {
		if !strings.Contains(said, "Failed to load resource") && !strings.Contains(said, "WebSocket connection to") {
			u.t.Errorf("the page said %s", said)
		}
	}
	for _, request := range u.Requests() {
		if !strings.HasPrefix(request, "GET "+u.g.URL()+"/terminal/") && request != "GET "+u.g.URL()+"/attach" {
			u.t.Errorf("the page requested %s", request)
		}
	}
	if at := browser.Eval[string](u.t, u.Page, "location.href"); at != u.g.TerminalURL() {
		u.t.Errorf("the page's address has become %s", at)
	}
}

func TestThePageTypesSeesAndShowsTheExitCode(t *testing.T) {
	b := browser.Start(t)
	t.Run("typing", func(t *testing.T) {
		u := visit(t, b, start(t, gateway.Options{}))
		u.run("echo hello; read x; echo got $x; exit 7")
		u.sees(0, "hello")
		u.Press(t, "wörld\r")
		u.sees(0, "got wörld")
		u.state(0, "exit code 7")
		u.well()
	})
}
