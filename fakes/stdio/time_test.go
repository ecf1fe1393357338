package stdio

import (
	"context"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"assay/internal/testkit"
)

// wantSignal waits for a signal and compares the time since a moment.
func wantSignal(t *testing.T, p *stub, sig syscall.Signal, since time.Time, after time.Duration) {
	t.Helper()
	if got := <-p.signals; got != sig || time.Since(since) != after {
		t.Errorf("%v after %v, want %v after %v", got, time.Since(since), sig, after)
	}
}

func TestAClientThatSendsNothingIsGivenUpAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		began := time.Now()
		c, r := b.raw("cmd=x")
		p := <-b.started
		go func() { // it reads, and answers nothing
			_, _ = io.Copy(io.Discard, r)
			_ = c.Close()
		}()
		wantSignal(t, p, syscall.SIGTERM, began, time.Minute)
		p.exit <- 0
	})
}

func TestAClientThatReadsNothingIsGivenUpAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		began := time.Now()
		c, r := b.raw("cmd=x")
		p := <-b.started
		p.output <- "1" + strings.Repeat("x", 100)
		wantSignal(t, p, syscall.SIGTERM, began, time.Minute)
		all, _ := io.ReadAll(r)
		if !strings.Contains(string(all), "\x03\xf5") {
			t.Errorf("%q has no Close 1013", all)
		}
		_ = c.Close()
		p.exit <- 0
	})
}

func TestTheEndIsKeptForAClientThatComesBackLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		c, r := b.raw("cmd=x")
		p := <-b.started
		p.output <- "1" + strings.Repeat("x", 2*lowWater)
		p.exit <- 0
		testkit.Advance(6 * time.Second) // longer than the closing handshake
		all, _ := io.ReadAll(r)
		if n := strings.Count(string(all), "x"); n != 2*lowWater+1 || !strings.HasSuffix(string(all), `{"type":"exit","code":0}`+"\x88\x02\x03\xe8") {
			t.Errorf("%d bytes, the end is %q", n, all[len(all)-40:])
		}
		_ = c.Close()
	})
}

func TestAClientThatAnswersPingsMayBeIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		c := b.attach("cmd=x")
		p := <-b.started
		time.AfterFunc(24*time.Hour, func() { p.exit <- 7 })
		if _, texts, code := received(c); code != 1000 || len(texts) != 1 || texts[0] != `{"type":"exit","code":7}` {
			t.Errorf("%q, Close %d", texts, code)
		}
	})
}

func TestAClientIsNotGivenUpWhileTheProcessDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		c := b.attach("cmd=x")
		p := <-b.started
		go func() {
			for range 5 {
				_ = c.Write(context.Background(), websocket.MessageBinary, make([]byte, 1<<20))
			}
		}()
		testkit.Advance(time.Hour)
		got := 0
		for got < 5<<20 {
			got += len(<-p.stdin)
		}
		p.exit <- 0
		if _, _, code := received(c); code != 1000 {
			t.Errorf("Close %d", code)
		}
	})
}

func TestATerminalIsHungUp5SecondsBehindSIGTERM(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		c := b.attach("cmd=x&pty=1")
		p := <-b.started
		began := time.Now()
		_ = c.CloseNow()
		wantSignal(t, p, syscall.SIGTERM, began, 0)
		wantSignal(t, p, syscall.SIGHUP, began, 5*time.Second)
		p.exit <- 0
	})
}

func TestANamedSessionLivesAMinuteBehindItsLastClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		c := b.attach("cmd=x&session=s")
		p := <-b.started
		_ = c.CloseNow()
		testkit.Advance(59 * time.Second)
		c = b.attach("cmd=x&session=s")
		c.CloseRead(context.Background()) // it answers pings
		testkit.Advance(10 * time.Minute)
		if len(p.signals) > 0 {
			t.Errorf("%v", <-p.signals)
		}
		began := time.Now()
		_ = c.CloseNow()
		wantSignal(t, p, syscall.SIGTERM, began, time.Minute)
		p.exit <- 0
		b.attach("cmd=y&session=s")
		if p := <-b.started; p.command.Cmd != "y" {
			t.Errorf("%+v", p.command)
		} else {
			p.exit <- 0
		}
	})
}

func TestTheEndOfADetachedSessionIsKeptForTheRestOfItsMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		c := b.attach("cmd=x&session=s")
		p := <-b.started
		p.output <- "1last words"
		_ = c.CloseNow()
		testkit.Advance(30 * time.Second)
		p.exit <- 5
		testkit.Advance(29 * time.Second)
		out, texts, code := received(b.attach("session=s"))
		if out != "last words" || len(texts) != 1 || texts[0] != `{"type":"exit","code":5}` || code != 1000 {
			t.Errorf("%q %q, Close %d", out, texts, code)
		}
		testkit.Advance(61 * time.Second)
		b.attach("cmd=y&session=s")
		(<-b.started).exit <- 0
	})
}

func TestLostOutputEndsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		c := b.attach("cmd=x&session=s")
		p := <-b.started
		p.exit <- -1
		if _, texts, code := received(c); code != 1013 || len(texts) > 0 {
			t.Errorf("%q, Close %d", texts, code)
		}
		b.attach("cmd=y&session=s") // the name is free
		(<-b.started).exit <- 0
	})
}

func TestMessagesBehindTheEndOfTheProcessDoNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		c, r := b.raw("cmd=x")
		p := <-b.started
		for range 2 {
			p.output <- "1" + strings.Repeat("x", 2*lowWater) // the client has not seen the end yet
		}
		p.exit <- 0
		synctest.Wait()
		for _, text := range []string{`{"type":"open","pane":"late","cmd":"y"}`, `{"type":"stdin","pane":"main","data":"x"}`, `{"type":"eof"}`, `{"type":"signal","signal":"SIGINT"}`} {
			_, _ = c.Write(append([]byte{0x81, 0x80 | byte(len(text)), 0, 0, 0, 0}, text...))
		}
		synctest.Wait()
		if len(b.started) > 0 || len(p.signals) > 0 {
			t.Error("a message had an effect")
		}
		all := make([]byte, 4*lowWater+1024)
		n, _ := io.ReadAtLeast(r, all, 4*lowWater+2*11+26) // two frames of output with 11 bytes more, and the exit message
		if rest := string(all[n-40 : n]); !strings.Contains(rest, `{"type":"exit","code":0}`) || strings.Contains(string(all[:n]), "error") {
			t.Errorf("the end is %q", rest)
		}
		_ = c.Close()
	})
}
