package transport

import (
	"bytes"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/wire"
	"assay/internal/wire/h2"
)

// decodeH2 runs bytes through an HTTP/2 connection without a socket, in pieces of step
// bytes, and returns the records of three streams.
func decodeH2(t *testing.T, p []byte, step int) []bundle.Exchange {
	t.Helper()
	rec := NewRecorder(NewClock(), nil)
	c := newConn(rec, "c", "")
	h := newMux(c, Options{HTTP: H2C})
	c.proto = h
	c.mu.Lock()
	for i, call := range []Call{
		{RPC: "process.Process/Start", Shape: bundle.ShapeStream, Codec: "json", Method: "POST"},
		{RPC: "process.Process/Start", Protocol: "grpc", Shape: bundle.ShapeStream, Codec: "proto", Method: "POST"},
		{RPC: "process.Process/List", Protocol: "grpc-web", Shape: bundle.ShapeUnary, Codec: "json", Method: "POST"},
	} {
		id := uint32(2*i + 1)
		x := rec.newExchange(call, c, &c.mu)
		x.rec.Stream = id
		h.streams[id] = &stream{id: id, x: x, sendWindow: h2.DefaultWindow, recvWindow: streamWindow, length: -1, sentEnd: true}
		h.touched, h.nextID = id, id+2
	}
	c.mu.Unlock()
	for len(p) > 0 {
		n := min(step, len(p))
		c.feed(p[:n])
		p = p[n:]
	}
	_, xs := rec.Finish(nil)
	return xs
}

// FuzzHTTP2: no bytes make the decoding of HTTP/2 fail, and their division into reads
// changes nothing but times.
func FuzzHTTP2(f *testing.F) {
	var b bytes.Buffer
	var block bytes.Buffer
	w := http2.NewFramer(&b, nil)
	w.AllowIllegalWrites = true
	e := hpack.NewEncoder(&block)
	headers := func(id uint32, end bool, fields ...string) {
		block.Reset()
		for i := 0; i < len(fields); i += 2 {
			_ = e.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
		}
		p := block.Bytes()
		_ = w.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndStream: end, BlockFragment: p[:1]})
		_ = w.WriteContinuation(id, true, p[1:])
	}
	_ = w.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 9})
	headers(1, false, ":status", "200", "content-type", "application/connect+json")
	_ = w.WriteData(1, false, wire.AppendEnvelope(nil, 0, []byte(`{"event":{"start":{"pid":7}}}`)))
	headers(3, false, ":status", "200", "content-type", "application/grpc+proto", "grpc-encoding", "gzip")
	_ = w.WriteData(3, false, wire.AppendEnvelope(nil, 1, call.Compress([]byte("\x0a\x04\x0a\x02\x08\x07"))))
	_ = w.WritePing(false, [8]byte{1})
	headers(5, false, ":status", "200", "content-type", "application/grpc-web+json")
	_ = w.WriteDataPadded(5, true, wire.AppendEnvelope(wire.AppendEnvelope(nil, 0, []byte("{}")), 0x80, []byte("grpc-status: 0\r\n")), make([]byte, 9))
	headers(3, true, "grpc-status", "5", "grpc-message", "no%20pid")
	f.Add(bytes.Clone(b.Bytes()))
	_ = w.WriteRSTStream(1, http2.ErrCodeCancel)
	f.Add(bytes.Clone(b.Bytes()))
	_ = w.WriteGoAway(0, http2.ErrCodeNo, []byte("bye"))
	_ = w.WriteData(99, false, nil)
	f.Add(bytes.Clone(b.Bytes()))
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n"))
	f.Fuzz(func(t *testing.T, p []byte) {
		want := timeless(t, decodeH2(t, p, len(p)+1))
		for _, step := range []int{1, 7} {
			if got := timeless(t, decodeH2(t, p, step)); !bytes.Equal(got, want) {
				t.Fatalf("in steps of %d:\n%s\nin one:\n%s", step, got, want)
			}
		}
	})
}

func TestDecodedStreamsSayWhatTheirProtocolSays(t *testing.T) {
	var b, block bytes.Buffer
	w := http2.NewFramer(&b, nil)
	e := hpack.NewEncoder(&block)
	headers := func(end bool, fields ...string) {
		block.Reset()
		for i := 0; i < len(fields); i += 2 {
			_ = e.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
		}
		_ = w.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, EndStream: end, EndHeaders: true, BlockFragment: block.Bytes()})
	}
	_ = w.WriteSettings()
	headers(false, ":status", "200", "content-type", "application/grpc", "grpc-encoding", "gzip")
	_ = w.WriteData(3, false, wire.AppendEnvelope(nil, 1, call.Compress([]byte("\x0a\x04\x0a\x02\x08\x07"))))
	headers(true, "grpc-status", "5", "grpc-message", "no%20pid", "x-more", "yes")
	x := decodeH2(t, b.Bytes(), 5)[1]
	if len(x.Events) != 1 || x.Events[0].PID != 7 || x.Error == nil || x.Error.Code != "not_found" || x.Error.Message != "no pid" ||
		x.GRPC.Code != 5 || x.GRPC.In != "trailers" || len(x.GRPC.Metadata) != 1 || len(x.Violations) != 0 || x.Outcome != bundle.OutcomeComplete {
		t.Errorf("exchange = %+v", x)
	}
}

func TestReadingWaitsForAPeerThatDoesNotTakeItsAcknowledgements(t *testing.T) {
	t.Parallel()
	c := newConn(NewRecorder(NewClock(), nil), "c", "")
	h := newMux(c, Options{HTTP: H2C})
	c.proto = h
	var b bytes.Buffer
	w := http2.NewFramer(&b, nil)
	_ = w.WriteSettings()
	for range 8192 {
		_ = w.WritePing(false, [8]byte{})
	}
	reads := 0
	for p := b.Bytes(); len(p) > 0; reads++ {
		_, limit, ok := c.look()
		if !ok || limit == 0 {
			break
		}
		n := min(limit, len(p), 4096)
		c.feed(p[:n])
		p = p[n:]
	}
	if n := len(h.control); n <= controlLimit || n > controlLimit+4096 {
		t.Errorf("%d bytes of acknowledgements wait after %d reads, want little more than %d", n, reads, controlLimit)
	}
}

func TestOwnFramesWaitForARawFrameThatIsSentInPieces(t *testing.T) {
	c := newConn(NewRecorder(NewClock(), nil), "c", "")
	h := newMux(c, Options{HTTP: H2C})
	c.proto = h
	h.enqueue([]byte("frames"))
	frame := h2.AppendHeader(nil, http2.FrameHeader{Type: 0x42})
	for i := range frame {
		whole := i == len(frame)-1
		woken := c.steered.wait()
		h.sending(frame[i:i+1], c.recorder.clock.Stamp())
		if whole {
			select {
			case <-woken:
			default:
				t.Error("the writer of own frames is not woken after the raw frame")
			}
		}
		if p := h.takeControl(); (len(p) > 0) != whole {
			t.Errorf("after %d bytes of a frame %q is taken", i+1, p)
		}
	}
}
