package gateway

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

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
