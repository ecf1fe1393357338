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
	"unsafe"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"assay/internal/base/crash"
	"assay/internal/record/bundle"
	"assay/internal/wire"
	"assay/internal/wire/h2"
)

const (
	// Our receive windows: large, so that our own pace is never measured.
	streamWindow = 4 << 20
	connWindow   = 64 << 20
	// controlLimit is how many bytes of acknowledgements may wait for a peer that
	// does not read. Beyond it we stop reading too.
	controlLimit = 64 << 10
	// sentLimit is the longest raw frame that is decoded for the record.
	sentLimit = 1 << 20
	// We wait for the peer's SETTINGS for 30 ticks of 100 ms. SETTINGS are the first thing
	// that it sends: three seconds are many round trips around the world, and long enough
	// for a busy machine. Ticks are counted rather than time, because a machine that stops
	// for a while loses any amount of time at once, but only one tick.
	settingsLooks = 30
	settingsLook  = 100 * time.Millisecond
	// closedKept is how many closed streams are remembered.
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
	block  *headerBlock // incomplete, nil between header blocks

	streams map[uint32]*stream
	waiting map[*Exchange]bool // requests that wait for MAX_CONCURRENT_STREAMS
	closed  map[uint32]*stream // the last ones, to distinguish late frames from forbidden ones
	order   []uint32           // of closed
	nextID  uint32
	touched uint32 // the highest stream on which we have sent a frame

	busy          int    // received frames without content
	settingsCame  bool   // the peer's first SETTINGS have arrived
	maxStreams    uint32 // the peer's MAX_CONCURRENT_STREAMS
	initialWindow int64  // the peer's INITIAL_WINDOW_SIZE
	maxFrame      int    // the peer's MAX_FRAME_SIZE
	sendWindow    int64  // of the connection
	table         h2.FieldTable

	own        ownSettings
	recvWindow int64 // of the connection: what the peer may still send
	unreturned int64 // received, and not yet returned by WINDOW_UPDATE

	goAway  *goAway
	loose   []wire.Violation // violations without an exchange
	fatal   string           // describes the connection error
	control []byte           // our own frames that wait to be written

	sent sentFrames
	log  []bundle.H2Frame
	left int // frames missing in log
}

// goAway is the peer's last GOAWAY.
type goAway struct {
	last   uint32
	detail string
}

// stream is a stream that we have opened.
type stream struct {
	id         uint32
	x          *Exchange
	sendWindow int64
	recvWindow int64
	unreturned int64
	headed     bool  // the final head has arrived
	length     int64 // content-length, -1 without
	got        int64 // bytes of DATA
	sentEnd    bool  // we have sent END_STREAM
	gotEnd     bool  // the peer has
	held       bool  // no window is returned
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
	h.sent = newSentFrames(c.recorder.redact)
	return h
}

// start sends the preface before anything else, begins to read and to write control
// frames, and waits for the peer's SETTINGS. A raw connection sends and awaits nothing.
func (h *mux) start(ctx context.Context) {
	if !h.raw {
		h.greet(ctx)
	}
	h.conn.recorder.readers.Add(1)
	crash.Go(h.conn.read)
	crash.Go(h.writeControl)
	if !h.raw {
		h.awaitSettings(ctx)
	}
}

// greet sends the preface, SETTINGS and the connection's window. A write error shows in
// the end of the connection.
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

// awaitSettings waits for the peer's SETTINGS, so that the first requests respect them. It
// gives up after settingsLooks.
func (h *mux) awaitSettings(ctx context.Context) {
	c := h.conn
	look := time.NewTicker(settingsLook)
	defer look.Stop()
	for looks := 0; looks < settingsLooks; {
		c.mu.Lock()
		over := h.settingsCame || c.lostAt >= 0 || c.closed || c.peerClosed
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

// enqueue passes frames to the control writer.
func (h *mux) enqueue(p []byte) {
	h.control = append(h.control, p...)
	h.conn.steered.fire()
}

// answer enqueues a frame that the protocol demands, except on a raw connection.
func (h *mux) answer(frame []byte) {
	if !h.raw {
		h.enqueue(frame)
	}
}

// writeControl writes enqueued frames until the connection ends.
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
			_ = c.writeNoted(context.Background(), p) // an error ends the connection
			c.mu.Lock()
			c.steered.fire() // the reader may continue
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

// takeControl returns the frames that may be written now: none while a raw frame is
// being written in pieces, and none after our end.
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

// congested reports whether our acknowledgements pile up because the peer does not read.
func (h *mux) congested() bool {
	return len(h.control) > controlLimit && !h.conn.half && !h.conn.silent && !h.conn.sendBroken
}

// stop resets the stream of an exchange that is no longer read.
func (h *mux) stop(x *Exchange) {
	if st := h.streams[x.rec.Stream]; st != nil && st.x == x {
		st.cancelled = true
		h.forget(st)
		h.answer(h2.AppendReset(nil, st.id, http2.ErrCodeCancel))
	}
}

// live lists the exchanges of open streams, by stream.
func (h *mux) live() []*Exchange {
	var xs []*Exchange
	for _, id := range slices.Sorted(maps.Keys(h.streams)) {
		if x := h.streams[id].x; !x.over {
			xs = append(xs, x)
		}
	}
	return xs
}

// underWay lists the raw exchanges without a stream, then those of streams and the
// requests that wait for a stream.
func (h *mux) underWay() []*Exchange {
	xs := h.live()
	for x := range h.waiting {
		xs = append(xs, x)
	}
	slices.SortFunc(xs, func(a, b *Exchange) int { return cmp.Compare(a.rec.ID, b.rec.ID) })
	return slices.Concat(h.conn.queue, xs)
}

// forget closes a stream, and remembers how it ended.
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

// unused reports whether a stream has not been used so far. The server opens none, as
// push is disabled.
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
	f.Detail = h.conn.recorder.redact.Text(f.Detail)
	if !h.conn.account.take(h2FrameSize + len(f.Detail)) {
		h.left++
		return
	}
	h.log = append(h.log, f)
}

// h2FrameSize is the memory of a recorded frame.
const h2FrameSize = 2 * int(unsafe.Sizeof(bundle.H2Frame{}))

// H2Frames returns the recorded frames that an HTTP/2 connection has received so far.
func (c *Conn) H2Frames() []bundle.H2Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	var rec bundle.Conn
	c.proto.record(&rec)
	return slices.DeleteFunc(rec.H2, func(f bundle.H2Frame) bool { return f.Dir != dirReceived })
}

// record adds all frames, which were noted in the order of their stamps.
func (h *mux) record(rec *bundle.Conn) (dropped string) {
	rec.H2 = slices.Clone(h.log)
	if h.left > 0 {
		dropped = fmt.Sprintf("%d HTTP/2 frames", h.left)
	}
	return dropped
}
