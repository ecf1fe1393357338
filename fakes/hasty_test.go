package fakes

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assay/fakes/virtual"
)

func TestAHastyReaderLosesTheLastChunkThatStandsInThePipeAtTheExit(t *testing.T) {
	const chunk = 100
	for _, c := range []struct{ name, wrote, want string }{
		{"a short output", "all of it\n", ""},
		{"less than a chunk beyond a full one", strings.Repeat("a", chunk+1), strings.Repeat("a", chunk)},
		{"exactly two chunks", strings.Repeat("a", 2*chunk), strings.Repeat("a", chunk)},
		{"nothing", "", ""},
	} {
		h := newHub(wallClock{}, hubPolicy{})
		s := h.subscribe()
		r := &hastyReader{output: h, clock: wallClock{}, chunk: chunk, hasty: true}
		r.write(virtual.Stdout, []byte(c.wrote))
		r.finish()
		if out, _ := taken(s); out != c.want {
			t.Errorf("%s: %q, want %q", c.name, out, c.want)
		}
	}
}

func TestAHastyReaderLosesNothingOfWhatAProcessWroteBeforeItWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(wallClock{}, hubPolicy{})
		s := h.subscribe()
		r := &hastyReader{output: h, clock: wallClock{}, chunk: 100, hasty: true}
		r.write(virtual.Stdout, []byte("rea"))
		time.Sleep(pipeRest - time.Millisecond)
		r.write(virtual.Stdout, []byte("dy\n"))
		time.Sleep(pipeRest - time.Millisecond)
		synctest.Wait()
		if out, _ := taken(s); out != "" {
			t.Errorf("%q was read before its time", out)
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		r.write(virtual.Stdout, []byte("done\n"))
		r.finish()
		if out, _ := taken(s); out != "ready\n" {
			t.Errorf("%q, want what was written before the wait", out)
		}
	})
}

func TestAHastyReaderOfATerminalLosesNothing(t *testing.T) {
	h := newHub(wallClock{}, hubPolicy{})
	s := h.subscribe()
	r := &hastyReader{output: h, clock: wallClock{}, chunk: 100, hasty: true}
	r.write(virtual.PTY, []byte("$ "))
	r.finish()
	if out, _ := taken(s); out != "$ " {
		t.Errorf("%q", out)
	}
}

func TestAReaderThatIsNotHastyYetPassesEverythingOn(t *testing.T) {
	h := newHub(wallClock{}, hubPolicy{})
	s := h.subscribe()
	r := &hastyReader{output: h, clock: wallClock{}, chunk: 100}
	r.write(virtual.Stdout, []byte("before\n"))
	r.begin()
	r.write(virtual.Stdout, []byte("after\n"))
	r.finish()
	if out, _ := taken(s); out != "before\n" {
		t.Errorf("%q, want what came before", out)
	}
}
