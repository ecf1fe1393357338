package target

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/internal/base/crash"
	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/record/surface"
	"assay/internal/target/transport"
	"assay/internal/wire"
)

// socket is a WebSocket of a probe.
type socket struct {
	client *client
	conn   *transport.Conn
	x      *transport.Exchange
}

// attach asks for a WebSocket that runs a shell command, "" for none; more is the rest of the query.
// It waits for the head of the response.
func (c *client) attach(ctx context.Context, text, more string) (*socket, bundle.Exchange) {
	var words []string
	if text != "" {
		words = append(slices.Clone(c.target.Shell()), text, call.Mark+"=assay/"+c.what)
	}
	query := call.EncodeParameters(call.CommandParameters(words))
	if query != "" && more != "" {
		query += "&"
	}
	return c.attachQuery(ctx, query+more)
}

func (c *client) attachQuery(ctx context.Context, query string) (*socket, bundle.Exchange) {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	r := request{
		method: "GET", surface: surface.Stdio, query: query, shape: bundle.ShapeStdio, codec: call.JSON,
	}
	for _, field := range call.UpgradeFields(wire.WSKey(random)) {
		r.headers = append(r.headers, bundle.Header{Name: field[0], Value: field[1]})
	}
	if bearer := c.target.Bearer(); bearer != "" && !c.bare {
		r.headers = append(r.headers, bundle.Header{Name: "authorization", Value: bearer})
	}
	on := *c
	on.way.HTTP = transport.HTTP1
	x, _ := on.send(ctx, r)
	s := &socket{client: c, conn: x.Conn(), x: x}
	return s, on.await(ctx, s.x, func(s bundle.Exchange) bool { return s.Switched() })
}

// send sends a text message.
func (s *socket) send(ctx context.Context, message []byte) {
	_ = s.conn.Write(ctx, s.x.SocketFrame(wire.WSText, message)) // a failure shows in the end of the exchange
}

// answerLine answers a line of input with one that no shell prints for it.
const answerLine = "read x; echo answer-$x"

// answered sends a line of input to answerLine through from, and reports whether s gets the answer.
func (s *socket) answered(ctx context.Context, from *socket) bool {
	_ = from.conn.Write(ctx, from.x.SocketFrame(wire.WSBinary, []byte("line\n")))
	bounded, cancel := context.WithTimeout(ctx, s.client.limit/2)
	defer cancel()
	seen := func() bool { return strings.Contains(string(s.x.Output("stdout")), "answer-line") }
	watch(bounded, s.x, func(bundle.Exchange) bool { return seen() })
	return seen()
}

// mute reports whether nothing comes on a WebSocket whose command ends at once.
func (s *socket) mute(ctx context.Context) bool {
	bounded, cancel := context.WithTimeout(ctx, s.client.limit/2)
	defer cancel()
	return len(watch(bounded, s.x, func(x bundle.Exchange) bool { return len(x.Frames) > 0 }).Frames) == 0
}

// leave closes the WebSocket and waits until the gateway has answered.
func (s *socket) leave(ctx context.Context) {
	if s.conn == nil {
		return
	}
	_ = s.conn.Write(ctx, s.x.SocketFrame(wire.WSClose, wire.AppendWSClose(nil, 1000, "")))
	bounded, cancel := context.WithTimeout(ctx, s.client.limit/4)
	defer cancel()
	watch(bounded, s.x, func(bundle.Exchange) bool { return false })
	s.conn.Close("fin")
}

// kill ends the process of the WebSocket, then the WebSocket.
func (s *socket) kill(ctx context.Context) {
	if s.conn != nil {
		s.send(ctx, wire.AppendStdioSignal(nil, "SIGKILL"))
	}
	s.leave(ctx)
}

// said returns the first text message that is not the exit and contains a word.
func said(s bundle.Exchange, word string) (string, bool) {
	text := false // the message under way
	for i := range s.Frames {
		f := &s.Frames[i]
		op := wire.WSOpcode(f.Flags & 0xf)
		if op == wire.WSText || op == wire.WSBinary {
			text = op == wire.WSText
		}
		// A message is in its last frame, once its payload came.
		if text && !op.Control() && f.Whole && f.Event < 0 && strings.Contains(string(f.Head), word) {
			return string(f.Head), true
		}
	}
	return "", false
}

// probeStdio opens a WebSocket on the stdio surface and, if there is one, tries the optional
// features of it, all at the same time.
func probeStdio(ctx context.Context, c *client) findings {
	s, first := c.attach(ctx, ":", "")
	twice := hungUp(first)
	if twice {
		s.leave(ctx)
		s, first = c.attach(ctx, ":", "")
	}
	mute := first.Switched() && s.mute(ctx)
	s.leave(ctx)
	known := decideUpgrade(first)
	if twice && hungUp(first) && c.list(ctx).answer.Snapshot().Response != nil {
		known = lacks(first, "the connection is closed without an answer, each time, and List is answered")
	}
	f := findings{featStdio: known}
	rest := known
	if mute {
		rest = unknown("nothing came after the handshake")
	}
	f.together(ctx, c, map[string]func(context.Context, *client) bundle.Feature{
		featStdioEOF: stdioEOF, featStdioPTY: stdioPTY, featSession: stdioSession, featShared: stdioShared, featPanes: stdioPanes,
	}, rest)
	return f
}

// together decides features at the same time, unless what they need is not there: then each is as that is.
func (f findings) together(ctx context.Context, c *client, by map[string]func(context.Context, *client) bundle.Feature, need bundle.Feature) {
	var mu sync.Mutex
	var all crash.Group
	for id, look := range by {
		all.Go(func() {
			found := need
			if need.State == bundle.FeaturePresent {
				found = look(ctx, c)
			}
			mu.Lock()
			defer mu.Unlock()
			f[id] = found
		})
	}
	all.Wait()
}

// hungUp reports whether the gateway closed the connection instead of an answer.
func hungUp(s bundle.Exchange) bool {
	return s.Response == nil && (s.Outcome == bundle.OutcomeClosed || s.Outcome == bundle.OutcomeReset)
}

// decideUpgrade decides by the response to a handshake: an endpoint that does not switch
// protocols is not that of a WebSocket, unless it asks for credentials or fails.
func decideUpgrade(s bundle.Exchange) bundle.Feature {
	switch {
	case s.Switched():
		return present(describe(s))
	case s.Outcome == bundle.OutcomeComplete && !isAuth(s) && s.Response.Status < 500 && s.Response.Status != 429, refused(s):
		if s.Response.Status < 400 {
			return lacks(s, foreignWords(s))
		}
		return lacks(s, describe(s))
	}
	return unknown(describe(s))
}

// stdioEOF sends the end of stdin to a command that waits for it.
func stdioEOF(ctx context.Context, c *client) bundle.Feature {
	return c.onSocket(ctx, "cat", "", func(s *socket) bundle.Feature {
		s.send(ctx, wire.AppendStdioEOF(nil))
		bounded, cancel := context.WithTimeout(ctx, c.limit/2)
		defer cancel()
		got := watch(bounded, s.x, func(x bundle.Exchange) bool {
			_, refused := said(x, "")
			return refused || hasEvent(x, bundle.EventEnd)
		})
		if text, refused := said(got, ""); refused {
			return absent("eof is answered with " + text)
		}
		if hasEvent(got, bundle.EventEnd) {
			return present("eof ends stdin")
		}
		return absent("eof has no effect")
	})
}

// onSocket decides a feature by a command on a WebSocket, which it ends.
func (c *client) onSocket(ctx context.Context, text, more string, decide func(*socket) bundle.Feature) bundle.Feature {
	s, first := c.attach(ctx, text, more)
	defer s.kill(ctx)
	if !first.Switched() {
		return decideUpgrade(first)
	}
	return decide(s)
}

// stdioPTY runs a command that says whether it has a terminal. A server that passes no output on at all gives nobody one.
func stdioPTY(ctx context.Context, c *client) bundle.Feature {
	out, first := c.printed(ctx, sayTerminal, "pty=1&cols=80&rows=24")
	switch {
	case !first.Switched():
		return decideUpgrade(first)
	case strings.Contains(out, "terminal"):
		return present("pty=1 gives a terminal")
	case strings.Contains(out, "pipe"):
		return absent("pty=1 has no effect")
	}
	if out, _ := c.printed(ctx, sayTerminal, ""); out == "" {
		return absent("no output, with pty=1 or without")
	}
	return unknown("pty=1: no output")
}

// printed runs a command and returns its output.
func (c *client) printed(ctx context.Context, text, more string) (string, bundle.Exchange) {
	s, first := c.attach(ctx, text, more)
	defer s.kill(ctx)
	if first.Switched() {
		bounded, cancel := context.WithTimeout(ctx, c.limit/2)
		defer cancel()
		watch(bounded, s.x, func(bundle.Exchange) bool { return false })
	}
	return string(s.x.Output("stdout")), first
}

// sessionName returns the name of a new session.
func sessionName() string { return "session=assay-" + rand.Text() }

// stdioSession leaves a session, and comes back without a command. A server that knows no sessions
// may take that for a shell.
func stdioSession(ctx context.Context, c *client) bundle.Feature {
	name := sessionName()
	s, first := c.attach(ctx, answerLine, name)
	s.leave(ctx)
	if !first.Switched() {
		return decideUpgrade(first)
	}
	return c.onSocket(ctx, "", name, func(back *socket) bundle.Feature {
		if back.answered(ctx, back) {
			return present("the process of a session is there when its client comes back")
		}
		return absent("session has no effect")
	})
}

// stdioShared joins a session that has a client.
func stdioShared(ctx context.Context, c *client) bundle.Feature {
	name := sessionName()
	return c.onSocket(ctx, answerLine, name, func(s *socket) bundle.Feature {
		return c.onSocket(ctx, "", name+"&role=viewer", func(viewer *socket) bundle.Feature {
			if viewer.answered(ctx, s) {
				return present("a viewer gets the output of a session")
			}
			return absent("role has no effect")
		})
	})
}

// stdioPanes opens a second process in a WebSocket.
func stdioPanes(ctx context.Context, c *client) bundle.Feature {
	return c.onSocket(ctx, readLine, "", func(s *socket) bundle.Feature {
		s.send(ctx, []byte(`{"type":"open","pane":"assay","cmd":"true"}`))
		bounded, cancel := context.WithTimeout(ctx, c.limit/2)
		defer cancel()
		got := watch(bounded, s.x, func(x bundle.Exchange) bool { _, ok := said(x, ""); return ok })
		if _, opened := said(got, "opened"); opened {
			return present("a pane is opened")
		}
		if text, refused := said(got, ""); refused {
			return absent("open is answered with " + text)
		}
		return absent("open has no effect")
	})
}

// calibrateSocket measures a target that has only the stdio surface: the time to the upgrade is
// that of a round trip and a spawn, the time to the exit message that of a command.
func (c *client) calibrateSocket(ctx context.Context) (bundle.Calibration, bool) {
	budget, cancel := c.within(ctx)
	defer cancel()
	var trips, ends []time.Duration
	for range calibrationSamples {
		s, first := c.attach(budget, ":", "")
		if !first.Switched() {
			s.leave(budget)
			break
		}
		trips = append(trips, elapsed(first.Invoked, first.Response.Head))
		x := c.await(budget, s.x, func(bundle.Exchange) bool { return false })
		if d, ok := timeTo(x, bundle.EventEnd); ok {
			ends = append(ends, d)
		}
		s.leave(budget)
	}
	if len(trips) == 0 {
		return bundle.Calibration{}, false
	}
	trip := int64(median(trips))
	cal := bundle.Calibration{TimeScale: c.target.options.TimeScale, RTT: trip, Spawn: trip, Samples: len(trips)}
	if len(ends) > 0 {
		cal.End = int64(median(ends))
	}
	return cal, true
}
