package gateway

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/coder/websocket"
)

func TestASessionOutlivesItsClientAndReplaysItsOutput(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	query := sh("echo one; echo two >&2; read x; echo got $x; read y; echo got $y; exit 3", "session", "a.B-9_")
	first := dialAttach(t, g, query...)
	first.until("one\n")
	first.untilOn(2, "two\n")
	_ = first.CloseNow()

	second := dialAttach(t, g, query...) // the same URL starts nothing
	second.until("one\n")
	second.untilOn(2, "two\n")
	second.stdin("it\n")
	second.until("got it\n")
	if err := second.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
	third := dialAttach(t, g, "session", "a.B-9_")
	third.stdin("more\n")
	third.rest().wantEnd("3")
	if got := string(third.out[1]); got != "one\ngot it\ngot more\n" {
		t.Errorf("%q", got)
	}
	late := dialAttach(t, g, query...).rest() // it has ended, and is not started anew
	late.wantEnd("3")
	if got := string(late.out[1]); got != "one\ngot it\ngot more\n" || string(late.out[2]) != "two\n" {
		t.Errorf("%q", got)
	}
	wantBooks(t, g, 1, 0, 1, 0, 0)
}

func TestReplayAndLiveOutputHaveNoGap(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	const lines = 20000
	query := sh(fmt.Sprintf("read x; seq 1 %d", lines), "session", "s")
	first := dialAttach(t, g, query...)
	first.stdin("go\n")
	first.until("1\n")
	var all sync.WaitGroup
	for range 8 { // they join while it prints
		all.Go(func() {
			c := dialAttach(t, g, query...).rest()
			c.wantEnd("0")
			got := strings.Split(strings.TrimSuffix(string(c.out[1]), "\n"), "\n")
			var n int
			_, _ = fmt.Sscan(got[0], &n)
			for i, line := range got {
				if i > 0 && line != strconv.Itoa(n+i) { // the first may be cut
					t.Errorf("line %d is %q, want %d", i, line, n+i)
					return
				}
			}
			if n+len(got)-1 != lines && len(got) > 1 {
				t.Errorf("the last is %s", got[len(got)-1])
			}
		})
	}
	first.rest().wantEnd("0")
	all.Wait()
	wantBooks(t, g, 1, 1, 0, 0, 0)
}

func TestADetachedProcessRunsOnAndOnlyTheEndOfItsOutputIsKept(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	query := sh("read x; yes 0123456 | head -c 4000000; echo end", "session", "s")
	first := dialAttach(t, g, query...)
	_, s := theOnly(t, g)
	first.stdin("go\n")
	first.until("0")
	_ = first.CloseNow()
	if got := endOf(t, s); got != "exit status 0" {
		t.Error(got)
	}
	dialAttach(t, g, query...).rest().wantEnd("0") // now the session, too, has all of the output
	c := dialAttach(t, g, query...).rest()
	c.wantEnd("0")
	if n := len(c.out[1]); n < 128<<10 || n > 256<<10 || !strings.HasSuffix(string(c.out[1]), "123456\nend\n") {
		t.Errorf("%d bytes", n)
	}
}

func TestADetachedSessionGetsSIGTERMAfterAMinuteAndItsNameIsFree(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{ClockScale: 60}) // a minute is a second
	c := dialAttach(t, g, sh("echo $$; exec sleep 1000", "session", "s")...)
	p := g.table.List()[0]
	c.until("\n")
	_ = c.CloseNow()
	untilNothingRuns(t, g)
	if got := p.Status().Signal; got != syscall.SIGTERM {
		t.Error(got)
	}
	wantBooks(t, g, 1, 0, 0, 1, 0)
	again := dialAttach(t, g, sh("echo new", "session", "s")...).rest()
	if string(again.out[1]) != "new\n" {
		t.Errorf("%q", again.out[1])
	}
}

func TestManyAttachesOfOneSessionStartOneProcess(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			c := dialAttach(t, g, sh("read x; echo got $x", "session", "s")...)
			c.stdin("it\n")
			c.rest().wantEnd("0")
			if string(c.out[1]) != "got it\n" {
				t.Errorf("%q", c.out[1])
			}
		})
	}
	all.Wait()
	wantBooks(t, g, 1, 1, 0, 0, 0)
}

func TestRolesDecideWhoSendsInput(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	query := func(role string) []string {
		return sh("while read x; do echo got $x; done", "session", "s", "role", role)
	}
	driver := dialAttach(t, g, query("driver")...)
	viewer, helper := dialAttach(t, g, query("viewer")...), dialAttach(t, g, query("collaborative")...)
	for i, c := range []*wsClient{driver, helper} {
		c.stdin(fmt.Sprintf("%d\n", i))
		for _, all := range []*wsClient{driver, viewer, helper} {
			all.until(fmt.Sprintf("got %d\n", i))
		}
	}
	const refused = `{"type":"error","message":"a viewer sends no input"}`
	viewer.stdin("spy\n")
	if got := viewer.untilText(); got != refused {
		t.Error(got)
	}
	for _, text := range []string{`{"type":"signal","signal":"SIGKILL"}`, `{"type":"eof"}`, `{"type":"resize","cols":1,"rows":1}`, `{"type":"stdin","pane":"main","data":"x"}`, `{"type":"open","pane":"left","cmd":"true"}`} {
		viewer.text(text)
		if got := viewer.untilText(); got != refused {
			t.Errorf("%s: %s", text, got)
		}
	}
	other := dialAttach(t, g, query("driver")...)
	other.until("got 1\n")
	if got := driver.untilText(); got != `{"type":"error","message":"another client is the driver now: this one is a viewer"}` {
		t.Error(got)
	}
	driver.stdin("old\n")
	if got := driver.untilText(); got != refused {
		t.Error(got)
	}
	_ = viewer.CloseNow()
	other.stdin("new\n")
	other.text(`{"type":"eof"}`)
	for _, c := range []*wsClient{other, driver, helper} {
		c.texts = nil
		c.rest().wantEnd("0")
		if got := string(c.out[1]); got != "got 0\ngot 1\ngot new\n" {
			t.Errorf("%q", got)
		}
	}
}

func TestASlowViewerDelaysNobodyAndIsGivenUp(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	const size = 30_000_000
	query := sh(fmt.Sprintf("read x; yes %s | head -c %d", strings.Repeat("x", 500), size), "session", "s")
	first := dialAttach(t, g, query...)
	slow := attachRaw(t, g, append(query, "role", "viewer")...)
	first.stdin("go\n")
	first.rest().wantEnd("0")
	if len(first.out[1]) != size {
		t.Errorf("%d bytes", len(first.out[1]))
	}
	wantClose(t, "a viewer that is behind", slow, 1013)
}

func TestPanesAreFurtherProcesses(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c := dialAttach(t, g, sh("read x; echo main $x; sleep 1000", "session", "s")...)
	c.text(`{"type":"open","pane":"left","cmd":"sh","args":["-c","read x; echo left $x; echo err >&2; read y; exit 4"]}`)
	if got := c.untilText(); got != `{"type":"opened","pane":"left","stdout":3,"stderr":4}` {
		t.Fatal(got)
	}
	c.text(`{"type":"open","pane":"term","cmd":"sh","args":["-c","stty size; read x; stty size; exec sleep 1000"],"pty":true,"cols":7,"rows":8}`)
	if got := c.untilText(); got != `{"type":"opened","pane":"term","stdout":5,"stderr":6}` {
		t.Fatal(got)
	}
	wantBooks(t, g, 3, 0, 0, 0, 3)
	c.untilOn(5, "8 7\r\n")
	c.text(`{"type":"resize","pane":"term","cols":9,"rows":10}`)
	c.text(`{"type":"stdin","pane":"term","data":"\r"}`)
	c.text(`{"type":"stdin","pane":"left","data":"päne\n"}`)
	c.text(`{"type":"stdin","pane":"main","data":"da"}`)
	c.stdin("ta\n")
	c.untilOn(3, "left päne\n")
	c.untilOn(4, "err\n")
	c.untilOn(5, "10 9\r\n")
	c.untilOn(1, "main data\n")
	c.text(`{"type":"stdin","pane":"left","data":"\n"}`)
	if got := c.untilText(); got != `{"type":"closed","pane":"left","code":4}` {
		t.Error(got)
	}
	for sent, want := range map[string]string{
		`{"type":"stdin","pane":"left","data":"x"}`:                          `stdin: no pane \"left\"`,
		`{"type":"open","pane":"term","cmd":"true"}`:                         `open: pane \"term\" is open`,
		`{"type":"open","pane":"a b","cmd":"true"}`:                          `open: pane must have 1 to 64 characters, of A-Z a-z 0-9 . _ -`,
		`{"type":"open","pane":"x","cmd":""}`:                                `open: cmd is missing or empty`,
		`{"type":"open","pane":"x","cmd":"true","args":"x"}`:                 `open: args must be an array of at most 256 strings`,
		`{"type":"open","pane":"x","cmd":"true","args":["\u0000"]}`:          `open: invalid argument`,
		`{"type":"open","pane":"x","cmd":"true","pty":1}`:                    `open: pty must be true or false`,
		`{"type":"open","pane":"x","cmd":"sh","pty":true,"rows":0,"cols":1}`: `open: rows must be an integer from 1 to 65535`,
	} {
		c.text(sent)
		if got := c.untilText(); got != `{"type":"error","message":"`+want+`"}` {
			t.Errorf("%s: %s", sent, got)
		}
	}
	late := dialAttach(t, g, "session", "s")
	late.untilOn(3, "left päne\n")
	late.untilOn(1, "main data\n")
	want := []string{`{"type":"opened","pane":"left","stdout":3,"stderr":4}`, `{"type":"opened","pane":"term","stdout":5,"stderr":6}`, `{"type":"closed","pane":"left","code":4}`}
	for len(late.texts) < len(want) {
		late.untilText()
	}
	if strings.Join(late.texts, "\n") != strings.Join(want, "\n") {
		t.Errorf("replayed %q", late.texts)
	}
	term := g.table.List()[1]
	s := connectTo(t, g, term.PID)
	c.texts = nil
	c.text(`{"type":"signal","signal":"SIGKILL"}`)
	c.rest().wantEnd("137")
	if got := endOf(t, s); got != "signal: terminated" {
		t.Error(got)
	}
}

func TestASessionWithoutANameHasPanesToo(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c := dialAttach(t, g, "cmd", "cat")
	c.text(`{"type":"open","pane":"left","cmd":"cat"}`)
	c.untilText()
	wantBooks(t, g, 2, 0, 0, 0, 2)
	s := connectTo(t, g, g.table.List()[0].PID)
	pane := connectTo(t, g, g.table.List()[1].PID)
	_ = c.CloseNow()
	endOf(t, s)
	endOf(t, pane)
	wantBooks(t, g, 2, 0, 0, 2, 0)
}

func TestASessionHasLimits(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c := dialAttach(t, g, "cmd", "cat", "session", "s")
	for i := range 16 {
		c.text(fmt.Sprintf(`{"type":"open","pane":"p%d","cmd":"cat"}`, i))
		got := c.untilText()
		if opened := strings.HasPrefix(got, `{"type":"opened"`); opened != (i < 15) {
			t.Errorf("pane %d: %s", i, got)
		}
	}
	for range 63 {
		dialAttach(t, g, "session", "s")
	}
	if a := upgrade(t, g, "session=s", ""); a.Status != 503 {
		t.Errorf("client 65: %d", a.Status)
	}
}
