package portable_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/load"
	"assay/internal/load/fast"
	"assay/internal/load/loadtest"
	"assay/internal/load/portable"
	"assay/internal/record/bundle"
)

// engines returns every driver of this system.
func engines() []load.Engine {
	if fast.Available() {
		return []load.Engine{portable.Engine{}, fast.Engine{}}
	}
	return []load.Engine{portable.Engine{}}
}

// each runs a test with every driver of this system.
func each(t *testing.T, test func(t *testing.T, e load.Engine)) {
	t.Helper()
	for _, e := range engines() {
		t.Run(e.Name(), func(t *testing.T) { test(t, e) })
	}
}

// together runs a plan with every driver at the same time.
func together(t *testing.T, plan func() *load.Plan) []*loadtest.Tally {
	t.Helper()
	all := make([]*loadtest.Tally, len(engines()))
	var running sync.WaitGroup
	for i, e := range engines() {
		p := plan()
		running.Go(func() { all[i] = loadtest.Drive(t.Context(), t, e, p) })
	}
	running.Wait()
	return all
}

// alike compares the facts on which all drivers must agree.
func alike(t *testing.T, all []*loadtest.Tally) {
	t.Helper()
	for i, c := range all {
		if a, b := all[0].Facts(), c.Facts(); a != b {
			t.Errorf("the drivers differ:\n%-8s %s\n         %q\n%-8s %s\n         %q", engines()[0].Name(), a, all[0].Messages(), engines()[i].Name(), b, c.Messages())
		}
	}
}

// eachWay runs a test with every driver, in clear and over the newest TLS. The comparison of the
// drivers also has older TLS.
func eachWay(t *testing.T, test func(t *testing.T, w loadtest.Way, e load.Engine)) {
	t.Helper()
	for _, w := range loadtest.Ways()[:2] {
		t.Run(w.Name, func(t *testing.T) {
			each(t, func(t *testing.T, e load.Engine) { test(t, w, e) })
		})
	}
}

// keepAlive is a keepalive event.
var keepAlive = loadtest.Env(0, `{"event":{"keepalive":{}}}`)

// keepsAlive sends keepalive events until the client has gone.
func keepsAlive(c net.Conn) {
	for tick := time.NewTicker(loadtest.Soon / 10); ; <-tick.C {
		if _, err := io.WriteString(c, loadtest.Chunk(keepAlive)); err != nil {
			tick.Stop()
			return
		}
	}
}

func TestEveryOutcomeOverHTTP1(t *testing.T) {
	lines := loadtest.Stdout("1\n") + loadtest.Stdout("2\n") + loadtest.Stdout("3\n")
	tests := map[string]struct {
		start   func(net.Conn)
		kill    string
		outcome bundle.StreamOutcome
		fate    load.Fate
		message string
	}{
		"a whole stream":                   {loadtest.Answers(loadtest.AnswerOf(loadtest.StartEvent(7), lines, loadtest.EndEvent(0), loadtest.EOS)), loadtest.KillOK, bundle.StreamOK, load.EndedOK, ""},
		"lines in one event":               {loadtest.Answers(loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Stdout("1\n2\n3\n"), loadtest.EndEvent(0), loadtest.EOS)), loadtest.KillOK, bundle.StreamOK, load.EndedOK, ""},
		"a keepalive and stderr":           {loadtest.Answers(loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0, `{"event":{"keepalive":{}}}`), loadtest.Env(0, `{"event":{"data":{"stderr":"eA=="}}}`), lines, loadtest.EndEvent(0), loadtest.EOS)), loadtest.KillOK, bundle.StreamOK, load.EndedOK, ""},
		"an unknown event":                 {loadtest.Answers(loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0, `{"event":{"resized":{}, "x":1}}`), lines, loadtest.EndEvent(0), loadtest.EOS)), loadtest.KillOK, bundle.StreamOK, load.EndedOK, ""},
		"a keepalive after the end":        {loadtest.Answers(loadtest.AnswerOf(loadtest.StartEvent(7), lines, loadtest.EndEvent(0), keepAlive, loadtest.Env(0, `{"event":{"resized":{}}}`), loadtest.EOS)), loadtest.KillOK, bundle.StreamOK, load.EndedOK, ""},
		"output after the end":             {loadtest.Answers(loadtest.AnswerOf(loadtest.StartEvent(7), lines, loadtest.EndEvent(0), loadtest.Stdout("4\n"), loadtest.EOS)), loadtest.KillOK, bundle.StreamCorrupt, load.EndedOK, "data comes after end"},
		"a body until the connection ends": {loadtest.Then("HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\n\r\n"+loadtest.StartEvent(7)+lines+loadtest.EndEvent(0)+loadtest.EOS, loadtest.HangUp), loadtest.KillOK, bundle.StreamOK, load.EndedOK, ""},
		"a line missing":                   {loadtest.Answers(loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Stdout("1\n3\n"), loadtest.EndEvent(0), loadtest.EOS)), loadtest.KillOK, bundle.StreamCorrupt, load.EndedOK, "a line is missing"},
		"a line doubled":                   {loadtest.Answers(loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Stdout("1\n1\n2\n3\n"), loadtest.EndEvent(0), loadtest.EOS)), loadtest.KillOK, bundle.StreamCorrupt, load.EndedOK, "a line came twice"},
		"the tail missing":                 {loadtest.Answers(loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Stdout("1\n"), loadtest.EndEvent(0), loadtest.EOS)), loadtest.KillOK, bundle.StreamCorrupt, load.EndedOK, "1 of 3 lines"},
		"another exit code":                {loadtest.Answers(loadtest.AnswerOf(loadtest.StartEvent(7), lines, loadtest.EndEvent(3), loadtest.EOS)), loadtest.KillOK, bundle.StreamCorrupt, load.EndedError, "exit code 3"},
		"not base64":                       {loadtest.Answers(loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0, `{"event":{"data":{"stdout":"!!!!"}}}`), loadtest.EndEvent(0), loadtest.EOS)), loadtest.KillOK, bundle.StreamCorrupt, load.EndedOK, "base64"},
		"not JSON":                         {loadtest.Answers(loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0, `{"event":`), loadtest.EndEvent(0), loadtest.EOS)), loadtest.KillOK, bundle.StreamCorrupt, load.EndedOK, "event.json"},
		"a compressed envelope":            {loadtest.Answers(loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(1, "x"), loadtest.EndEvent(0), loadtest.EOS)), loadtest.KillOK, bundle.StreamCorrupt, load.EndedOK, "compressed"},
		"reserved flags":                   {loadtest.Answers(loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Env(0x40, "{}"), lines, loadtest.EndEvent(0), loadtest.EOS)), loadtest.KillOK, bundle.StreamCorrupt, load.EndedOK, "flags are 0x40"},
		"bytes after the end of stream":    {loadtest.Answers(loadtest.AnswerOf(loadtest.StartEvent(7), lines, loadtest.EndEvent(0), loadtest.EOS, "x")), loadtest.KillOK, bundle.StreamCorrupt, load.EndedOK, "bytes follow"},
		"an envelope cut short":            {loadtest.Answers(loadtest.AnswerOf(loadtest.StartEvent(7), lines, loadtest.EndEvent(0), "\x02\x00\x00")), loadtest.KillOK, bundle.StreamCorrupt, load.EndedOK, "inside an envelope"},
		"output before start":              {loadtest.Answers(loadtest.AnswerOf(lines, loadtest.StartEvent(7), loadtest.EndEvent(0), loadtest.EOS)), loadtest.KillOK, bundle.StreamCorrupt, load.EndedOK, "before start"},
		"output after end":                 {loadtest.Answers(loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Stdout("1\n2\n"), loadtest.EndEvent(0), loadtest.Stdout("3\n"), loadtest.EOS)), loadtest.KillOK, bundle.StreamCorrupt, load.EndedOK, "after end"},
		"two ends":                         {loadtest.Answers(loadtest.AnswerOf(loadtest.StartEvent(7), lines, loadtest.EndEvent(0), loadtest.EndEvent(0), loadtest.EOS)), loadtest.KillOK, bundle.StreamCorrupt, load.EndedOK, "end comes after end"},
		"two starts":                       {loadtest.Answers(loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.StartEvent(8), lines, loadtest.EndEvent(0), loadtest.EOS)), loadtest.KillOK, bundle.StreamCorrupt, load.EndedOK, "second start"},
		"no end event":                     {loadtest.Answers(loadtest.AnswerOf(loadtest.StartEvent(7), lines, loadtest.EOS)), loadtest.KillGone, bundle.StreamCorrupt, load.EndedUnseen, "without an end event"},
		"a broken chunk":                   {loadtest.Then(loadtest.StreamHead+loadtest.Chunk(loadtest.StartEvent(7))+"zz\r\n", loadtest.HangUp), loadtest.KillOK, bundle.StreamCorrupt, load.FateKilled, "chunk"},
		"HTTP trailers":                    {loadtest.Answers(loadtest.StreamHead + loadtest.Chunk(loadtest.StartEvent(7)+lines+loadtest.EndEvent(0)+loadtest.EOS) + "0\r\nX-More: 1\r\n\r\n"), loadtest.KillOK, bundle.StreamCorrupt, load.EndedOK, "HTTP trailers"},
		"no end of stream":                 {loadtest.Answers(loadtest.AnswerOf(loadtest.StartEvent(7), lines, loadtest.EndEvent(0))), loadtest.KillOK, bundle.StreamEOSMissing, load.EndedOK, "no end of stream"},
		"an error in the end of stream":    {loadtest.Answers(loadtest.AnswerOf(loadtest.StartEvent(7), lines, loadtest.Env(2, `{"error":{"code":"internal","message":"boom"}}`))), loadtest.KillGone, bundle.StreamServerError, load.EndedUnseen, "internal: boom"},
		"an error before start":            {loadtest.Answers(loadtest.AnswerOf(loadtest.Env(2, `{"error":{"code":"resource_exhausted"}}`))), loadtest.KillOK, bundle.StreamServerError, load.NoProcess, "resource_exhausted"},
		"HTTP 500":                         {loadtest.Answers("HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\nboom"), loadtest.KillOK, bundle.StreamServerError, load.NoProcess, `HTTP 500: "boom"`},
		"a page":                           {loadtest.Answers("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>"), loadtest.KillOK, bundle.StreamServerError, load.NoProcess, "text/html"},
		"not HTTP":                         {loadtest.Then("SSH-2.0-x\r\n", loadtest.HangUp), loadtest.KillOK, bundle.StreamServerError, load.NoProcess, "not HTTP/1.1"},
		"no response":                      {loadtest.HangUp, loadtest.KillOK, bundle.StreamReset, load.NoProcess, "without a response"},
		"a cut inside the head":            {loadtest.Then("HTTP/1.1 200 OK\r\nContent-", loadtest.HangUp), loadtest.KillOK, bundle.StreamReset, load.NoProcess, "during the response"},
		"a cut inside a chunk":             {loadtest.Then(loadtest.StreamHead+loadtest.Chunk(loadtest.StartEvent(7))+"ff\r\nabc", loadtest.HangUp), loadtest.KillOK, bundle.StreamReset, load.FateKilled, "during the response"},
		"a cut after the end of stream":    {loadtest.Then(loadtest.StreamHead+loadtest.Chunk(loadtest.StartEvent(7)+lines+loadtest.EndEvent(0)+loadtest.EOS), loadtest.HangUp), loadtest.KillOK, bundle.StreamReset, load.EndedOK, "during the response"},
		"a reset":                          {loadtest.Then(loadtest.StreamHead+loadtest.Chunk(loadtest.StartEvent(7)), loadtest.Abort), loadtest.KillOK, bundle.StreamReset, load.FateKilled, "connection reset"},
		"a reset at once":                  {loadtest.Abort, loadtest.KillOK, bundle.StreamReset, load.NoProcess, "before the response"},
		"no byte":                          {loadtest.Hold, loadtest.KillOK, bundle.StreamAcceptStall, load.NoProcess, "no byte"},
		"a head only":                      {loadtest.Then(loadtest.StreamHead, loadtest.Hold), loadtest.KillOK, bundle.StreamStall, load.NoProcess, "no start event"},
		"silence after start":              {loadtest.Then(loadtest.StreamHead+loadtest.Chunk(loadtest.StartEvent(7)), loadtest.Hold), loadtest.KillOK, bundle.StreamStall, load.FateKilled, "no output for"},
		"keepalives instead of output":     {loadtest.Then(loadtest.StreamHead+loadtest.Chunk(loadtest.StartEvent(7)), keepsAlive), loadtest.KillOK, bundle.StreamStall, load.FateKilled, "no output for"},
		"silence after the end event":      {loadtest.Then(loadtest.StreamHead+loadtest.Chunk(loadtest.StartEvent(7)+lines+loadtest.EndEvent(0)), loadtest.Hold), loadtest.KillOK, bundle.StreamStall, load.EndedOK, "after the end event"},
		"silence after the end of stream":  {loadtest.Then(loadtest.StreamHead+loadtest.Chunk(loadtest.StartEvent(7)+lines+loadtest.EndEvent(0)+loadtest.EOS), loadtest.Hold), loadtest.KillOK, bundle.StreamStall, load.EndedOK, "after the end event"},
	}
	over := map[string]func(p *load.Plan){ // the deadlines that end the silent streams
		"no byte":                         func(p *load.Plan) { p.Limits.FirstEvent = loadtest.Soon },
		"a head only":                     func(p *load.Plan) { p.Limits.FirstEvent = loadtest.Later },
		"silence after start":             func(p *load.Plan) { p.Classes[0].Silence = loadtest.Soon },
		"keepalives instead of output":    func(p *load.Plan) { p.Classes[0].Silence = loadtest.Soon },
		"silence after the end event":     func(p *load.Plan) { p.Limits.End = loadtest.Soon },
		"silence after the end of stream": func(p *load.Plan) { p.Limits.End = loadtest.Soon },
	}
	for name, tt := range tests {
		for _, w := range loadtest.Ways() {
			t.Run(name+", "+w.Name, func(t *testing.T) {
				t.Parallel()
				addr := loadtest.Script(t, tt.start, tt.kill, w)
				all := together(t, func() *load.Plan {
					p := loadtest.Plan(t, addr, w.Plan)
					if shorten := over[name]; shorten != nil {
						shorten(p)
					}
					return p
				})
				alike(t, all)
				for _, c := range all {
					c.Want(t, map[bundle.StreamOutcome]int64{tt.outcome: 1})
					if c.Fates()[tt.fate] != 1 {
						t.Errorf("fates %v, want number %d", c.Fates(), tt.fate)
					}
					if m := c.Message(); !strings.Contains(m, tt.message) || (m == "") != (tt.message == "") {
						t.Errorf("message %q, want %q in it", m, tt.message)
					}
				}
			})
		}
	}
}

func TestWhatTheMachineCannotHoldIsBlocked(t *testing.T) {
	addr := loadtest.Script(t, loadtest.Then(loadtest.StreamHead+loadtest.Chunk(loadtest.StartEvent(7)), func(net.Conn) {}), loadtest.KillGone)
	p := loadtest.Plan(t, addr, func(p *load.Plan) {
		p.Rate, p.Streams, p.Count, p.MaxOpen, p.Classes[0].Check = 1000, 0, 3, 1, load.Check{}
		// The first stays open until the others have begun, however late.
		p.Duration, p.Limits.Grace, p.Limits.End = 50*time.Millisecond, time.Millisecond, loadtest.Soon
	})
	each(t, func(t *testing.T, e load.Engine) {
		c := loadtest.Drive(t.Context(), t, e, p)
		if n := c.Outcomes()[bundle.StreamBlocked]; n != 2 {
			t.Errorf("%d are blocked, want 2: %q", n, c.Messages())
		}
	})
}

// ticking serves a loadtest.Ticker.
func ticking(t *testing.T, kill, end string, way ...loadtest.Way) (addr string) {
	t.Helper()
	g := &loadtest.Ticker{Kill: kill, End: end}
	return loadtest.Listen(t, g.Serve, way...)
}

func TestWhatIsEndlessIsKilledAtTheEnd(t *testing.T) {
	tests := map[string]struct {
		kill, end string
		outcome   bundle.StreamOutcome
		fate      load.Fate
	}{
		"it ends well":                  {loadtest.KillOK, loadtest.Chunk(loadtest.EndEvent(-1)+loadtest.EOS) + loadtest.LastChunk, bundle.StreamKilled, load.FateKilled},
		"it ends without end of stream": {loadtest.KillOK, loadtest.Chunk(loadtest.EndEvent(-1)) + loadtest.LastChunk, bundle.StreamEOSMissing, load.FateKilled},
		"it goes on":                    {loadtest.KillOK, "", bundle.StreamStall, load.FateKilled},
		"it cannot be killed":           {loadtest.KillRefused, "", bundle.StreamCancelled, load.LeftOpen},
		"it ended by itself":            {loadtest.KillGone, loadtest.Chunk(loadtest.EndEvent(0)+loadtest.EOS) + loadtest.LastChunk, bundle.StreamCorrupt, load.EndedOK},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(t *testing.T, w loadtest.Way, e load.Engine) {
				t.Parallel()
				c := loadtest.Drive(t.Context(), t, e, loadtest.Plan(t, ticking(t, tt.kill, tt.end, w), loadtest.Endless, w.Plan, func(p *load.Plan) {
					if tt.outcome == bundle.StreamStall {
						p.Limits.End = loadtest.Soon
					}
				}))
				c.Want(t, map[bundle.StreamOutcome]int64{tt.outcome: 1})
				if c.Fates()[tt.fate] != 1 {
					t.Errorf("fates %v, want number %d", c.Fates(), tt.fate)
				}
				if n := len(c.Values[load.Gap]) + c.Vague; n < 3 && tt.end != "" { // the stream was read to its end
					t.Errorf("%d gaps were measured or unknown, want 3 or more", n)
				}
			})
		})
	}
}

func TestAnInterruptKillsAndReturnsInTime(t *testing.T) {
	each(t, func(t *testing.T, e load.Engine) {
		t.Run("processes are killed", func(t *testing.T) {
			p := loadtest.Plan(t, ticking(t, loadtest.KillOK, loadtest.Chunk(loadtest.EndEvent(-1)+loadtest.EOS)+loadtest.LastChunk), loadtest.Endless,
				func(p *load.Plan) { p.Duration, p.Streams = time.Hour, 5 })
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			c := loadtest.NewTally()
			c.OnStarted = func(started int) {
				if started == 5 {
					stop()
				}
			}
			loadtest.DriveTo(ctx, t, c, e, p).Want(t, map[bundle.StreamOutcome]int64{bundle.StreamKilled: 5})
		})
		t.Run("a stream without a response is cancelled", func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			asked := func(c net.Conn) { stop(); loadtest.Hold(c) }
			p := loadtest.Plan(t, loadtest.Script(t, asked, loadtest.KillOK), loadtest.Endless, func(p *load.Plan) { p.Duration = time.Hour })
			p.Limits.KillAll = loadtest.Soon
			c := loadtest.Drive(ctx, t, e, p)
			c.Want(t, map[bundle.StreamOutcome]int64{bundle.StreamCancelled: 1})
			if !c.Results[0].Uncertain {
				t.Error("the process that may have begun is not counted as uncertain")
			}
		})
	})
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	whole := loadtest.AnswerOf(loadtest.StartEvent(7), loadtest.Stdout("1\n2\n3\n"), loadtest.EndEvent(0), loadtest.EOS)
	eachWay(t, func(t *testing.T, w loadtest.Way, e load.Engine) {
		conns := make(chan struct{}, 1000)
		addr := loadtest.Listen(t, func(c net.Conn) {
			conns <- struct{}{}
			loadtest.ServeStarts(c, whole)
		}, w)
		c := loadtest.Drive(t.Context(), t, e, loadtest.Plan(t, addr, w.Plan, func(p *load.Plan) { p.Streams, p.Count = 2, 50 }))
		c.Want(t, map[bundle.StreamOutcome]int64{bundle.StreamOK: 50})
		if n := len(conns); n > 2 {
			t.Errorf("%d connections for 2 streams at a time", n)
		}
		if n := len(c.Values[load.FirstEvent]); n != 50 {
			t.Errorf("%d first events were measured, want 50", n)
		}
	})
}

// A gateway may close a connection after a response without notice.
func TestAConnectionThatWasClosedIsNotUsedAgain(t *testing.T) {
	eachWay(t, func(t *testing.T, w loadtest.Way, e load.Engine) {
		addr := loadtest.Script(t, loadtest.Then(loadtest.GoodAnswer(), loadtest.HangUp), loadtest.KillOK, w)
		c := loadtest.Drive(t.Context(), t, e, loadtest.Plan(t, addr, w.Plan, func(p *load.Plan) {
			p.Count = 5
			p.Classes[0].Think = 50 * time.Millisecond
		}))
		c.Want(t, map[bundle.StreamOutcome]int64{bundle.StreamOK: 5})
	})
}
