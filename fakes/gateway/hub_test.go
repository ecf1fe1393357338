package gateway

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assay/fakes/virtual"
	"assay/internal/testkit"
)

// taken takes the queued output of a subscriber and reports it as sent.
func taken(s *Subscriber) (string, bool) {
	var out strings.Builder
	batch, _, lost := s.take()
	for _, c := range batch {
		out.Write(c.Data)
		s.sent(len(c.Data))
	}
	return out.String(), lost
}

func TestAnUnterminatedRestIsSentAfterTwentyMilliseconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(fair{})
		s := h.subscribe()
		h.Write(virtual.Stdout, []byte("par"))
		testkit.Advance(restDelay - time.Millisecond)
		h.Write(virtual.Stdout, []byte("tial"))
		testkit.Advance(restDelay - time.Millisecond)
		if out, _ := taken(s); out != "" {
			t.Errorf("%q arrived before %v after the last byte", out, restDelay)
		}
		testkit.Advance(2 * time.Millisecond)
		if out, _ := taken(s); out != "partial" {
			t.Errorf("got %q, want partial", out)
		}
	})
}

func TestANewSubscriberGetsOnlyNewOutput(t *testing.T) {
	t.Parallel()
	h := newHub(fair{})
	first := h.subscribe()
	h.Write(virtual.Stdout, []byte("old\nold rest"))
	second := h.subscribe()
	h.Write(virtual.Stdout, []byte(" new\n"))
	if out, _ := taken(first); out != "old\nold rest new\n" {
		t.Errorf("the first got %q", out)
	}
	if out, _ := taken(second); out != " new\n" {
		t.Errorf("the second got %q", out)
	}
	if got := string(h.logged()); got != "old\nold rest new\n" {
		t.Errorf("log %q", got)
	}
}

func TestOutputWithoutSubscribersNeverBlocks(t *testing.T) {
	t.Parallel()
	h := newHub(fair{})
	h.subscribe().close()
	for range 100 {
		h.Write(virtual.Stdout, make([]byte, HighWater))
	}
}

func TestAProcessRunsAtThePaceOfItsFastestReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(fair{})
		fast, stuck := h.subscribe(), h.subscribe()
		line := append(bytes.Repeat([]byte("x"), maxLine-1), '\n')
		const total = 3 * maxBacklog
		wrote := make(chan struct{})
		begin := time.Now()
		go func() {
			defer close(wrote)
			for n := 0; n < total; n += len(line) {
				h.Write(virtual.Stdout, line)
			}
		}()
		got := 0
		for got < total {
			<-fast.ready
			out, lost := taken(fast)
			if lost {
				t.Fatal("the reader that keeps up was dropped")
			}
			got += len(out)
		}
		<-wrote
		if took := time.Since(begin); took != 0 {
			t.Errorf("a stuck reader held the others up for %v", took)
		}
		out, lost := taken(stuck)
		if !lost || len(out) == 0 || len(out) > maxBacklog {
			t.Errorf("the stuck reader got %d bytes, lost %v; want a full backlog and then an error", len(out), lost)
		}
	})
}

func TestASlowReaderAloneGetsEveryByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(fair{})
		s := h.subscribe()
		line := append(bytes.Repeat([]byte("y"), maxLine-1), '\n')
		const total = 2 * maxBacklog
		go func() {
			for n := 0; n < total; n += len(line) {
				h.Write(virtual.Stdout, line)
			}
			h.Finish()
			h.end()
		}()
		got := 0
		for {
			<-s.ready
			batch, ended, lost := s.take()
			for _, c := range batch {
				testkit.Advance(100 * time.Millisecond)
				got += len(c.Data)
				s.sent(len(c.Data))
			}
			if lost {
				t.Fatal("a live reader was dropped")
			}
			if ended {
				break
			}
		}
		if got != total {
			t.Errorf("%d bytes, want %d", got, total)
		}
	})
}

func TestADeadReaderHoldsTheProcessUpOnlyForTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(fair{})
		s := h.subscribe()
		begin := time.Now()
		for range 64 {
			h.Write(virtual.Stdout, append(make([]byte, HighWater/2), '\n'))
		}
		if took := time.Since(begin); took != stallGrace {
			t.Errorf("the process was held up for %v, want once %v", took, stallGrace)
		}
		if _, lost := taken(s); !lost {
			t.Error("output beyond the backlog was not reported as lost")
		}
	})
}

func TestAKillFreesAWriterThatWaitsForReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(fair{})
		h.subscribe()
		begin := time.Now()
		time.AfterFunc(time.Second, h.release)
		for range 3 {
			h.Write(virtual.Stdout, append(make([]byte, HighWater), '\n'))
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("the writer was blocked for %v, want 1s until its release", took)
		}
	})
}
