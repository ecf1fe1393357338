package engine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/bundle"
	"assay/internal/envd/call"
	"assay/internal/surface"
	"assay/internal/transport"
	"assay/internal/wire"
	"assay/scenarios"
)

// stdioRequest returns the handshake of a WebSocket that runs a command. A shell command
// carries the mark as its $0, because the surface has no field for the environment.
func (it *iteration) stdioRequest(ctx context.Context, f call.Form, s *scenarios.Start) (request, error) {
	mark := it.stdioMark(s.As)
	query, err := it.stdioQuery(ctx, s, mark)
	if err != nil {
		return request{}, err
	}
	overrides, err := it.expandHeaders(ctx, s.Headers)
	if err != nil {
		return request{}, err
	}
	var random [16]byte
	sum := sha256.Sum256([]byte(mark))
	copy(random[:], sum[:])
	plan := headerPlan{form: f, overrides: map[string]*string{}}
	for _, field := range call.UpgradeFields(wire.WSKey(random)) {
		plan.overrides[field[0]] = &field[1]
	}
	if bearer := it.in.target.Bearer(); bearer != "" {
		plan.overrides["Authorization"] = &bearer
	}
	for name, value := range overrides {
		for own := range plan.overrides {
			if strings.EqualFold(own, name) {
				delete(plan.overrides, own)
			}
		}
		plan.overrides[name] = value
	}
	req := assemble(transport.Call{
		Surface: surface.Stdio, Shape: bundle.ShapeStdio, Codec: call.JSON, Method: cmp.Or(s.Method, "GET"),
		Path: it.in.target.AttachPath(query), Headers: it.in.headers(plan),
	}, f, nil)
	if s.HTTP != "" {
		req.head = bytes.Replace(req.head, []byte(" HTTP/1.1\r\n"), []byte(" HTTP/"+s.HTTP+"\r\n"), 1)
	}
	return req, nil
}

// stdioMark returns the mark of a process that starts over a WebSocket: the run's mark with the
// permutation, the iteration and the name of the start, by which the process is found in a list.
func (it *iteration) stdioMark(name string) string {
	a := it.in.axes
	return fmt.Sprintf("%s/%s-%s-%s/%s/%s", it.in.mark(), a.Protocol, a.Codec, a.HTTP, it.number(), name)
}

// stdioQuery returns the query of the handshake: the command and its arguments, the terminal,
// then what the script adds, sorted by name.
func (it *iteration) stdioQuery(ctx context.Context, s *scenarios.Start, mark string) (string, error) {
	words := append([]string{s.Cmd}, s.Args...)
	if s.Sh != "" {
		words = append(slices.Clone(it.in.target.Shell()), s.Sh, call.Mark+"="+mark)
	}
	all := call.CommandParameters(words)
	if s.PTY != nil {
		all = append(all, call.Parameter{Name: "pty", Value: "1"},
			call.Parameter{Name: "cols", Value: strconv.FormatUint(uint64(s.PTY.Cols), 10)},
			call.Parameter{Name: "rows", Value: strconv.FormatUint(uint64(s.PTY.Rows), 10)})
	}
	for _, name := range sortedKeys(s.Query) {
		all = slices.DeleteFunc(all, func(p call.Parameter) bool { return p.Name == name })
		if s.Query[name] == nil {
			continue
		}
		value, err := it.expand(ctx, *s.Query[name])
		if err != nil {
			return "", err
		}
		all = append(all, call.Parameter{Name: name, Value: value})
	}
	return call.EncodeParameters(all), nil
}

// prepareSocket renders the message of a step that speaks over a WebSocket.
func (it *iteration) prepareSocket(ctx context.Context, st *scenarios.Step, t *scenarios.Target) (action, error) {
	h, err := it.exchange(t.To)
	if err != nil {
		return action{}, err
	}
	if h.conn == nil {
		return action{}, errUnconnected
	}
	var p []byte
	switch {
	case st.Signal != nil:
		p = h.x.SocketFrame(wire.WSText, wire.AppendStdioSignal(nil, st.Signal.Name))
	case st.Update != nil:
		p = h.x.SocketFrame(wire.WSText, wire.AppendStdioResize(nil, int(st.Update.Cols), int(st.Update.Rows)))
	case st.CloseStdin != nil:
		p = h.x.SocketFrame(wire.WSText, wire.AppendStdioEOF(nil))
	default:
		data, err := it.bytesOf(ctx, st.Input.Data)
		if err != nil {
			return action{}, err
		}
		p = inputFrames(h.x, data)
	}
	return fires(func(ctx context.Context) error { return it.toSocket(ctx, h, [][]byte{p}, 0) })
}

// maxInput is the longest message of an input; longer input is sent in several.
const maxInput = 32 << 10

func inputFrames(x *transport.Exchange, data []byte) []byte {
	if len(data) == 0 {
		return x.SocketFrame(wire.WSBinary, nil)
	}
	var out bytes.Buffer
	for part := range slices.Chunk(data, maxInput) {
		out.Write(x.SocketFrame(wire.WSBinary, part))
	}
	return out.Bytes()
}

// toSocket writes bytes on a WebSocket. Without one there is nothing to write to: the answer to
// the handshake shows why.
func (it *iteration) toSocket(ctx context.Context, h *handle, pieces [][]byte, pause time.Duration) error {
	if s := h.x.Snapshot(); !s.Switched() {
		return errUnconnected
	}
	return it.in.transmit(ctx, h.x, outgoing{pieces: pieces, pause: pause, open: true})
}

// ws renders one WebSocket frame by field.
func (r rendering) ws(ctx context.Context, f *scenarios.WSFrame) ([]byte, error) {
	payload, err := r.segments(ctx, f.Of)
	if err != nil {
		return nil, err
	}
	body := payload.wire
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

// socketFrameCame reports whether a WebSocket frame that fits came.
func socketFrameCame(m scenarios.WSMatch) func(*transport.Exchange) bool {
	return func(x *transport.Exchange) bool {
		s := x.Snapshot()
		return s.Switched() && slices.ContainsFunc(s.Frames, func(f bundle.Frame) bool {
			return m.Fits(wire.WSOpcode(f.Flags&0xf).String(), f.Head, f.Whole)
		})
	}
}

// opFind is the operation of the lists that look for the process of a WebSocket.
const opFind = "find"

// socketPID finds the process of a WebSocket in the target's list by its mark. It returns
// errExpired if the list never shows it.
func (it *iteration) socketPID(ctx context.Context, h *handle) (uint32, error) {
	mark := it.stdioMark(h.name)
	limit := min(it.limit, it.left())
	record := bundle.Await{Step: stepOf(ctx), On: h.name, What: bundle.Wait{Kind: bundle.WaitListed}, Began: it.in.clock.Stamp(), Deadline: int64(limit)}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		over := returned(h.x)
		list, _ := it.in.plain().listed(ctx, it.rec, opFind)
		for _, p := range list {
			if p.mark == mark {
				it.mu.Lock()
				defer it.mu.Unlock()
				h.pid = p.pid
				return p.pid, nil
			}
		}
		if over || sleep(ctx, it.in.poll()) != nil {
			break
		}
	}
	if ctx.Err() != nil && errors.Is(ended(ctx), errInterrupted) {
		return 0, errInterrupted
	}
	record.Ended = it.in.clock.Stamp()
	it.addAwait(record, false)
	return 0, errExpired
}
