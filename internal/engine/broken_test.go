package engine

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/testkit"
)

// serve handles every connection with f until the test ends.
func serve(t *testing.T, f func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				f(c)
				<-stop
				_ = c.Close()
			}()
		}
	}()
	t.Cleanup(func() {
		close(stop)
		_ = l.Close()
	})
	return "http://" + l.Addr().String()
}

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nTransfer-Encoding: chunked\r\n\r\n"

func TestABrokenServerEndsAScenarioInTime(t *testing.T) {
	read := func(c net.Conn) { _, _ = c.Read(make([]byte, 4096)) } // reads the request
	for name, tc := range map[string]struct {
		answer  func(net.Conn)
		outcome bundle.Outcome
		atOnce  bool // the exchange ends without waiting for the deadline
	}{
		"a server that never answers": {func(net.Conn) {}, bundle.OutcomeNoAnswer, false},
		"a server that stops in the head": {func(c net.Conn) {
			read(c)
			_, _ = c.Write([]byte("HTTP/1.1 20"))
		}, bundle.OutcomeStalled, false},
		"a server that stops in the body": {func(c net.Conn) {
			read(c)
			_, _ = c.Write([]byte(streamHead + "5\r\n\x00\x00"))
		}, bundle.OutcomeStalled, false},
		"a server that sends endless headers": {func(c net.Conn) {
			read(c)
			_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\n"))
			for {
				if _, err := c.Write([]byte("A: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n")); err != nil {
					return
				}
			}
		}, bundle.OutcomeGarbage, true},
		"a server that does not speak HTTP": {func(c net.Conn) {
			read(c)
			_, _ = c.Write([]byte("SSH-2.0-OpenSSH_9.9\r\n"))
		}, bundle.OutcomeGarbage, true},
		"a server that closes": {func(c net.Conn) {
			read(c)
			_ = c.Close()
		}, bundle.OutcomeClosed, true},
		"a server that resets within the stream": {func(c net.Conn) {
			read(c)
			_, _ = c.Write([]byte(streamHead + "5\r\n\x00\x00"))
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		}, bundle.OutcomeReset, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, serve(t, tc.answer))
			run := func(deadline time.Duration) *bundle.Observation {
				return b.run("deadline: " + deadline.String() + "\nsteps: [{start: {as: p, sh: sleep}}, {list: {as: l}}]")
			}
			var o *bundle.Observation
			if tc.atOnce {
				o = run(2 * time.Minute)
			} else {
				o = longer(300*time.Millisecond, run, func(o *bundle.Observation) bool {
					return o.Iterations[0].Exchange("p").Outcome == tc.outcome
				})
			}
			if took := time.Duration(o.Ended.T - o.Started.T); took > time.Minute {
				t.Errorf("it took %v", took)
			}
			it := o.Iterations[0]
			p := it.Exchange("p")
			if p.Outcome != tc.outcome || p.Returned == nil || p.Detail == "" {
				t.Errorf("outcome %q (%s), want %q", p.Outcome, p.Detail, tc.outcome)
			}
			if tc.atOnce {
				return
			}
			if it.Exchange("l") != nil {
				t.Error("a step ran after an unmet wait")
			}
			if len(it.Awaits) != 1 || it.Awaits[0].Met || it.Awaits[0].On != "p" || it.Awaits[0].Step != "steps[0]" {
				t.Errorf("the unmet wait is recorded as %+v", it.Awaits)
			}
		})
	}
}

func TestARefusedConnectionIsRecordedAndTheRestIsNotRun(t *testing.T) {
	t.Parallel()
	addr, _ := testkit.ClosedPort(t)
	b := newBench(t, "http://"+addr)
	b.options.Run.Jobs = 1
	first := instanceOf(parse(t, "steps: [{list: {as: l}}, {list: {as: m}}]"))
	second := instanceOf(parse(t, "id: test.second\nsteps: [{list: {as: l}}]"))
	all := b.start(first, second).Observations()
	x := all[0].Iterations[0].Exchange("l")
	if x == nil || x.Outcome != bundle.OutcomeNoConnect || x.Conn != 0 || all[0].Iterations[0].Conns[0].DialError == "" {
		t.Errorf("the refused call is recorded as %+v", x)
	}
	if s := all[1].Skip; s == nil || s.Reason != bundle.SkipTargetGone {
		t.Errorf("the next scenario: skip %+v, want target-gone", s)
	}
}

func TestASkippedStepLeavesAPidThatNeverCameBehind(t *testing.T) {
	gw := newMiniature(t)
	o := newBench(t, gw.URL).run(`
steps:
  - send: {as: p, rpc: process.Process/Start, message: {}}
  - signal: {to: p, name: SIGKILL}
`)
	it := o.Iterations[0]
	if it.Exchange("signal") != nil {
		t.Error("a signal was sent without a pid")
	}
	if len(it.Awaits) != 1 || it.Awaits[0].What.Kind != bundle.WaitPID || it.Awaits[0].Met {
		t.Errorf("awaits: %+v", it.Awaits)
	}
}

// streamThenSilence starts a process for every client, then sends nothing more.
func streamThenSilence(c net.Conn) {
	p := make([]byte, 4096)
	n, _ := c.Read(p)
	if bytes.Contains(p[:n], []byte(call.ProcessStart)) {
		_, _ = io.WriteString(c, streamHead+"25\r\n\x00\x00\x00\x00\x20"+`{"event":{"start":{"pid":1234}}}`+"\r\n")
	}
}

func TestAnAnswerThatNobodyAskedForIsNotTakenForTheExchanges(t *testing.T) {
	t.Parallel()
	url := serve(t, func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi") })
	// The second side opens its connection at once and sends its request later.
	o := longer(100*time.Millisecond, func(offset time.Duration) *bundle.Observation {
		return newBench(t, url).run(fmt.Sprintf("deadline: %v\nsteps: [{race: {offset: %v, a: {pause: 1ms}, b: {list: {as: l}}}}]\nexpect: {l: {error: aborted}}", 4*offset, offset))
	}, func(o *bundle.Observation) bool { // the response came before the request
		l := o.Iterations[0].Exchange("l")
		return l != nil && (l.Response == nil || l.Response.Head.Before(l.Invoked))
	})
	it := &o.Iterations[0]
	l, early := it.Exchange("l"), it.Exchange("l (unasked)")
	if l == nil || l.Op != "list" || l.Response != nil {
		t.Errorf("the exchange is recorded as %+v", l)
	}
	if early == nil || early.Op != "raw" || early.Response == nil || early.Conn != l.Conn {
		t.Errorf("the early answer is recorded as %+v", early)
	}
}

func TestARequestIsGivenUpWhenItsAnswerIsThereAndItsBodyIsNotTaken(t *testing.T) {
	t.Parallel()
	url := serve(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1024))
		_, _ = io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
	})
	o := newBench(t, url).run("deadline: 20s\nsteps: [{send: {as: s, rpc: process.Process/Start, body: [{repeat: {text: x, times: 16000000}}]}}]")
	s := o.Iterations[0].Exchange("s")
	if s.Outcome != bundle.OutcomeComplete || s.Response.Status != 413 || s.Sent != nil || len(o.Iterations[0].Awaits) != 0 {
		t.Errorf("outcome %q, sent %v, and the deadline was spent: %+v", s.Outcome, s.Sent, o.Iterations[0].Awaits)
	}
}

func TestARequestIsWrittenToItsEndAlthoughItsAnswerIsThere(t *testing.T) {
	t.Parallel()
	url := serve(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 4096))
		_, _ = io.WriteString(c, "HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n")
		_, _ = io.Copy(io.Discard, c)
	})
	o := longer(150*time.Millisecond, func(pause time.Duration) *bundle.Observation {
		return newBench(t, url).patient().run("deadline: 12s\nsteps: [{send: {as: s, rpc: process.Process/List, body: [{text: '{    }'}], split: {at: [2, 4], pause: " + pause.String() + "}, finish: half}}]")
	}, func(o *bundle.Observation) bool { // the response came before the last piece
		s := o.Iterations[0].Exchange("s")
		writes := o.Iterations[0].Conns[0].Writes
		return s.Returned.Before(writes[len(writes)-1].At)
	})
	s := o.Iterations[0].Exchange("s")
	if s.Sent == nil || s.Returned == nil || !s.Returned.Before(*s.Sent) {
		t.Fatalf("sent %v, returned %v: want the whole request sent although the response came first", s.Sent, s.Returned)
	}
}
