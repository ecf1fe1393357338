package transport

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"assay/internal/bundle"
	"assay/internal/wire"
	"assay/internal/wire/h2"
)

const (
	// What we let a peer send ahead: much, so that our own pace is never what is measured.
	streamWindow = 4 << 20
	connWindow   = 64 << 20
	// controlLimit is how many bytes of acknowledgements may wait for a peer that
	// does not read, before we stop reading too.
	controlLimit = 64 << 10
	// sentLimit is the longest raw frame that is looked into for the record.
	sentLimit = 1 << 20
	// The wait for the peer's SETTINGS is so many looks of a tenth of a second. They are the
	// first thing that it sends: three seconds are many round trips to the other side of the
	// world, and time enough for a machine that does something else. Looks are counted and not
	// the time, of which a machine that stands still loses any amount at once.
	settingsLooks = 30
	settingsLook  = 100 * time.Millisecond
	// closedKept is how many streams are remembered after their end.
	closedKept = 256
)

// mux multiplexes the streams of one HTTP/2 connection. The connection's mutex guards it.
type mux struct {
	conn   *Conn
	raw    bool
	scheme string

	in     h2.Splitter
	source bytes.Reader // of framer
	framer *http2.Framer
	fields *hpack.Decoder
	block  *headerBlock // under way, nil between header blocks

	streams map[uint32]*stream
	waiting map[*Exchange]bool // requests that wait for room
	closed  map[uint32]*stream // the last ones, to tell late frames from forbidden ones
	order   []uint32           // of closed
	nextID  uint32
	touched uint32 // the highest stream that we have sent a frame on

	settled       bool   // the peer's first SETTINGS came
	maxStreams    uint32 // that the peer allows
	initialWindow int64  // of a stream, as the peer has it
	maxFrame      int    // that the peer takes
	sendWindow    int64  // of the connection
	table         h2.FieldTable

	own        ownSettings
	recvWindow int64 // of the connection: what the peer may still send
	unreturned int64 // received, and not yet given back

	goAway  *goAway
	loose   []wire.Violation // breaches while no exchange was there
	fatal   string           // the breach that lost the connection, in words
	control []byte           // frames of our own that wait to be written

	sent sentFrames
	log  []bundle.H2Frame
	left int // frames that were not recorded
}

// goAway is what a peer's last GOAWAY said.
type goAway struct {
	last   uint32
	detail string
}

// stream is one stream that we have opened.
type stream struct {
	id         uint32
	x          *Exchange
	sendWindow int64
	recvWindow int64
	unreturned int64
	headed     bool  // the final head came
	length     int64 // content-length, -1 without
	got        int64 // bytes of DATA
	sentEnd    bool  // we have sent END_STREAM
	gotEnd     bool  // the peer has
	held       bool  // no window is given back
	cancelled  bool  // we have reset it
	reset      string
}

func newMux(c *Conn, o Options) *mux {
	h := &mux{
		conn: c, raw: o.Raw, scheme: "http",
		in:      h2.Splitter{Limit: h2.DefaultMaxFrame},
		streams: map[uint32]*stream{}, waiting: map[*Exchange]bool{}, closed: map[uint32]*stream{}, nextID: 1,
		maxStreams: math.MaxUint32, initialWindow: h2.DefaultWindow, maxFrame: h2.DefaultMaxFrame,
		sendWindow: h2.DefaultWindow, recvWindow: h2.DefaultWindow, own: ownSettings{window: h2.DefaultWindow},
	}
	if o.TLS != nil {
		h.scheme = "https"
	}
	h.framer = http2.NewFramer(nil, &h.source)
	h.framer.SetReuseFrames()
	h.fields = hpack.NewDecoder(4096, h.field)
	h.fields.SetMaxStringLength(wire.DefaultHeadLimit)
	h.sent = newSentFrames()
	return h
}

// start sends the preface before anything else can be sent, begins to read and to
// write control frames, and waits for the peer's SETTINGS. A raw connection only reads.
func (h *mux) start(ctx context.Context) {
	if !h.raw {
		h.greet(ctx)
	}
	h.conn.recorder.readers.Add(1)
	go h.conn.read()
	go h.writeControl()
	if !h.raw {
		h.settle(ctx)
	}
}

// greet sends the preface and what follows it. That it cannot be written shows in how
// the connection ends.
func (h *mux) greet(ctx context.Context) {
	b := h2.AppendSettings([]byte(http2.ClientPreface),
		http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: streamWindow},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: wire.DefaultHeadLimit},
	)
	b = h2.AppendWindowUpdate(b, 0, connWindow-h2.DefaultWindow)
	h.conn.writing.Lock()
	defer h.conn.writing.Unlock()
	h.conn.mu.Lock()
	_ = h.conn.writeNoted(ctx, b)
}

// settle waits until the peer's SETTINGS have come, so that the first requests
// keep to them. A peer that sends none within settingsLooks is gone on with.
func (h *mux) settle(ctx context.Context) {
	c := h.conn
	look := time.NewTicker(settingsLook)
	defer look.Stop()
	for looks := 0; looks < settingsLooks; {
		c.mu.Lock()
		over := h.settled || c.lostAt >= 0 || c.closed || c.peerClosed
		changed := c.changed.wait()
		c.mu.Unlock()
		if over {
			return
		}
		select {
		case <-changed:
		case <-look.C:
			looks++
		case <-ctx.Done():
			return
		}
	}
}

// enqueue lets the control writer send p.
func (h *mux) enqueue(p []byte) {
	h.control = append(h.control, p...)
	h.conn.steered.fire()
}

// answer enqueues a frame of our own; on a raw connection nothing is sent by itself.
func (h *mux) answer(frame []byte) {
	if !h.raw {
		h.enqueue(frame)
	}
}

// writeControl writes what was enqueued, until the connection ends.
func (h *mux) writeControl() {
	c := h.conn
	defer c.recorder.readers.Done()
	for {
		c.writing.Lock()
		c.mu.Lock()
		p := h.takeControl()
		ended := c.closed || c.peerClosed
		wake := c.steered.wait()
		if len(p) > 0 {
			_ = c.writeNoted(context.Background(), p) // what keeps it from being written ends the connection
			c.mu.Lock()
			c.steered.fire() // the reader may go on
		}
		c.mu.Unlock()
		c.writing.Unlock()
		switch {
		case ended:
			return
		case len(p) == 0:
			<-wake
		}
	}
}

// takeControl is what may be written now: nothing while a raw frame is being
// written in pieces, and nothing after our end.
func (h *mux) takeControl() []byte {
	c := h.conn
	switch {
	case c.closed || c.peerClosed || c.half || c.silent || c.sendBroken:
		h.control = nil
		return nil
	case h.sent.split.Partial() > 0:
		return nil
	}
	p := h.control
	h.control = nil
	return p
}

func (h *mux) framed() bool { return true }

// idle reports whether another stream could be opened.
func (h *mux) idle() bool { return h.goAway == nil }

// begin refuses an exchange of HTTP/1.1.
func (h *mux) begin(x *Exchange) {
	x.abort("an HTTP/1.1 request was announced on an HTTP/2 connection")
}

// congested reports whether a peer that does not read makes our answers pile up.
func (h *mux) congested() bool {
	return len(h.control) > controlLimit && !h.conn.half && !h.conn.silent && !h.conn.sendBroken
}

// live lists the exchanges that streams carry, by stream.
func (h *mux) live() []*Exchange {
	var xs []*Exchange
	for _, id := range slices.Sorted(maps.Keys(h.streams)) {
		if x := h.streams[id].x; !x.over {
			xs = append(xs, x)
		}
	}
	return xs
}

// underWay lists raw exchanges that have no stream yet, then those of streams and
// requests that wait for room.
func (h *mux) underWay() []*Exchange {
	xs := h.live()
	for x := range h.waiting {
		xs = append(xs, x)
	}
	slices.SortFunc(xs, func(a, b *Exchange) int { return cmp.Compare(a.rec.ID, b.rec.ID) })
	return slices.Concat(h.conn.queue, xs)
}

// forget takes a stream out of those that are open, and remembers how it ended.
func (h *mux) forget(st *stream) {
	if h.streams[st.id] != st {
		return
	}
	delete(h.streams, st.id)
	if len(h.order) >= closedKept {
		delete(h.closed, h.order[0])
		h.order = h.order[1:]
	}
	h.order = append(h.order, st.id)
	h.closed[st.id] = st
	h.conn.changed.fire()
}

// unused reports whether nobody has used a stream so far. A server may open none
// of its own, as push is off.
func (h *mux) unused(id uint32) bool {
	return id%2 == 0 || id > h.touched
}

// note records a frame.
func (h *mux) note(f bundle.H2Frame) {
	limit := maxH2Frames
	switch f.Type {
	case "DATA", "WINDOW_UPDATE", "PING":
		limit -= maxH2Frames / 4
	}
	if len(h.log) >= limit {
		h.left++
		return
	}
	f.Detail = h.conn.recorder.redact.text(f.Detail)
	h.log = append(h.log, f)
}

// H2Frames are the frames that have been received so far on an HTTP/2
// connection, at most as many as are recorded; do not modify them.
func (c *Conn) H2Frames() []bundle.H2Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	var rec bundle.Conn
	c.proto.record(&rec)
	return slices.DeleteFunc(rec.H2, func(f bundle.H2Frame) bool { return f.Dir != dirReceived })
}

// record adds all frames. They were noted in the order of their stamps.
func (h *mux) record(rec *bundle.Conn) (dropped string) {
	rec.H2 = slices.Clone(h.log)
	if h.left > 0 {
		dropped = fmt.Sprintf("%d HTTP/2 frames", h.left)
	}
	return dropped
}
