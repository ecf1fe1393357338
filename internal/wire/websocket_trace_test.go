package wire

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// traceWS decodes frames with a decoder that has only its options.
func traceWS(chunks [][]byte, d WSDecoder) []string {
	var t trace
	d.OnViolation = t.violation
	d.OnPayload = t.body
	d.OnFrame = func(f WSFrame) {
		h := f.Head
		t.add("frame %d fin=%t rsv=%d %s %d/%d", f.Off, h.FIN, h.RSV, h.Opcode, h.Length, h.LengthBits)
		if h.Masked {
			t.add("key %x", h.Key)
		}
	}
	d.OnMessage = func(m WSMessage) {
		if m.Dropped {
			t.add("message %d %s of %d frames, %d bytes dropped", m.Off, m.Opcode, m.Frames, m.Size)
			return
		}
		t.add("message %d %s of %d frames %q", m.Off, m.Opcode, m.Frames, m.Payload)
		if code, reason, ok := ParseWSClose(m.Payload); m.Opcode == WSClose && ok {
			t.add("close %d %q", code, reason)
		}
	}
	feeder(chunks, d.Feed, func() {})
	t.add("idle %t ended %t lost %t skipped %d", d.Idle(), d.Ended(), d.Lost(), d.Skipped())
	d.Close()
	return t.lines
}

// wsOptions are the options of a vector: rsv is the bits that extensions use.
func (v vector) wsOptions(t *testing.T, fromClient bool) WSDecoder {
	t.Helper()
	d := WSDecoder{FromClient: fromClient}
	if s := v.header["rsv"]; s != "" {
		bits, err := strconv.ParseUint(s, 10, 3)
		if err != nil {
			t.Fatal(err)
		}
		d.AllowedRSV = byte(bits)
	}
	return d
}

// traceWSUpgrade decodes a response to the handshake of RFC 6455, section 1.3, and the frames
// after it, whose offsets begin anew.
func (v vector) traceWSUpgrade(t *testing.T, chunks [][]byte) []string {
	t.Helper()
	var tr trace
	var frames [][]byte
	offer := WSOffer{Key: wsExampleKey, Protocols: strings.Fields(v.header["protocols"])}
	d := ResponseDecoder{
		Upgrade: func() bool { return true },
		OnHead: func(h Head) {
			tr.add("head %d %d", h.Off, h.Status)
			for _, v := range CheckWSUpgrade(h, offer) {
				tr.violation(v)
			}
		},
		OnEnd:       func([]Field) { tr.add("end") },
		OnSwitched:  func(p []byte) { frames = append(frames, slices.Clone(p)) },
		OnViolation: tr.violation,
	}
	feeder(chunks, d.Feed, func() {})
	if off, ok := d.Switched(); ok {
		tr.add("switched %d", off)
		tr.lines = append(tr.lines, traceWS(frames, v.wsOptions(t, false))...)
	}
	return tr.lines
}

// traceStdio decodes the frames of a server, and the messages of stdio in them. Offsets are
// relative to the message.
func traceStdio(chunks [][]byte) []string {
	var t trace
	var decoder StdioDecoder
	d := WSDecoder{OnViolation: t.violation, OnMessage: func(m WSMessage) {
		if m.Opcode == WSClose {
			code, reason, _ := ParseWSClose(m.Payload)
			t.add("close %d %q", code, reason)
			return
		}
		out, violations := decoder.Decode(m.Opcode, m.Payload)
		for _, v := range violations {
			t.violation(v)
		}
		switch out.Type {
		case "":
			t.add("output %d %q", out.Stream, out.Data)
		case StdioExit:
			t.add("exit %d", out.Code)
		default:
			t.add("%s %q", out.Type, out.Message)
		}
	}}
	feeder(chunks, d.Feed, func() {})
	d.Close()
	return t.lines
}
