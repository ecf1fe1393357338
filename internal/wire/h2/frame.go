package h2

import (
	"encoding/binary"
	"math"

	"golang.org/x/net/http2"
)

const (
	// HeaderLen is the length of a frame header (RFC 9113, section 4.1).
	HeaderLen = 9
	// DefaultMaxFrame is the initial MAX_FRAME_SIZE, which every peer accepts (section 6.5.2).
	DefaultMaxFrame = 16_384
	// DefaultWindow is the window of a new connection, and of a new stream unless
	// SETTINGS change it (section 6.9.2).
	DefaultWindow = 65_535
	// MaxWindow is the largest window (section 6.9.1), and the largest stream id.
	MaxWindow = math.MaxInt32
)

// reserved is the bit before a stream id, which a receiver ignores.
const reserved = 1 << 31

// Frame is one frame. None of its fields is checked.
type Frame struct {
	Type    http2.FrameType
	Flags   http2.Flags
	Stream  uint32
	Payload []byte
}

// Append appends the frame to dst. The payload must be shorter than 2^24 bytes.
func (f Frame) Append(dst []byte) []byte {
	return append(AppendHeader(dst, http2.FrameHeader{
		Length: uint32(len(f.Payload)), Type: f.Type, Flags: f.Flags, StreamID: f.Stream,
	}), f.Payload...)
}

// EndsStream reports whether the frame carries END_STREAM.
func (f Frame) EndsStream() bool {
	return (f.Type == http2.FrameData || f.Type == http2.FrameHeaders) && f.Flags.Has(http2.FlagDataEndStream)
}

// AppendHeader appends a frame header to dst: the low 24 bits of the length, and all
// 32 bits of the stream id.
func AppendHeader(dst []byte, h http2.FrameHeader) []byte {
	dst = append(dst, byte(h.Length>>16), byte(h.Length>>8), byte(h.Length), byte(h.Type), byte(h.Flags))
	return binary.BigEndian.AppendUint32(dst, h.StreamID)
}

// ParseHeader reads a frame header from b, which holds at least HeaderLen bytes.
func ParseHeader(b []byte) http2.FrameHeader {
	return http2.FrameHeader{
		Length:   uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]),
		Type:     http2.FrameType(b[3]),
		Flags:    http2.Flags(b[4]),
		StreamID: binary.BigEndian.Uint32(b[5:]) &^ reserved,
	}
}

// AppendSettings appends a SETTINGS frame.
func AppendSettings(dst []byte, settings ...http2.Setting) []byte {
	dst = AppendHeader(dst, http2.FrameHeader{Type: http2.FrameSettings, Length: uint32(6 * len(settings))})
	for _, s := range settings {
		dst = AppendSetting(dst, s)
	}
	return dst
}

// AppendSetting appends one parameter of a SETTINGS payload.
func AppendSetting(dst []byte, s http2.Setting) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(dst, uint16(s.ID)), s.Val)
}

// AppendWindowUpdate appends a WINDOW_UPDATE frame.
func AppendWindowUpdate(dst []byte, stream, increment uint32) []byte {
	h := http2.FrameHeader{Type: http2.FrameWindowUpdate, Length: 4, StreamID: stream}
	return binary.BigEndian.AppendUint32(AppendHeader(dst, h), increment)
}

// AppendReset appends a RST_STREAM frame.
func AppendReset(dst []byte, stream uint32, code http2.ErrCode) []byte {
	h := http2.FrameHeader{Type: http2.FrameRSTStream, Length: 4, StreamID: stream}
	return binary.BigEndian.AppendUint32(AppendHeader(dst, h), uint32(code))
}

// AppendGoAway appends a GOAWAY frame without debug data.
func AppendGoAway(dst []byte, last uint32, code http2.ErrCode) []byte {
	dst = AppendHeader(dst, http2.FrameHeader{Type: http2.FrameGoAway, Length: 8})
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(dst, last), uint32(code))
}

// AppendData appends one DATA frame.
func AppendData(dst []byte, stream uint32, p []byte, end bool) []byte {
	f := Frame{Type: http2.FrameData, Stream: stream, Payload: p}
	if end {
		f.Flags = http2.FlagDataEndStream
	}
	return f.Append(dst)
}

// Block is a header block to send on a stream.
type Block struct {
	Stream    uint32
	Fields    []byte // encoded
	EndStream bool
}

// Append appends a HEADERS frame, followed by CONTINUATION frames if the block is
// longer than maxFrame.
func (b Block) Append(dst []byte, maxFrame int) []byte {
	f := Frame{Type: http2.FrameHeaders, Stream: b.Stream}
	if b.EndStream {
		f.Flags = http2.FlagHeadersEndStream
	}
	for rest := b.Fields; ; f.Type, f.Flags = http2.FrameContinuation, 0 {
		n := min(len(rest), maxFrame)
		f.Payload, rest = rest[:n], rest[n:]
		if len(rest) == 0 {
			f.Flags |= http2.FlagHeadersEndHeaders // the same bit in CONTINUATION
			return f.Append(dst)
		}
		dst = f.Append(dst)
	}
}
