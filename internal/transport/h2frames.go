package transport

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http2"

	"assay/internal/bundle"
)

// frameHeader is the length of an HTTP/2 frame's header.
const frameHeader = 9

// maxH2Frames is how many frames are recorded of a connection. The last quarter
// is kept for those that say something: not DATA, WINDOW_UPDATE or PING.
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
	// Payload is that of any other frame, the debug data of GOAWAY, or what
	// stands for the fields; PING and PRIORITY have zeros without it.
	Payload []byte
	// Length is declared instead of the true length of the payload, in 24 bits.
	Length *int64
}

// FrameBytes renders a frame exactly as its fields say. Fields are encoded
// without the dynamic table, so that frames may be written in another order than
// they were rendered, or not at all. A name that is not known is an error.
func (c *Conn) FrameBytes(f Frame) ([]byte, error) {
	if strings.EqualFold(f.Type, "preface") {
		return []byte(http2.ClientPreface), nil
	}
	kind, err := frameType(f.Type)
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
	b := []byte{byte(length >> 16), byte(length >> 8), byte(length), byte(kind), f.Flags}
	b = binary.BigEndian.AppendUint32(b, f.Stream)
	return append(b, payload...), nil
}

// frameType finds a type by name or number.
func frameType(name string) (http2.FrameType, error) {
	for t := http2.FrameData; t <= http2.FrameContinuation; t++ {
		if strings.EqualFold(t.String(), name) {
			return t, nil
		}
	}
	n, err := strconv.ParseUint(name, 0, 8)
	if err != nil {
		return 0, fmt.Errorf("no HTTP/2 frame type %q: write its name (HEADERS, DATA …), its number, or preface", name)
	}
	return http2.FrameType(n), nil
}

// payload renders what follows the frame's header.
func (f *Frame) payload(kind http2.FrameType) ([]byte, error) {
	switch kind {
	case http2.FrameHeaders, http2.FrameContinuation:
		if len(f.Fields) > 0 {
			return encodeFields(f.Fields), nil
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
		id, err := settingID(name)
		if err != nil {
			return nil, err
		}
		list = append(list, http2.Setting{ID: id, Val: value})
	}
	slices.SortFunc(list, func(a, b http2.Setting) int { return cmp.Compare(a.ID, b.ID) })
	b := bytes.Clone(f.Payload)
	for _, s := range list {
		b = binary.BigEndian.AppendUint16(b, uint16(s.ID))
		b = binary.BigEndian.AppendUint32(b, s.Val)
	}
	return b, nil
}

// settingID finds a setting by name, with or without SETTINGS_, or number.
func settingID(name string) (http2.SettingID, error) {
	short := strings.TrimPrefix(strings.ToUpper(name), "SETTINGS_")
	for id := http2.SettingHeaderTableSize; id <= http2.SettingNoRFC7540Priorities; id++ {
		if id.String() == short {
			return id, nil
		}
	}
	n, err := strconv.ParseUint(name, 0, 16)
	if err != nil {
		return 0, fmt.Errorf("no HTTP/2 setting %q: write its name (MAX_CONCURRENT_STREAMS) or its number", name)
	}
	return http2.SettingID(n), nil
}

// wholeFrame is one frame of a byte stream, valid until more is fed.
type wholeFrame struct {
	http2.FrameHeader
	off   int64 // of its header, in the connection's bytes
	bytes []byte
}

// errFrameTooLong says that a frame is longer than the splitter takes.
var errFrameTooLong = errors.New("the frame is longer than is allowed")

// frameSplitter cuts the bytes of one direction into frames, whatever pieces
// they come in. Memory follows the bytes that really came.
type frameSplitter struct {
	limit int64 // of a payload
	off   int64 // of the present frame
	// buf holds what came of a frame that is not whole; spare is the one that was
	// handed out last.
	buf, spare []byte
}

// feed takes p and calls each for every whole frame, until that returns false.
// A frame over the limit ends it with errFrameTooLong, after its header came.
func (s *frameSplitter) feed(p []byte, each func(f wholeFrame) bool) (over *wholeFrame, err error) {
	for len(p) > 0 {
		head := p
		if len(s.buf) > 0 {
			n := min(len(p), max(0, frameHeader-len(s.buf)))
			s.buf = append(s.buf, p[:n]...)
			head, p = s.buf, p[n:]
		}
		if len(head) < frameHeader {
			if len(s.buf) == 0 {
				s.buf, p = append(s.buf, p...), nil
			}
			continue
		}
		f := wholeFrame{FrameHeader: parseFrameHeader(head), off: s.off}
		if int64(f.Length) > s.limit {
			return &f, errFrameTooLong
		}
		size := frameHeader + int(f.Length)
		if len(s.buf) > 0 {
			n := min(len(p), size-len(s.buf))
			s.buf = append(s.buf, p[:n]...)
			p = p[n:]
			if len(s.buf) < size {
				continue
			}
			f.bytes = s.buf
			s.buf, s.spare = s.spare[:0], s.buf
		} else {
			if len(p) < size {
				s.buf = append(s.buf, p...)
				return nil, nil
			}
			f.bytes, p = p[:size], p[size:]
		}
		s.off += int64(size)
		if !each(f) {
			return nil, nil
		}
	}
	return nil, nil
}

// within reports how much of a frame has come that is not whole.
func (s *frameSplitter) within() int { return len(s.buf) }

func parseFrameHeader(b []byte) http2.FrameHeader {
	return http2.FrameHeader{
		Length:   uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]),
		Type:     http2.FrameType(b[3]),
		Flags:    http2.Flags(b[4]),
		StreamID: binary.BigEndian.Uint32(b[5:]) & (1<<31 - 1),
	}
}

// typeName is the type as it is recorded: its name, or its number.
func typeName(t http2.FrameType) string {
	if t <= http2.FrameContinuation {
		return t.String()
	}
	return fmt.Sprintf("0x%02x", byte(t))
}

// describe says a frame's content in words, as far as it can be read without
// the state of the connection.
func describe(f http2.Frame) string {
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
		return strings.TrimSpace(fmt.Sprintf("last stream %d, %s %s", f.LastStreamID, codeName(f.ErrCode), quoted(f.DebugData())))
	case *http2.RSTStreamFrame:
		return codeName(f.ErrCode)
	case *http2.WindowUpdateFrame:
		return fmt.Sprintf("+%d", f.Increment)
	case *http2.DataFrame:
		if f.StreamEnded() {
			return "END_STREAM"
		}
	}
	return ""
}

func quoted(p []byte) string {
	if len(p) == 0 {
		return ""
	}
	return fmt.Sprintf("%.128q", p)
}

// codeName is an error code's name, or its number.
func codeName(c http2.ErrCode) string {
	if c <= http2.ErrCodeHTTP11Required {
		return c.String()
	}
	return fmt.Sprintf("0x%x", uint32(c))
}
