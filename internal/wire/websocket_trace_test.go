package wire

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
