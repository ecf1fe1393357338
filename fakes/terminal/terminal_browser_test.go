//go:build !race

package terminal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"assay/fakes/gateway"
	"assay/fakes/stdio"
	"assay/internal/testkit/browser"
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

// typing is a terminal that echoes what is typed, one line.
const typing = "echo hello; read x; echo got $x; exit 7"

func TestThePageTypesSeesAndShowsTheExitCode(t *testing.T) {
	t.Parallel()
	u := visit(t, browser.Start(t), start(t, gateway.Options{}))
	u.run(typing)
	u.sees(0, "hello")
	u.Strike(t, "wörld\r")
	u.sees(0, "got wörld")
	u.state(0, "exit code 7")
	if got := u.shown(0); got != "hello\nwörld\ngot wörld" {
		t.Errorf("the terminal shows %q", got)
	}
	u.Screenshot(t, "terminal-light")
	u.well()
}

func TestTheTerminalFollowsTheWindow(t *testing.T) {
	t.Parallel()
	u := visit(t, browser.Start(t), start(t, gateway.Options{}))
	u.run("while sleep 0.1; do stty size; done")
	const size = "panes[0].screen.size.rows + ' ' + panes[0].screen.size.cols"
	u.Wait(t, "panes[0].screen.text.includes("+size+")")
	before := browser.Eval[string](t, u.Page, size)
	u.Show(t, browser.View{Width: 700, Height: 700})
	u.Wait(t, fmt.Sprintf("%s !== %q && panes[0].screen.text.includes(%s)", size, before, size))
	u.well()
}

func TestTheTokenIsAskedForAndNeverInTheAddress(t *testing.T) {
	t.Parallel()
	u := visit(t, browser.Start(t), start(t, gateway.Options{Token: "s3cret+/="}))
	u.run(typing)
	u.state(0, "requires a token")
	u.Type(t, "#token", "wrong")
	u.run(typing)
	u.state(0, "Invalid token")
	browser.Eval[any](t, u.Page, "token.value = ''; null")
	u.Type(t, "#token", "s3cret+/=\r") // Enter connects
	u.sees(0, "hello")
	if stored := browser.Eval[int](t, u.Page, "localStorage.length + sessionStorage.length + document.cookie.length"); stored != 0 {
		t.Error("the page has stored something")
	}
	u.well()
}

func TestACutConnectionIsMadeAgainWithoutDoubleOutput(t *testing.T) {
	t.Parallel()
	var conns cutter
	u := visit(t, browser.Start(t), start(t, gateway.Options{Seams: gateway.Seams{Conn: conns.wrap}}))
	u.run(typing)
	u.sees(0, "hello")
	u.state(0, "Connected:")
	conns.cut()
	u.state(0, "Connected again")
	u.sees(0, "hello")
	u.Strike(t, "again\r")
	u.sees(0, "got again")
	u.state(0, "exit code 7")
	if got := u.shown(0); got != "hello\nagain\ngot again" {
		t.Errorf("the terminal shows %q", got)
	}
	u.well()
}

func TestWithoutASessionACutIsTheEnd(t *testing.T) {
	t.Parallel()
	var conns cutter
	u := visit(t, browser.Start(t), start(t, gateway.Options{Seams: gateway.Seams{Conn: conns.wrap}}))
	u.run(typing, "session", "")
	u.sees(0, "hello")
	conns.cut()
	u.state(0, "ended without an exit code")
	u.well()
}

func TestADriverAndAViewerSideBySide(t *testing.T) {
	t.Parallel()
	u := visit(t, browser.Start(t), start(t, gateway.Options{}))
	u.run(typing, "session", "shared", "role", "driver")
	u.sees(0, "hello")
	u.Click(t, "#split")
	u.fill(1, map[string]string{"session": "shared", "role": "viewer"})
	u.connect(1, "open")
	u.sees(1, "hello")
	u.Strike(t, "nothing\r") // the viewer has the focus
	if badges := browser.Eval[string](t, u.Page, "[...document.querySelectorAll('.badge')].map(b => b.textContent).join()"); badges != "driver,viewer" {
		t.Errorf("the roles are %s", badges)
	}
	browser.Eval[any](t, u.Page, "panes[0].screen.focus(); null")
	u.Strike(t, "both")
	u.sees(1, "both")
	u.Screenshot(t, "terminal-split")
	u.AxeAsIs(t)

	u.Click(t, ".pane:nth-child(2) .hangup")
	u.state(1, "closed")
	u.fill(1, map[string]string{"role": "driver"})
	u.connect(1, "open")
	u.Wait(t, "document.querySelector('.badge').textContent === 'viewer'")
	if notice := u.Text(t, ".notice"); !strings.Contains(notice, "another client is the driver now") {
		t.Errorf("the first pane says %q", notice)
	}
	u.Strike(t, " now\r")
	u.state(0, "exit code 7")
	u.sees(0, "got both now")
	u.sees(1, "got both now")
	u.Click(t, "#split")
	u.Wait(t, "panes.length === 1 && document.querySelectorAll('.pane').length === 1")
	u.well()
}

func TestTheKeyboardAloneIsEnough(t *testing.T) {
	t.Parallel()
	u := visit(t, browser.Start(t), start(t, gateway.Options{}))
	focus := func() string {
		return browser.Eval[string](t, u.Page, "(e => e.id || e.name || e.className)(document.activeElement)")
	}
	var order []string
	for range 12 {
		u.Strike(t, kb.Tab)
		order = append(order, focus())
	}
	if got, want := strings.Join(order, " "), "token split reader theme cmd args sandbox session role pty main xterm-helper-textarea"; got != want {
		t.Errorf("the order of Tab is %s, want %s", got, want)
	}
	u.fill(0, map[string]string{"args": "-c\n" + typing})
	browser.Eval[any](t, u.Page, "document.querySelector('[name=cmd]').focus(); null")
	u.Strike(t, kb.Enter)
	u.sees(0, "hello")
	for name, leave := range map[string]func(){
		"Ctrl+]":             func() { u.Strike(t, "]", chromedp.ModifierCtrl) },
		"Ctrl+Shift+ArrowUp": func() { u.Strike(t, kb.ArrowUp, chromedp.ModifierCtrl, chromedp.ModifierShift) },
	} {
		browser.Eval[any](t, u.Page, "panes[0].screen.focus(); null")
		leave()
		if got := focus(); got != "hangup" {
			t.Errorf("%s leads to %s", name, got)
		}
	}
	u.Strike(t, kb.Enter)
	u.state(0, "Disconnected")
	if got := focus(); got != "main" {
		t.Errorf("after Disconnect the focus is on %s", got)
	}
	u.well()
}

func TestTenMegabytesDoNotFreezeThePage(t *testing.T) {
	t.Parallel()
	u := visit(t, browser.Start(t), start(t, gateway.Options{}))
	browser.Eval[any](t, u.Page, `window.frames10 = 0; window.gap = 0; window.lastFrame = performance.now();
		(function frame(now) { frames10++; gap = Math.max(gap, now - lastFrame); lastFrame = now; requestAnimationFrame(frame) })(performance.now()); null`)
	from := browser.Eval[float64](t, u.Page, "performance.now()")
	u.run("yes 012345678901234567890123456789012345678901234567890123456789012 | head -c 10000000; echo; echo the end; exit 3")
	u.state(0, "exit code 3")
	took := browser.Eval[float64](t, u.Page, "performance.now()") - from
	if got := u.shown(0); !strings.HasSuffix(got, "the end") {
		t.Errorf("the terminal ends with %q", got[max(0, len(got)-100):])
	}
	gap, frames := browser.Eval[float64](t, u.Page, "gap"), browser.Eval[int](t, u.Page, "frames10")
	t.Logf("10 MB in %.0f ms, %d frames, at most %.0f ms between two", took, frames, gap)
	if frames < 5 || gap > took/2 && gap > 2000 {
		t.Errorf("the page froze: %d frames in %.0f ms, %.0f ms between two", frames, took, gap)
	}
	u.well()
}

func TestWhatAGatewayShouldNotSendDoesNoHarm(t *testing.T) {
	t.Parallel()
	g := start(t, gateway.Options{Seams: gateway.Seams{Stdio: func(next stdio.Sink) stdio.Sink { return &hostile{Sink: next} }}})
	u := visit(t, browser.Start(t), g)
	u.run("printf '\\xff\\xfe\\x1b[38;2;255;0;0mred\\x1b]8;;http://other.example/\\x07link\\x1b]8;;\\x07'; exit 4")
	u.state(0, "exit code 4")
	u.sees(0, "\ufffd\ufffdredlink")
	if notice := u.Text(t, ".notice"); !strings.Contains(notice, "the protocol does not know") {
		t.Errorf("the page says %q", notice)
	}
	u.well()
}

func TestThePageFitsANarrowWindowAndTheDark(t *testing.T) {
	t.Parallel()
	u := visit(t, browser.Start(t), start(t, gateway.Options{}))
	u.Axe(t)
	u.Show(t, browser.View{Width: 375, Height: 800, Dark: true})
	u.run("printf '\\033[31mred \\033[32mgreen \\033[34mblue\\033[0m plain\\n'; read x")
	u.sees(0, "plain")
	if over := u.Overflow(t); over > 0 {
		t.Errorf("on 375 pixels the page is %d too wide", over)
	}
	u.Screenshot(t, "terminal-narrow")
	u.AxeAsIs(t)
	u.Show(t, browser.View{Dark: true})
	u.Screenshot(t, "terminal-dark")
	background := func() string {
		return browser.Eval[string](t, u.Page, "getComputedStyle(document.querySelector('.xterm-viewport')).backgroundColor")
	}
	if got := background(); got != "rgb(16, 19, 23)" {
		t.Errorf("in the dark the terminal is %s", got)
	}
	browser.Eval[any](t, u.Page, "theme.value = 'light'; theme.dispatchEvent(new Event('change')); null")
	if got := background(); got != "rgb(255, 255, 255)" {
		t.Errorf("chosen light, the terminal is %s", got)
	}
	u.well()
}

func TestASessionThatIsGoneIsNotBegunAnew(t *testing.T) {
	t.Parallel()
	var conns cutter
	g := start(t, gateway.Options{ClockScale: 30, Seams: gateway.Seams{Conn: conns.wrap}}) // the session waits 2 s
	u := visit(t, browser.Start(t), g)
	u.run(typing)
	u.sees(0, "hello")
	browser.Eval[any](t, u.Page, "window.realFetch = fetch; window.held = true; window.fetch = async (...a) => { while (held) await new Promise(r => setTimeout(r, 20)); return realFetch(...a) }; null")
	conns.cut()
	u.state(0, "connecting")
	untilNothingRuns(t, g)
	browser.Eval[any](t, u.Page, "held = false; null")
	u.state(0, "it is over, or full")
	if got := u.shown(0); got != "hello" {
		t.Errorf("the terminal shows %q", got)
	}
	u.well()
}

func TestACommandWithoutATerminalIsUsable(t *testing.T) {
	t.Parallel()
	u := visit(t, browser.Start(t), start(t, gateway.Options{}))
	browser.Eval[any](t, u.Page, "document.querySelector('[name=pty]').checked = false; null")
	u.run("echo out; echo err >&2; while read x; do echo got $x; done; echo end; exit 2")
	u.sees(0, "out")
	u.sees(0, "err")
	u.Strike(t, "line\r")
	u.sees(0, "line\ngot line")
	u.Strike(t, "d", chromedp.ModifierCtrl)
	u.state(0, "exit code 2")
	if got := u.shown(0); !strings.HasSuffix(got, "end") {
		t.Errorf("the terminal shows %q", got)
	}
	u.run("echo ready; read x")
	u.sees(0, "ready")
	u.state(0, "Connected:")
	u.Strike(t, "c", chromedp.ModifierCtrl)
	u.state(0, "exit code 130")
	u.well()
}

func TestWhatTheGatewayLacksIsNotOffered(t *testing.T) {
	t.Parallel()
	u := visit(t, browser.Start(t), start(t, gateway.Options{Without: []string{stdio.FeaturePTY, stdio.FeatureSession}}))
	if fields := browser.Eval[string](t, u.Page, "[...document.querySelectorAll('.request [name]')].filter(e => e.checkVisibility()).map(e => e.name).join(' ')"); fields != "cmd args sandbox" {
		t.Errorf("the fields are %s", fields)
	}
	u.run("read x; echo got $x")
	u.state(0, "Connected: bash.")
	u.Strike(t, "it\r")
	u.sees(0, "got it")
	u.state(0, "exit code 0")
	u.well()
}

func TestAScreenReaderGetsTheOutputAndTheState(t *testing.T) {
	t.Parallel()
	u := visit(t, browser.Start(t), start(t, gateway.Options{}))
	u.Click(t, "#reader")
	u.run(typing)
	u.sees(0, "hello")
	u.Wait(t, "document.querySelector('.xterm-accessibility')?.textContent.includes('hello')")
	u.Strike(t, "heard\r")
	u.Wait(t, "document.querySelector('.xterm [aria-live]')?.textContent.includes('got heard')")
	u.Wait(t, "document.querySelector('[role=status]').textContent.includes('exit code 7')")
	u.AxeAsIs(t)
	u.well()
}
