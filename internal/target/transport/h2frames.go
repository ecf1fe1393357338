package transport

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/http2"

	"assay/internal/record/bundle"
	"assay/internal/wire/h2"
)

// maxH2Frames is how many frames of a connection are recorded. A quarter is reserved for
// types other than DATA, WINDOW_UPDATE and PING.
const maxH2Frames = 4096

// Frame is one HTTP/2 frame by field, for raw writes. Nothing of it is checked.
type Frame struct {
	// Type is HEADERS, DATA, SETTINGS, WINDOW_UPDATE, RST_STREAM, GOAWAY, PING,
	// PRIORITY, CONTINUATION or PUSH_PROMISE, a number (0x0b), or preface: the
	// client's preface without SETTINGS, to which no other field applies.
	Type  string
	Flags byte
	// Stream may have its reserved bit set.
	Stream uint32
	// Fields are the header fields of HEADERS and CONTINUATION, in order.
	Fields []bundle.Header
	// Settings are by name (MAX_CONCURRENT_STREAMS) or number, and sent by number.
	Settings map[string]uint32
	// Code is the error code of RST_STREAM and GOAWAY.
	Code uint32
	// Last is the last stream id of GOAWAY.
	Last uint32
	// Add is the increment of WINDOW_UPDATE.
	Add uint32
	// Payload is the payload of any other type, the debug data of GOAWAY, or an encoded
	// header block instead of Fields; the default for PING and PRIORITY is zeros.
	Payload []byte
	// Length replaces the true length of the payload in the header; it has 24 bits.
	Length *int64
}

// FrameBytes renders a frame exactly as its fields say. Header fields are encoded
// without the dynamic table, so that frames can be written in any order, or not at all.
// An unknown name is an error.
func (c *Conn) FrameBytes(f Frame) ([]byte, error) {
	if strings.EqualFold(f.Type, "preface") {
		return []byte(http2.ClientPreface), nil
	}
	kind, err := h2.ParseType(f.Type)
	if err != nil {
		return nil, err
	}
	payload, err := f.payload(kind)
	if err != nil {
		return nil, err
	}
	length := int64(len(payload))
	if f.Length != nil {
		length = *f.Length
	}
	if length < 0 || length >= 1<<24 {
		return nil, fmt.Errorf("an HTTP/2 frame declares its length in 24 bits: %d does not fit", length)
	}
	h := http2.FrameHeader{Length: uint32(length), Type: kind, Flags: http2.Flags(f.Flags), StreamID: f.Stream}
	return append(h2.AppendHeader(nil, h), payload...), nil
}

// payload renders the payload of a frame.
func (f *Frame) payload(kind http2.FrameType) ([]byte, error) {
	switch kind {
	case http2.FrameHeaders, http2.FrameContinuation:
		if len(f.Fields) > 0 {
			return h2.EncodeFields(wireFields(f.Fields)...), nil
		}
		return f.Payload, nil
	case http2.FrameSettings:
		return f.settings()
	case http2.FrameRSTStream:
		return binary.BigEndian.AppendUint32(nil, f.Code), nil
	case http2.FrameWindowUpdate:
		return binary.BigEndian.AppendUint32(nil, f.Add), nil
	case http2.FrameGoAway:
		b := binary.BigEndian.AppendUint32(nil, f.Last)
		return append(binary.BigEndian.AppendUint32(b, f.Code), f.Payload...), nil
	case http2.FramePing:
		if f.Payload == nil {
			return make([]byte, 8), nil
		}
	case http2.FramePriority:
		if f.Payload == nil {
			return make([]byte, 5), nil
		}
	default:
	}
	return f.Payload, nil
}

func (f *Frame) settings() ([]byte, error) {
	list := make([]http2.Setting, 0, len(f.Settings))
	for name, value := range f.Settings {
		id, err := h2.ParseSetting(name)
		if err != nil {
			return nil, err
		}
		list = append(list, http2.Setting{ID: id, Val: value})
	}
	slices.SortFunc(list, func(a, b http2.Setting) int { return cmp.Compare(a.ID, b.ID) })
	b := bytes.Clone(f.Payload)
	for _, s := range list {
		b = h2.AppendSetting(b, s)
	}
	return b, nil
}

// describe describes the content of a frame, as far as that needs no state of the
// connection, without secrets.
func describe(f http2.Frame, redact redactor) string {
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if f.IsAck() {
			return "ACK"
		}
		var parts []string
		_ = f.ForeachSetting(func(s http2.Setting) error {
			if len(parts) < 32 {
				parts = append(parts, fmt.Sprintf("%s=%d", s.ID, s.Val))
			}
			return nil
		})
		return strings.Join(parts, " ")
	case *http2.PingFrame:
		if f.IsAck() {
			return fmt.Sprintf("ACK %x", f.Data)
		}
		return fmt.Sprintf("%x", f.Data)
	case *http2.GoAwayFrame:
		return strings.TrimSpace(fmt.Sprintf("last stream %d, %s %s", f.LastStreamID, h2.CodeName(f.ErrCode), quoted(f.DebugData(), redact)))
	case *http2.RSTStreamFrame:
		return h2.CodeName(f.ErrCode)
	case *http2.WindowUpdateFrame:
		return fmt.Sprintf("+%d", f.Increment)
	case *http2.DataFrame:
		if f.StreamEnded() {
			return "END_STREAM"
		}
	}
	return ""
}

func quoted(p []byte, redact redactor) string {
	if len(p) == 0 {
		return ""
	}
	return fmt.Sprintf("%.128q", redact.Text(string(p)))
}
