package render

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/internal/wire"
	"assay/scenarios"
)

// Part is a piece of a write: one frame, or the bytes of the segments between frames.
type Part struct {
	Frame *transport.Frame
	Body
}

// Parts renders segments and keeps frames separate: their bytes depend on what was sent
// before. Messages are of the request type of rpc, "" for Start, in a codec.
func (r Renderer) Parts(rpc, codec string, segments []scenarios.Segment) ([]Part, error) {
	in := rendering{r, cmp.Or(rpc, anyRPC), codec}
	var parts []Part
	for len(segments) > 0 {
		if f := segments[0].Frame; f != nil {
			frame, err := in.frame(f)
			if err != nil {
				return nil, err
			}
			parts = append(parts, Part{Frame: &frame})
			segments = segments[1:]
			continue
		}
		n := slices.IndexFunc(segments, func(s scenarios.Segment) bool { return s.Frame != nil })
		if n < 0 {
			n = len(segments)
		}
		out, err := in.segments(segments[:n])
		if err != nil {
			return nil, err
		}
		parts = append(parts, Part{Body: out})
		segments = segments[n:]
	}
	return parts, nil
}

// frame renders one HTTP/2 frame by field. An :authority without a value is the
// target's, and a :path is relative to the target's base path.
func (r rendering) frame(f *scenarios.Frame) (transport.Frame, error) {
	payload, err := r.segments(f.Of)
	if err != nil {
		return transport.Frame{}, err
	}
	out := transport.Frame{
		Type: f.Type, Flags: byte(f.Flags), Stream: f.Stream, Settings: f.Settings,
		Code: f.Code, Last: f.Last, Add: f.Add, Payload: payload.Wire, Length: f.Length,
	}
	for _, field := range f.Fields {
		value := field.Value
		switch {
		case field.Name == ":authority" && value == "":
			value = r.Target.Authority()
		case field.Name == ":path" && strings.HasPrefix(value, "/"):
			value = r.Target.Path("", value)
		}
		out.Fields = append(out.Fields, bundle.Header{Name: field.Name, Value: value})
	}
	return out, nil
}

// ws renders one WebSocket frame by field.
func (r rendering) ws(f *scenarios.WSFrame) ([]byte, error) {
	payload, err := r.segments(f.Of)
	if err != nil {
		return nil, err
	}
	body := payload.Wire
	if f.Code != nil {
		body = wire.AppendWSClose(nil, uint16(*f.Code), string(body))
	}
	op, err := wsOpcode(f.Type)
	if err != nil {
		return nil, err
	}
	h := wire.WSHead{FIN: f.Fin == nil || *f.Fin, RSV: byte(f.RSV), Opcode: op, Masked: f.Mask == nil || *f.Mask, Length: uint64(len(body))}
	if h.Masked {
		h.Key = socketKey
	}
	h.LengthBits = uint8(8 * f.LengthBytes)
	if f.Length != nil {
		h.Length = *f.Length
	}
	p := wire.AppendWSHead(nil, h)
	if h.Masked {
		return wire.AppendWSMasked(p, body, h.Key, 0), nil
	}
	return append(p, body...), nil
}

// socketKey masks the frames that a script writes by field: a fixed key gives the same bytes in
// each run.
var socketKey = [4]byte{0x37, 0xfa, 0x21, 0x3d}

// wsOpcode returns the opcode of a name or a number.
func wsOpcode(name string) (wire.WSOpcode, error) {
	for op := range wire.WSOpcode(16) {
		if op.String() == name {
			return op, nil
		}
	}
	n, err := strconv.ParseUint(name, 0, 4)
	if err != nil {
		return 0, errors.New("the type of a WebSocket frame is a name or a number below 16, not " + strconv.Quote(name))
	}
	return wire.WSOpcode(n), nil
}
