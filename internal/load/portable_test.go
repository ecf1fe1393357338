package load

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// answers writes a text as the answer.
func answers(text string) func(net.Conn) {
	return func(c net.Conn) { _, _ = io.WriteString(c, text) }
}

// then writes a text and does something else.
func then(text string, next func(net.Conn)) func(net.Conn) {
	return func(c net.Conn) {
		_, _ = io.WriteString(c, text)
		next(c)
	}
}

func hangUp(c net.Conn) { _ = c.Close() }

func abort(c net.Conn) {
	_ = c.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
}

// stream is a whole answer of these envelopes.
func answerOf(envelopes ...string) string {
	return streamHead + chunk(strings.Join(envelopes, "")) + lastChunk
}

func TestEveryOutcomeOverHTTP1(t *testing.T) {
	lines := stdout("1\n") + stdout("2\n") + stdout("3\n")
	tests := map[string]struct {
		start   func(net.Conn)
		kill    string
		outcome Outcome
		fate    Fate
		message string
	}{
		"a whole stream":                      {answers(answerOf(startEvent(7), lines, endEvent(0), eos)), killOK, OK, EndedOK, ""},
		"lines in one event":                  {answers(answerOf(startEvent(7), stdout("1\n2\n3\n"), endEvent(0), eos)), killOK, OK, EndedOK, ""},
		"a keepalive and stderr":              {answers(answerOf(startEvent(7), env(0, `{"event":{"keepalive":{}}}`), env(0, `{"event":{"data":{"stderr":"eA=="}}}`), lines, endEvent(0), eos)), killOK, OK, EndedOK, ""},
		"an event nobody knows":               {answers(answerOf(startEvent(7), env(0, `{"event":{"resized":{}, "x":1}}`), lines, endEvent(0), eos)), killOK, OK, EndedOK, ""},
		"an answer until the connection ends": {then("HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\n\r\n"+startEvent(7)+lines+endEvent(0)+eos, hangUp), killOK, OK, EndedOK, ""},
		"a line missing":                      {answers(answerOf(startEvent(7), stdout("1\n3\n"), endEvent(0), eos)), killOK, Corrupt, EndedOK, "a line is missing"},
		"a line doubled":                      {answers(answerOf(startEvent(7), stdout("1\n1\n2\n3\n"), endEvent(0), eos)), killOK, Corrupt, EndedOK, "a line came twice"},
		"the tail missing":                    {answers(answerOf(startEvent(7), stdout("1\n"), endEvent(0), eos)), killOK, Corrupt, EndedOK, "1 of 3 lines"},
		"another exit code":                   {answers(answerOf(startEvent(7), lines, endEvent(3), eos)), killOK, Corrupt, EndedError, "exit code 3"},
		"no base64":                           {answers(answerOf(startEvent(7), env(0, `{"event":{"data":{"stdout":"!!!!"}}}`), endEvent(0), eos)), killOK, Corrupt, EndedOK, "base64"},
		"no JSON":                             {answers(answerOf(startEvent(7), env(0, `{"event":`), endEvent(0), eos)), killOK, Corrupt, EndedOK, "event.json"},
		"a compressed envelope":               {answers(answerOf(startEvent(7), env(1, "x"), endEvent(0), eos)), killOK, Corrupt, EndedOK, "compressed"},
		"reserved flags":                      {answers(answerOf(startEvent(7), env(0x40, "{}"), lines, endEvent(0), eos)), killOK, Corrupt, EndedOK, "flags 0x40"},
		"bytes after the end of stream":       {answers(answerOf(startEvent(7), lines, endEvent(0), eos, "x")), killOK, Corrupt, EndedOK, "bytes follow"},
		"an envelope cut short":               {answers(answerOf(startEvent(7), lines, endEvent(0), "\x02\x00\x00")), killOK, Corrupt, EndedOK, "header bytes"},
		"output before start":                 {answers(answerOf(lines, startEvent(7), endEvent(0), eos)), killOK, Corrupt, EndedOK, "before start"},
		"output after end":                    {answers(answerOf(startEvent(7), stdout("1\n2\n"), endEvent(0), stdout("3\n"), eos)), killOK, Corrupt, EndedOK, "after end"},
		"two ends":                            {answers(answerOf(startEvent(7), lines, endEvent(0), endEvent(0), eos)), killOK, Corrupt, EndedOK, "end comes after end"},
		"two starts":                          {answers(answerOf(startEvent(7), startEvent(8), lines, endEvent(0), eos)), killOK, Corrupt, EndedOK, "second start"},
		"no end event":                        {answers(answerOf(startEvent(7), lines, eos)), killGoneOK, Corrupt, EndedUnseen, "without an end event"},
		"a broken chunk":                      {then(streamHead+chunk(startEvent(7))+"zz\r\n", hangUp), killOK, Corrupt, FateKilled, "http.chunk"},
		"HTTP trailers":                       {answers(streamHead + chunk(startEvent(7)+lines+endEvent(0)+eos) + "0\r\nX-More: 1\r\n\r\n"), killOK, Corrupt, EndedOK, "HTTP trailers"},
		"no end of stream":                    {answers(answerOf(startEvent(7), lines, endEvent(0))), killOK, EOSMissing, EndedOK, "no end of stream"},
		"an error in the end of stream":       {answers(answerOf(startEvent(7), lines, env(2, `{"error":{"code":"internal","message":"boom"}}`))), killGoneOK, ServerError, EndedUnseen, "internal: boom"},
		"an error before start":               {answers(answerOf(env(2, `{"error":{"code":"resource_exhausted"}}`))), killOK, ServerError, NoProcess, "resource_exhausted"},
		"HTTP 500":                            {answers("HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\nboom"), killOK, ServerError, NoProcess, `HTTP 500: "boom"`},
		"a page":                              {answers("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>"), killOK, ServerError, NoProcess, "text/html"},
		"no HTTP":                             {then("SSH-2.0-x\r\n", hangUp), killOK, ServerError, NoProcess, "no HTTP/1.1"},
		"no answer":                           {hangUp, killOK, Reset, NoProcess, "without an answer"},
		"a cut inside the head":               {then("HTTP/1.1 200 OK\r\nContent-", hangUp), killOK, Reset, NoProcess, "inside the answer"},
		"a cut inside a chunk":                {then(streamHead+chunk(startEvent(7))+"ff\r\nabc", hangUp), killOK, Reset, FateKilled, "inside the answer"},
		"a cut after the end of stream":       {then(streamHead+chunk(startEvent(7)+lines+endEvent(0)+eos), hangUp), killOK, Reset, EndedOK, "inside the answer"},
		"a reset":                             {then(streamHead+chunk(startEvent(7)), abort), killOK, Reset, FateKilled, "connection reset"},
		"a reset at once":                     {abort, killOK, Reset, NoProcess, "before the answer"},
		"not a byte":                          {hold, killOK, AcceptStall, NoProcess, "not a byte"},
		"a head only":                         {then(streamHead, hold), killOK, Stall, NoProcess, "no start event"},
		"silence after start":                 {then(streamHead+chunk(startEvent(7)), hold), killOK, Stall, FateKilled, "no event for"},
		"silence after the end event":         {then(streamHead+chunk(startEvent(7)+lines+endEvent(0)), hold), killOK, Stall, EndedOK, "after the end event"},
		"silence after the end of stream":     {then(streamHead+chunk(startEvent(7)+lines+endEvent(0)+eos), hold), killOK, Stall, EndedOK, "after the end event"},
	}
	over := map[string]func(l *Limits){ // the deadlines that end what does not end
		"not a byte":                      func(l *Limits) { l.FirstEvent = soon },
		"a head only":                     func(l *Limits) { l.FirstEvent = later },
		"silence after start":             func(l *Limits) { l.Silence = soon },
		"silence after the end event":     func(l *Limits) { l.End = soon },
		"silence after the end of stream": func(l *Limits) { l.End = soon },
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := testPlan(t, script(t, tt.start, tt.kill))
			if shorten := over[name]; shorten != nil {
				shorten(&p.Limits)
			}
			c := runPlan(t, t.Context(), p)
			wantOutcomes(t, c, map[Outcome]int64{tt.outcome: 1})
			if c.snapshot().fates[tt.fate] != 1 {
				t.Errorf("fates %v, want number %d", c.snapshot().fates, tt.fate)
			}
			message := ""
			if len(c.examples) > 0 {
				message = c.examples[0].Message
			}
			if !strings.Contains(message, tt.message) || (message == "") != (tt.message == "") {
				t.Errorf("message %q, want %q in it", message, tt.message)
			}
		})
	}
}

func TestARefusedConnectionIsAReset(t *testing.T) {
	c := runPlan(t, t.Context(), testPlan(t, "127.0.0.1:1")) // a port that nobody is given
	wantOutcomes(t, c, map[Outcome]int64{Reset: 1})
}

func TestWhatTheMachineCannotHoldIsBlocked(t *testing.T) {
	addr := script(t, then(streamHead+chunk(startEvent(7)), func(net.Conn) {}), killGoneOK)
	p := testPlan(t, addr, func(p *Plan) {
		p.Rate, p.Streams, p.Count, p.MaxOpen, p.Check = 1000, 0, 3, 1, Check{}
		// The first stays open until the others were begun, however late that was.
		p.Duration, p.Limits.Grace, p.Limits.End = 50*time.Millisecond, time.Millisecond, soon
	})
	c := runPlan(t, t.Context(), p)
	if n := c.snapshot().outcomes[Blocked]; n != 2 {
		t.Errorf("%d are blocked, want 2: %v", n, c.examples)
	}
}

// ticking serves a ticker.
func ticking(t *testing.T, kill, end string) (addr string) {
	t.Helper()
	g := &ticker{kill: kill, end: end, live: map[int]chan struct{}{}}
	return listen(t, g.serve)
}

func endless(p *Plan) {
	p.Endless, p.Count, p.Duration, p.Check = true, 0, 100*time.Millisecond, Check{Kind: CheckSequence}
}

func TestWhatIsEndlessIsKilledAtTheEnd(t *testing.T) {
	tests := map[string]struct {
		kill, end string
		outcome   Outcome
		fate      Fate
	}{
		"it ends as it should":               {killOK, chunk(endEvent(-1)+eos) + lastChunk, Killed, FateKilled},
		"it ends without end of stream":      {killOK, chunk(endEvent(-1)) + lastChunk, EOSMissing, FateKilled},
		"it goes on":                         {killOK, "", Stall, FateKilled},
		"it cannot be killed":                {killRefused, "", Cancelled, LeftOpen},
		"it had ended, and nobody killed it": {killGoneOK, chunk(endEvent(0)+eos) + lastChunk, Corrupt, EndedOK},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := runPlan(t, t.Context(), testPlan(t, ticking(t, tt.kill, tt.end), endless, func(p *Plan) {
				if tt.outcome == Stall {
					p.Limits.End = soon
				}
			}))
			wantOutcomes(t, c, map[Outcome]int64{tt.outcome: 1})
			if c.snapshot().fates[tt.fate] != 1 {
				t.Errorf("fates %v, want number %d", c.snapshot().fates, tt.fate)
			}
			if n := c.hist.total[Gap].TotalCount() + c.coalesced.Load(); n < 3 && tt.end != "" { // it was read to its end
				t.Errorf("%d gaps were measured, or not for events that were read together", n)
			}
		})
	}
}

func TestAnInterruptKillsAndReturnsInTime(t *testing.T) {
	t.Run("processes are killed", func(t *testing.T) {
		p := testPlan(t, ticking(t, killOK, chunk(endEvent(-1)+eos)+lastChunk), endless, func(p *Plan) { p.Duration, p.Streams = time.Hour, 5 })
		c := runUntil(t, FirstEvent, 5, p)
		wantOutcomes(t, c, map[Outcome]int64{Killed: 5})
	})
	t.Run("what does not answer is cancelled", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		asked := func(c net.Conn) { stop(); hold(c) }
		p := testPlan(t, script(t, asked, killOK), endless, func(p *Plan) { p.Duration = time.Hour })
		p.Limits.Wind = soon
		c := runPlan(t, ctx, p)
		wantOutcomes(t, c, map[Outcome]int64{Cancelled: 1})
		if c.snapshot().uncertain != 1 {
			t.Error("the process that may have begun is not counted as uncertain")
		}
	})
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	conns := make(chan struct{}, 1000)
	whole := answerOf(startEvent(7), stdout("1\n2\n3\n"), endEvent(0), eos)
	addr := listen(t, func(c net.Conn) {
		conns <- struct{}{}
		serveStarts(c, whole)
	})
	c := runPlan(t, t.Context(), testPlan(t, addr, func(p *Plan) { p.Streams, p.Count = 2, 50 }))
	wantOutcomes(t, c, map[Outcome]int64{OK: 50})
	if n := len(conns); n > 2 {
		t.Errorf("%d connections for 2 streams at a time", n)
	}
	if n := c.hist.total[FirstEvent].TotalCount(); n != 50 {
		t.Errorf("%d first events were measured, want 50", n)
	}
}
