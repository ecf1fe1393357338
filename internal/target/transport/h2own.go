package transport

import (
	"golang.org/x/net/http2"

	"assay/internal/wire/h2"
)

// maxTable is the largest HPACK table that a script may allow a peer.
const maxTable = 1 << 20

// ownSettings are the settings that we have sent, by ourselves or in raw frames: the
// peer has to respect them.
type ownSettings struct {
	window  int64   // INITIAL_WINDOW_SIZE, the largest that the peer may still use
	unacked []int64 // the window of each unacknowledged SETTINGS frame, -1 without
}

// announce applies a frame that we send. A larger limit takes effect when it is sent, a
// smaller one when the peer has acknowledged it (RFC 9113, section 6.5.3).
func (h *mux) announce(frame http2.Frame) {
	switch frame := frame.(type) {
	case *http2.SettingsFrame:
		if frame.IsAck() {
			return
		}
		window := int64(-1)
		if v, ok := frame.Value(http2.SettingInitialWindowSize); ok && v <= h2.MaxWindow {
			window = int64(v)
			h.resize(max(window, h.own.window))
		}
		if v, ok := frame.Value(http2.SettingMaxFrameSize); ok {
			h.in.Limit = max(h.in.Limit, int64(v))
		}
		if v, ok := frame.Value(http2.SettingHeaderTableSize); ok {
			h.fields.SetAllowedMaxDynamicTableSize(min(v, maxTable))
		}
		if len(h.own.unacked) < maxUnacked {
			h.own.unacked = append(h.own.unacked, window)
		}
	case *http2.WindowUpdateFrame:
		if frame.StreamID == 0 {
			h.recvWindow += int64(frame.Increment)
		} else if st := h.streams[frame.StreamID]; st != nil {
			st.recvWindow += int64(frame.Increment)
		}
	}
}

// maxUnacked limits how many SETTINGS frames of a script are remembered.
const maxUnacked = 1024

// ownAcknowledged is called when the peer has acknowledged our oldest SETTINGS.
func (h *mux) ownAcknowledged() {
	if len(h.own.unacked) == 0 {
		return
	}
	window := h.own.unacked[0]
	h.own.unacked = h.own.unacked[1:]
	if window < 0 {
		return
	}
	for _, later := range h.own.unacked { // a larger window since then stays valid
		window = max(window, later)
	}
	h.resize(window)
}

// resize sets the initial window of streams and adjusts open ones (RFC 9113, section 6.9.2).
func (h *mux) resize(window int64) {
	for _, st := range h.streams {
		st.recvWindow += window - h.own.window
	}
	h.own.window = window
}
