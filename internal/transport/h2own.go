package transport

import (
	"golang.org/x/net/http2"

	"assay/internal/wire/h2"
)

// maxTable is the largest HPACK table that a script may let a peer use.
const maxTable = 1 << 20

// ownSettings is what we have announced to the peer, by ourselves or in raw
// frames: the rules that it is held to.
type ownSettings struct {
	window  int64   // INITIAL_WINDOW_SIZE, the largest that the peer may still count with
	unacked []int64 // that of each SETTINGS frame which was not acknowledged, -1 without
}

// announce takes what a frame that we send lets the peer do. More takes effect
// when it is sent; less when the peer has acknowledged it (RFC 9113, section 6.5.3).
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

// maxUnacked bounds how many SETTINGS of a script are remembered.
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
	for _, later := range h.own.unacked { // what was granted since stays granted
		window = max(window, later)
	}
	h.resize(window)
}

// resize sets the window that streams begin with, and lets those that are open
// follow (RFC 9113, section 6.9.2).
func (h *mux) resize(window int64) {
	for _, st := range h.streams {
		st.recvWindow += window - h.own.window
	}
	h.own.window = window
}
