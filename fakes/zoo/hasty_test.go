package zoo

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assay/fakes/virtual"
	"assay/internal/testkit"
)

func TestAHastyReaderLosesTheLastChunkThatStandsInThePipeAtTheExit(t *testing.T) {
	t.Parallel()
	const chunk = 100
	for _, c := range []struct{ name, wrote, want string }{
		{"a short output", "all of it\n", ""},
		{"less than a chunk beyond a full one", strings.Repeat("a", chunk+1), strings.Repeat("a", chunk)},
		{"exactly two chunks", strings.Repeat("a", 2*chunk), strings.Repeat("a", chunk)},
		{"nothing", "", ""},
	} {
		h := &taker{}
		r := &hastyReader{Output: h, chunk: chunk, hasty: true}
		r.Write(virtual.Stdout, []byte(c.wrote))
		r.Finish()
		if out := h.taken(); out != c.want {
			t.Errorf("%s: %q, want %q", c.name, out, c.want)
		}
	}
}

func TestAHastyReaderLosesNothingOfWhatAProcessWroteBeforeItWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &taker{}
		r := &hastyReader{Output: h, chunk: 100, hasty: true}
		r.Write(virtual.Stdout, []byte("rea"))
		testkit.Advance(pipeRest - time.Millisecond)
		r.Write(virtual.Stdout, []byte("dy\n"))
		testkit.Advance(pipeRest - time.Millisecond)
		if out := h.taken(); out != "" {
			t.Errorf("%q was read too early", out)
		}
		testkit.Advance(2 * time.Millisecond)
		r.Write(virtual.Stdout, []byte("done\n"))
		r.Finish()
		if out := h.taken(); out != "ready\n" {
			t.Errorf("%q, want what was written before the wait", out)
		}
	})
}

func TestAHastyReaderOfATerminalLosesNothing(t *testing.T) {
	t.Parallel()
	h := &taker{}
	r := &hastyReader{Output: h, chunk: 100, hasty: true}
	r.Write(virtual.PTY, []byte("$ "))
	r.Finish()
	if out := h.taken(); out != "$ " {
		t.Errorf("%q", out)
	}
}

func TestAReaderThatIsNotHastyYetPassesEverythingOn(t *testing.T) {
	t.Parallel()
	h := &taker{}
	r := &hastyReader{Output: h, chunk: 100}
	r.Write(virtual.Stdout, []byte("before\n"))
	r.begin()
	r.Write(virtual.Stdout, []byte("after\n"))
	r.Finish()
	if out := h.taken(); out != "before\n" {
		t.Errorf("%q, want what came before", out)
	}
}

// taker is an Output that keeps what it gets.
type taker struct {
	mu  sync.Mutex
	got strings.Builder
}

func (k *taker) Write(_ virtual.Stream, p []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.got.Write(p)
}

func (*taker) Finish() {}

// taken returns the output since the last call.
func (k *taker) taken() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	defer k.got.Reset()
	return k.got.String()
}
