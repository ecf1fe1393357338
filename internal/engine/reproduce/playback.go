package reproduce

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/net/http2"

	"assay/internal/base/secret"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

// playback decodes the response that a tool received: a connection sends the bytes of
// the source to a recording of the response. It returns an observation of that
// connection for the judge.
func (s *source) playback(ctx context.Context, clock *transport.Clock, redact *secret.Redactor, p *printed) (*bundle.Observation, error) {
	ctx, cancel := context.WithTimeout(ctx, playbackTime)
	defer cancel()
	clock = clock.Fork()
	rec := transport.NewRecorder(clock, redact)
	began := clock.Stamp()
	err := s.ask(ctx, rec, newRecording(clock, s.parts(p)))
	conns, exchanges := rec.Finish(nil)
	if err != nil {
		return nil, err
	}
	return s.observation(clock, began, conns, exchanges), nil
}

// playbackTime limits one playback, which never ends where a request waits for the
// response to another one.
const playbackTime = 15 * time.Second

// parts splits the received bytes. An HTTP/2 server sends its SETTINGS at once, but a
// response must not precede its request.
func (s *source) parts(p *printed) parts {
	out := parts{rest: p.arrivals, end: !p.complete && !s.waited(p)}
	if !s.http2() {
		return out
	}
	all := p.bytes()
	cut := 0
	for _, f := range framesOf(all) {
		own := f.Type == http2.FrameSettings && !f.Flags.Has(http2.FlagSettingsAck) || f.Type == http2.FrameWindowUpdate || f.Type == http2.FramePing
		if f.StreamID != 0 || !own {
			break
		}
		cut = int(f.Off) + len(f.Bytes)
	}
	out.first, out.rest = all[:cut], nil
	for _, a := range p.arrivals {
		n := min(cut, len(a.data))
		cut -= n
		if len(a.data) > n {
			out.rest = append(out.rest, arrival{a.after, a.data[n:]})
		}
	}
	return out
}

// waited reports whether the tool was still waiting when it ended, so that the end of
// the connection is unknown.
func (s *source) waited(p *printed) bool {
	if len(p.arrivals) == 0 {
		return true
	}
	return s.x != nil && (s.x.Outcome == bundle.OutcomeStalled || s.x.Outcome == bundle.OutcomeNoAnswer)
}

// ask sends the bytes of the source and decodes the recorded responses to the last byte.
func (s *source) ask(ctx context.Context, rec *transport.Recorder, peer *recording) error {
	raw := len(s.exchanges) == 0 || s.exchanges[0].Op == bundle.OpRaw
	how := transport.Options{HTTP: transport.HTTP1}
	if s.http2() {
		how = transport.Options{HTTP: transport.H2C, Raw: raw}
	}
	conn, err := transport.Attach(ctx, rec, s.conn.Name, peer, how)
	if err != nil {
		return err
	}
	under, err := s.send(ctx, conn, raw)
	if err != nil {
		return fmt.Errorf("the response could not be played back: %w", err)
	}
	close(peer.asked)
	ended := peer.left.end
	select {
	case <-peer.told:
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		changed := conn.Changed()
		if !ended || conn.PeerClosed() {
			break
		}
		<-changed // the reader ends the connection next
	}
	peer.clock.Advance(lull)
	for _, x := range under {
		x.GiveUp(s.unfinished(x), "no more bytes")
	}
	return nil
}

// unfinished returns the outcome of an incomplete response.
func (s *source) unfinished(x *transport.Exchange) bundle.Outcome {
	if x.Snapshot().Response == nil {
		return bundle.OutcomeNoAnswer
	}
	return bundle.OutcomeStalled
}

// send begins the exchanges and writes the recorded bytes.
func (s *source) send(ctx context.Context, conn *transport.Conn, raw bool) ([]*transport.Exchange, error) {
	switch {
	case raw:
		if len(s.exchanges) > 0 {
			conn.SetShape(s.exchanges[0].Shape, s.exchanges[0].Codec)
		}
		for _, w := range s.writes {
			if err := conn.Write(ctx, w.data); err != nil {
				return nil, err
			}
		}
		if x := conn.Raw(); x != nil {
			return []*transport.Exchange{x}, nil
		}
		return nil, nil
	case s.http2():
		return s.sendStreams(ctx, conn)
	}
	var under []*transport.Exchange
	for _, x := range s.exchanges {
		under = append(under, conn.Begin(callOf(x)))
	}
	for _, w := range s.writes {
		if err := conn.Write(ctx, w.data); err != nil {
			return nil, err
		}
	}
	for _, x := range under {
		x.MarkSent()
	}
	return under, nil
}

// sendStreams sends the requests of an HTTP/2 connection.
func (s *source) sendStreams(ctx context.Context, conn *transport.Conn) ([]*transport.Exchange, error) {
	var under []*transport.Exchange
	for _, old := range s.exchanges {
		body := old.Request.Body.Data
		x, err := conn.Request(ctx, callOf(old), len(body) == 0)
		if err != nil {
			return nil, err
		}
		under = append(under, x)
		if len(body) == 0 {
			continue
		}
		if err := x.Data(ctx, body, true); err != nil {
			return nil, err
		}
		x.MarkSent()
	}
	return under, nil
}

// callOf returns the call of an exchange.
func callOf(x *bundle.Exchange) transport.Call {
	return transport.Call{
		Name: x.Name, Step: x.Step, Op: x.Op, RPC: x.RPC, Surface: x.Surface, Protocol: x.Protocol,
		Shape: x.Shape, Codec: x.Codec, Method: x.Request.Method, Path: x.Request.Path,
		Headers: x.Request.Headers, Body: x.Request.Body.Data,
	}
}

// observation returns an observation of the playback only.
func (s *source) observation(clock *transport.Clock, began bundle.Stamp, conns []bundle.Conn, exchanges []bundle.Exchange) *bundle.Observation {
	old := s.Observation
	for i := range conns {
		conns[i].HTTP = s.conn.HTTP // the playback itself was plain text
	}
	now := clock.Stamp()
	return &bundle.Observation{
		Schema: old.Schema, Run: old.Run, Scenario: old.Scenario, Axes: old.Axes, Script: old.Script, Seed: old.Seed,
		Started: began, Ended: now,
		Iterations: []bundle.Iteration{{
			Index: s.it.Index, Vars: s.it.Vars, Started: began, Ended: now, Conns: conns, Exchanges: exchanges, Processes: s.it.Processes,
		}},
	}
}
