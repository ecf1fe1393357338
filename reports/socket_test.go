package reports

import (
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// socketWithStream3 is a WebSocket on which output of an unknown stream came, after a ping that
// the script sent in a frame that is not masked, and input.
func socketWithStream3() family {
	c := &clock{}
	f := family{name: "stdio", verdict: pointing("stdio.message.valid", 9), want: []string{
		"→ @59    ping  length 2  not masked", "→ @63    binary  length 3", `in`, "→ @72    text unfinished reserved bits 100  length 9, 1 of them present",
		"← @0     pong  length 2", "← @4     binary  length 3  data  stdout 0..2", "^^ ◀ stdio.message.valid",
		"← @14    text  length 24  end  exit 3", "close  length 2  code 1000", "by a close frame",
	}}
	head := "GET /attach?cmd=x HTTP/1.1\r\nhost: h\r\nUpgrade: websocket\r\n\r\n"
	out := []byte(head)
	out = append(out, wire.AppendWSServer(nil, wire.WSPing, []byte("hi"))...)
	out = append(out, wire.AppendWSClient(nil, wire.WSBinary, [4]byte{1, 2, 3, 4}, []byte("in\n"))...)
	out = append(out, wire.AppendWSHead(nil, wire.WSHead{Opcode: wire.WSText, RSV: 4, Length: 9})...)
	out = append(out, '{')
	in := []byte("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")
	for _, m := range []struct {
		op      wire.WSOpcode
		payload string
	}{{wire.WSPong, "hi"}, {wire.WSBinary, "\x01ok"}, {wire.WSBinary, "\x03no"}, {wire.WSText, `{"type":"exit","code":3}`}, {wire.WSClose, "\x03\xe8"}} {
		in = wire.AppendWSServer(in, m.op, []byte(m.payload))
	}
	f.conn = bundle.Conn{
		HTTP: "1.1", Dialed: c.at(0), Sent: bundle.NewBlob(out, nil), Received: bundle.NewBlob(in, nil),
		Writes: []bundle.Chunk{{Len: len(head), At: c.at(10)}, {Off: int64(len(head)), Len: len(out) - len(head), At: c.at(10)}},
	}
	f.e = bundle.Exchange{
		Name: "p", Op: "start", Surface: "stdio", Shape: bundle.ShapeStdio, Codec: "json", Invoked: c.at(10), Outcome: bundle.OutcomeComplete,
		Request:  bundle.Request{Method: "GET", Path: "/attach?cmd=x"},
		Response: &bundle.Response{Proto: "HTTP/1.1", Status: 101, Framing: "upgrade", Head: c.at(300), Body: 44},
		Frames: []bundle.Frame{
			{Flags: 0x8a, Len: 2, Head: []byte("hi"), At: c.at(10), Event: -1},
			{Flags: 0x82, Off: 4, Len: 3, Head: []byte("\x01ok"), At: c.at(10), Event: 0},
			{Flags: 0x82, Off: 9, Len: 3, Head: []byte("\x03no"), At: c.at(10), Event: -1},
			{Flags: 0x81, Off: 14, Len: 24, Head: []byte(`{"type":"exit","code":3}`), At: c.at(10), Event: 1},
		},
		Events: []bundle.Event{{Kind: bundle.EventData, Stream: "stdout", Frame: 1, Len: 2}, {Kind: bundle.EventEnd, Frame: 3, Exit: &bundle.Exit{Code: 3}}},
	}
	closed := c.at(10)
	f.e.Frames = append(f.e.Frames, bundle.Frame{Flags: 0x88, Off: 40, Len: 2, Head: []byte("\x03\xe8"), At: closed, Event: -1})
	f.e.Closing = &bundle.Closing{At: closed, Code: 1000}
	f.e.Response.Ended = c.ptr(10)
	return f
}
