package canned

import "fmt"

// system is the operating system for the gateway. Only loops implement it.
type system interface {
	// write passes bytes to the kernel; n is less than len(p) if it accepts no more now.
	write(c *conn, p []byte) (n int, err error)
	// watch selects the events of a connection to wait for.
	watch(c *conn, read, write bool)
}

// gateway is everything between sockets and timers. It belongs to one goroutine
// and makes no system calls itself.
type gateway struct {
	script    *script
	encodings map[dialect]*encoding
	together  bool
	system    system
	token     string // "" admits everyone
	now       int64  // nanoseconds on a monotonic clock

	counters  counters
	late      lateness
	nextPID   uint32
	processes map[uint32]*stream
	wheel     wheel
	routes    map[string]route // by header blocks that do not use the dynamic table

	due     []*stream
	ready   []*conn // have unparsed requests
	dirty   []*conn // have buffered bytes
	doomed  []*conn // have to be closed
	scratch []byte
}

func newGateway(f *File, sys system) (*gateway, error) {
	g := &gateway{
		script: newScript(f), encodings: map[dialect]*encoding{}, together: f.Flush == FlushTogether, system: sys,
		nextPID: firstPID, late: newLateness(), processes: map[uint32]*stream{}, routes: map[string]route{},
	}
	for _, d := range []dialect{
		{connect, false}, {connect, true}, {grpc, false}, {grpc, true}, {grpcWeb, false}, {grpcWeb, true}, {ndjson, false}, {stdio, false},
	} {
		e, err := newEncoding(d, g.script)
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", d.contentType(), err)
		}
		g.encodings[d] = e
	}
	return g, nil
}

// turn sends due events and resumes connections that were blocked.
func (g *gateway) turn(now int64) {
	g.now = now
	g.due = g.wheel.turn(now, g.due[:0])
	for _, s := range g.due {
		c := s.conn
		g.pump(s)
		if s.stage == over {
			c.resume()
		}
	}
	clear(g.due)
	for len(g.ready)+len(g.dirty) > 0 {
		ready := g.ready
		g.ready = nil
		for _, c := range ready {
			c.queued = false
			c.received(nil)
		}
		dirty := g.dirty
		g.dirty = nil
		for _, c := range dirty {
			c.dirty = false
			c.flush()
		}
	}
}

// do returns the response to a request, or reports that it begins a stream.
func (g *gateway) do(r route, body []byte) (a answer, stream bool) {
	switch r.action {
	case startStream:
		return answer{}, true
	case sendSignal:
		if !g.kill(r.signalled(body)) {
			return r.dialect.notFound(), false
		}
		return r.dialect.empty(), false
	case list:
		a = r.dialect.empty()
		if r.dialect.protocol == ndjson {
			a.body = []byte(`{"commands":[]}`)
		}
		return a, false
	case metrics:
		return answer{status: 200, contentType: "text/plain; version=0.0.4", body: append(g.counters.exposition(), g.late.exposition()...)}, false
	case health:
		return answer{status: 200, contentType: "text/plain", body: []byte("ok\n")}, false
	case badType:
		return answer{status: 415, contentType: "text/plain", body: []byte("unknown content type\n")}, false
	case unauthorized:
		return jsonError(401, "unauthenticated", "X-Access-Token is missing or wrong"), false
	default:
		return jsonError(404, "unimplemented", "a canned gateway has Start, SendSignal and List, /commands, /attach, /metrics and /health"), false
	}
}
