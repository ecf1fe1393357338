package zoo

import (
	"bytes"
	"encoding/binary"
	"net/textproto"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"assay/internal/wire/h2"
)

// h2Faults returns the faults in HTTP/2 frames.
func h2Faults() []fault {
	return []fault{
		{Fault{
			ID:     "h2-reset-for-end",
			Title:  "A response over HTTP/2 ends with RST_STREAM(NO_ERROR) instead of END_STREAM",
			Breaks: []string{"http2.message.ended"},
			Source: "connectrpc/connect-es#1751: the client reports an incomplete envelope",
		}, onH2(resetForEnd)},
		{Fault{
			ID:     "h2-trailers-without-end",
			Title:  "Trailers do not end their stream; an empty DATA frame after them does",
			Breaks: []string{"http2.message.order"},
			Source: "proxies that translate HTTP/1.1 trailers and the end of a body separately",
		}, onH2(trailersWithoutEnd)},
		{Fault{
			ID:     "h2-goaway-cuts",
			Title:  "After ten streams, the server sends GOAWAY and closes the connection with its open streams",
			Breaks: []string{"http2.stream.many", "http2.connection.goaway-finishes"},
			Source: "e2b-dev/E2B#1418, #1641: a request limit per connection that does not wait for running requests",
		}, onH2(goAwayCuts)},
		{Fault{
			ID:     "h2-window-ignored",
			Title:  "DATA is sent regardless of the window of the stream",
			Breaks: []string{"http2.window.respected", "http2.window.stream-alone", "http2.connection.broken-ends"},
			Source: "hand-written HTTP/2 servers: flow control seems to work until a client is slow",
		}, onH2(windowIgnored)},
		{Fault{
			ID:     "h2-window-kept",
			Title:  "The window of a connection is never replenished, so uploads stall",
			Breaks: []string{"http2.window.given-back"},
			Source: "servers that replenish only the windows of streams; it takes many uploads to notice",
		}, onH2(dropToClient(func() func(h2.Frame) bool {
			first := true // the first update sets the initial window
			return func(f h2.Frame) bool {
				drop := f.Type == http2.FrameWindowUpdate && f.Stream == 0 && !first
				first = first && (f.Type != http2.FrameWindowUpdate || f.Stream != 0)
				return drop
			}
		}))},
		{Fault{
			ID:     "h2-settings-unacknowledged",
			Title:  "SETTINGS are never acknowledged",
			Breaks: []string{"http2.connection.settings-acknowledged"},
			Source: "hand-written HTTP/2 servers; clients give up with SETTINGS_TIMEOUT",
		}, onH2(dropToClient(func() func(h2.Frame) bool {
			return func(f h2.Frame) bool { return f.Type == http2.FrameSettings && f.Flags.Has(http2.FlagSettingsAck) }
		}))},
		{Fault{
			ID:     "h2-ping-unanswered",
			Title:  "PING is not answered",
			Breaks: []string{"http2.connection.ping"},
			Source: "load balancers that keep a connection whose server is gone; clients' keepalive closes it",
		}, onH2(dropToClient(func() func(h2.Frame) bool {
			return func(f h2.Frame) bool { return f.Type == http2.FramePing && f.Flags.Has(http2.FlagPingAck) }
		}))},
		{Fault{
			ID:     "h2-capital-names",
			Title:  "Header names begin with capitals over HTTP/2 too",
			Breaks: []string{"http2.header.fields"},
			Source: "gateways that copy header names from HTTP/1.1",
		}, onH2(capitalNames)},
	}
}

// resetForEnd replaces END_STREAM, on DATA and trailers, by RST_STREAM.
func resetForEnd() h2Stage {
	return h2Stage{toClient: func(f h2.Frame, next func(h2.Frame)) {
		over := f.EndsStream()
		if over {
			f.Flags &^= http2.FlagDataEndStream
		}
		next(f)
		if over {
			next(h2.Frame{Type: http2.FrameRSTStream, Stream: f.Stream, Payload: make([]byte, 4)})
		}
	}}
}

// trailersWithoutEnd moves END_STREAM from trailers to a separate frame.
func trailersWithoutEnd() h2Stage {
	headed := map[uint32]bool{}
	return h2Stage{toClient: func(f h2.Frame, next func(h2.Frame)) {
		trailers := f.Type == http2.FrameHeaders && headed[f.Stream] && f.EndsStream()
		if trailers {
			f.Flags &^= http2.FlagHeadersEndStream
		}
		if f.Type == http2.FrameHeaders {
			headed[f.Stream] = true
		}
		next(f)
		if trailers {
			next(h2.Frame{Type: http2.FrameData, Flags: http2.FlagDataEndStream, Stream: f.Stream})
		}
	}}
}

// streamsPerConnection is how many streams goAwayCuts serves.
const streamsPerConnection = 10

// goAwayCuts ends a connection after streamsPerConnection streams.
func goAwayCuts() h2Stage {
	ended, last, over := 0, uint32(0), false
	return h2Stage{
		toClient: func(f h2.Frame, next func(h2.Frame)) {
			if over {
				return
			}
			next(f)
			last = max(last, f.Stream)
			if f.EndsStream() {
				ended++
			}
			if over = ended == streamsPerConnection; over {
				payload := binary.BigEndian.AppendUint32(nil, last)
				next(h2.Frame{Type: http2.FrameGoAway, Payload: append(payload, 0, 0, 0, 0)})
			}
		},
		cut: func() bool { return over },
	}
}

// ampleWindow is the increment that makes a server ignore windows.
const ampleWindow = 1 << 30

// windowUpdate returns a WINDOW_UPDATE frame.
func windowUpdate(stream, add uint32) h2.Frame {
	return h2.Frame{Type: http2.FrameWindowUpdate, Stream: stream, Payload: binary.BigEndian.AppendUint32(nil, add)}
}

// windowIgnored replaces the client's WINDOW_UPDATE frames by huge ones.
func windowIgnored() h2Stage {
	seenSettings := false
	return h2Stage{toServer: func(f h2.Frame, next func(h2.Frame)) {
		if f.Type == http2.FrameWindowUpdate {
			return
		}
		next(f)
		switch {
		case f.Type == http2.FrameSettings && !seenSettings:
			seenSettings = true
			next(windowUpdate(0, ampleWindow))
		case f.Type == http2.FrameHeaders && f.Flags.Has(http2.FlagHeadersEndHeaders):
			next(windowUpdate(f.Stream, ampleWindow))
		}
	}}
}

// dropToClient removes the frames that drop selects; each connection calls drop anew.
func dropToClient(drop func() func(h2.Frame) bool) func() h2Stage {
	return func() h2Stage {
		drop := drop()
		return h2Stage{toClient: func(f h2.Frame, next func(h2.Frame)) {
			if !drop(f) {
				next(f)
			}
		}}
	}
}

// capitalNames rewrites header blocks with names in the case of HTTP/1.1.
func capitalNames() h2Stage {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	decoder := hpack.NewDecoder(hpackTable, func(f hpack.HeaderField) {
		if !strings.HasPrefix(f.Name, ":") {
			f.Name = textproto.CanonicalMIMEHeaderKey(f.Name)
		}
		_ = encoder.WriteField(f) // into memory
	})
	return h2Stage{toClient: func(f h2.Frame, next func(h2.Frame)) {
		if f.Type == http2.FrameHeaders || f.Type == http2.FrameContinuation {
			block.Reset()
			if _, err := decoder.Write(f.Payload); err == nil {
				f.Payload = bytes.Clone(block.Bytes())
			}
		}
		next(f)
	}}
}

// hpackTable is the initial size of the dynamic table of HPACK.
const hpackTable = 4096
