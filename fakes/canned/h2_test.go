package canned

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"assay/internal/envd/process"
	"assay/internal/wire"
	"assay/internal/wire/h2"
)

// Every dialect has the same events, and ends as its protocol requires.
func TestEveryDialectHoldsTheEventsOfTheFile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		contentType string
		framing     wire.Protocol
		json        bool
		ends        string // the last envelope
	}{
		{"application/connect+json", wire.Connect, true, "\x02\x00\x00\x00\x02{}"},
		{"application/connect+proto", wire.Connect, false, "\x02\x00\x00\x00\x02{}"},
		{"application/grpc", wire.GRPC, false, ""},
		{"application/grpc+json", wire.GRPC, true, ""},
		{"application/grpc-web+proto", wire.GRPCWeb, false, "\x80\x00\x00\x00\x10grpc-status: 0\r\n"},
		{"application/grpc-web+json", wire.GRPCWeb, true, "\x80\x00\x00\x00\x10grpc-status: 0\r\n"},
	} {
		t.Run(tt.contentType, func(t *testing.T) {
			c := newRig(t, "{exit_code: 3, events: [{lines: 2}, {text: héllo}]}").dialH2(t)
			c.post(1, "/prefix/process.Process/Start", tt.contentType, "anything")
			got, _ := c.answers()
			a := got[1]
			if a == nil || !a.ended || a.fields[":status"] != "200" || !strings.HasPrefix(a.fields["content-type"], strings.SplitN(tt.contentType, "+", 2)[0]) {
				t.Fatalf("answer %+v", a)
			}
			if (tt.framing == wire.GRPC) != (a.fields["grpc-status"] == "0") || !strings.HasSuffix(a.body, tt.ends) {
				t.Errorf("it ends with %q and %v", a.body[len(a.body)-30:], a.fields)
			}
			want := []string{"pid:1000000000", "1\n2\n", "héllo", "exit_code:3 exited:true"}
			if said := eventsOf(t, tt.framing, tt.json, a.body); !slices.Equal(said, want) {
				t.Errorf("events %q, want %q", said, want)
			}
		})
	}
}

// eventsOf decodes the events of a body.
func eventsOf(t *testing.T, framing wire.Protocol, isJSON bool, body string) (said []string) {
	t.Helper()
	d := wire.EnvelopeDecoder{Protocol: framing, OnViolation: func(v wire.Violation) { t.Errorf("violation %v", v) }, OnFrame: func(f wire.Frame) {
		if f.Flags != 0 {
			return
		}
		var m process.StartResponse
		var err error
		if isJSON {
			err = protojson.Unmarshal(f.Payload, &m)
		} else {
			err = proto.Unmarshal(f.Payload, &m)
		}
		if err != nil {
			t.Fatalf("%q: %v", f.Payload, err)
		}
		switch e := m.GetEvent(); {
		case e.GetStart() != nil:
			said = append(said, fmt.Sprintf("pid:%d", e.GetStart().GetPid()))
		case e.GetEnd() != nil:
			said = append(said, fmt.Sprintf("exit_code:%d exited:%v", e.GetEnd().GetExitCode(), e.GetEnd().GetExited()))
		default:
			said = append(said, string(e.GetData().GetStdout()))
		}
	}}
	d.Feed([]byte(body))
	d.Close()
	return said
}

// Pids count up, and start again after the last one.
func TestEveryStreamHasItsOwnPID(t *testing.T) {
	t.Parallel()
	for contentType, isJSON := range map[string]bool{"application/connect+json": true, "application/connect+proto": false} {
		r := newRig(t, "events: []")
		c := r.dialH2(t)
		c.post(1, startPath, contentType, "")
		c.post(3, startPath, contentType, "")
		r.nextPID = math.MaxUint32
		c.post(5, startPath, contentType, "")
		c.post(7, startPath, contentType, "")
		got, _ := c.answers()
		for id, want := range map[uint32]string{1: "pid:1000000000", 3: "pid:1000000001", 5: "pid:4294967295", 7: "pid:1000000000"} {
			if said := eventsOf(t, wire.Connect, isJSON, got[id].body); said[0] != want {
				t.Errorf("%s: stream %d has %s, want %s", contentType, id, said[0], want)
			}
		}
	}
}

// SendSignal ends a stream in every dialect, and finds nothing the second time.
func TestASignalEndsAStreamInEveryDialect(t *testing.T) {
	t.Parallel()
	asJSON := fmt.Sprintf(`{"process":{"pid":%d},"signal":"SIGNAL_SIGKILL"}`, firstPID)
	asProto, err := proto.Marshal(&process.SendSignalRequest{Process: &process.ProcessSelector{Selector: &process.ProcessSelector_Pid{Pid: firstPID}}})
	if err != nil {
		t.Fatal(err)
	}
	enveloped := func(p []byte) string { return string(wire.AppendEnvelope(nil, 0, p)) }
	for _, tt := range []struct{ stream, unary, body, gone string }{
		{"application/connect+json", "application/json", asJSON, "404"},
		{"application/connect+proto", "application/proto", string(asProto), "404"},
		{"application/grpc", "application/grpc", enveloped(asProto), "5"},
		{"application/grpc+json", "application/grpc+json", enveloped([]byte(asJSON)), "5"},
		{"application/grpc-web", "application/grpc-web", enveloped(asProto), "grpc-status: 5"},
		{"application/grpc-web+json", "application/grpc-web+json", enveloped([]byte(asJSON)), "grpc-status: 5"},
	} {
		t.Run(tt.stream, func(t *testing.T) {
			r := newRig(t, ticks)
			c := r.dialH2(t)
			c.post(1, startPath, tt.stream, "")
			c.post(3, signalPath, tt.unary, tt.body)
			got, _ := c.answers()
			if got[1] == nil || !got[1].ended || got[3] == nil || !got[3].ended || got[3].fields[":status"] != "200" {
				t.Fatalf("the stream %+v, the signal %+v", got[1], got[3])
			}
			if r.counters.killed != 1 || r.wheel.held != 0 {
				t.Errorf("counters %+v", r.counters)
			}
			c.post(5, signalPath, tt.unary, tt.body)
			got, _ = c.answers()
			a := got[5]
			if text := a.fields[":status"] + " " + a.fields["grpc-status"] + " " + a.body; !strings.Contains(text, tt.gone) {
				t.Errorf("the response to the second signal is %q", text)
			}
		})
	}
}

// Not a byte more than the windows allow is sent, and the rest follows when they open.
func TestWindowsAreHonoured(t *testing.T) {
	t.Parallel()
	r := newRig(t, "events: [{size: 40000, times: 3}]")
	c := r.dialH2(t)
	c.send("", func(f *http2.Framer) error {
		return f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1000})
	})
	c.post(1, "/commands", "application/json", "{}")
	got, _ := c.answers()
	if n := len(got[1].body); n != 1000 {
		t.Fatalf("%d bytes in a window of 1000", n)
	}
	total := len(got[1].body)
	c.send("", func(f *http2.Framer) error { return f.WriteWindowUpdate(1, 1<<20) })
	got, _ = c.answers()
	if total += len(got[1].body); total != h2.DefaultWindow {
		t.Fatalf("%d bytes in the connection's window of %d", total, h2.DefaultWindow)
	}
	c.send("", func(f *http2.Framer) error { return f.WriteWindowUpdate(0, 1<<20) })
	got, _ = c.answers()
	if a := got[1]; !a.ended || total+len(a.body) < 120_000 || r.counters.ok != 1 {
		t.Errorf("ended %v after %d bytes, counters %+v", a.ended, total+len(a.body), r.counters)
	}
}

func TestAResetEndsAStream(t *testing.T) {
	t.Parallel()
	r := newRig(t, ticks)
	c := r.dialH2(t)
	c.post(1, "/commands", "application/json", "{}")
	c.send("", func(f *http2.Framer) error { return f.WriteRSTStream(1, http2.ErrCodeCancel) })
	if r.counters.killed != 1 || r.wheel.held != 0 || len(c.conn.h2.calls) != 0 {
		t.Errorf("counters %+v, %d timers, %d calls", r.counters, r.wheel.held, len(c.conn.h2.calls))
	}
}

func TestPingsAndSettingsAreAnswered(t *testing.T) {
	t.Parallel()
	c := newRig(t, ticks).dialH2(t)
	c.send("", func(f *http2.Framer) error { return f.WritePing(false, [8]byte{1}) })
	_, control := c.answers()
	want := []http2.FrameType{http2.FrameSettings, http2.FrameWindowUpdate, http2.FrameSettings, http2.FramePing}
	if !slices.Equal(control, want) {
		t.Errorf("got %v, want %v", control, want)
	}
}

// A connection that breaks the framing gets GOAWAY and is closed.
func TestABrokenConnectionIsClosed(t *testing.T) {
	t.Parallel()
	huge := h2.AppendHeader(nil, http2.FrameHeader{Length: h2.DefaultMaxFrame + 1, StreamID: 1})
	for name, frames := range map[string][]byte{
		"a frame that is too large": huge,
		"an invalid header block":   h2.Frame{Type: http2.FrameHeaders, Flags: http2.FlagHeadersEndHeaders, Stream: 1, Payload: []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}.Append(nil),
		"a push":                    h2.Frame{Type: http2.FramePushPromise, Stream: 1}.Append(nil),
		"a stream of the server":    h2.Frame{Type: http2.FrameHeaders, Flags: http2.FlagHeadersEndHeaders, Stream: 2}.Append(nil),
		"a stray continuation":      h2.Frame{Type: http2.FrameContinuation, Stream: 1}.Append(nil),
		"padding without room":      h2.Frame{Type: http2.FrameHeaders, Flags: http2.FlagHeadersPadded | http2.FlagHeadersEndHeaders, Stream: 1, Payload: []byte{9, 0}}.Append(nil),
		"an increment of 0":         h2.Frame{Type: http2.FrameWindowUpdate, Payload: make([]byte, 4)}.Append(nil),
		"settings of half a pair":   h2.Frame{Type: http2.FrameSettings, Payload: []byte{0, 0, 0}}.Append(nil),
		"data of a missing stream":  h2.Frame{Type: http2.FrameData, Stream: 7}.Append(nil),
		"an interrupted head":       append(h2.Frame{Type: http2.FrameHeaders, Stream: 1}.Append(nil), h2.Frame{Type: http2.FramePing, Payload: make([]byte, 8)}.Append(nil)...),
	} {
		t.Run(name, func(t *testing.T) {
			c := newRig(t, ticks).dialH2(t)
			c.in.WriteString(c.rig.say(c.conn, string(frames)))
			if _, control := c.answers(); !slices.Contains(control, http2.FrameGoAway) || !c.conn.closed {
				t.Errorf("frames %v, closed %v", control, c.conn.closed)
			}
		})
	}
}

// A header block is cached only if it means the same on every connection.
func TestOnlyStaticBlocksAreRemembered(t *testing.T) {
	t.Parallel()
	r := newRig(t, ticks)
	c := r.dialH2(t)
	c.post(1, startPath, "application/json", "") // whose encoder adds fields to the table
	if n := len(r.routes); n != 0 {
		t.Errorf("%d cached blocks change the table", n)
	}
	block := h2.EncodeFields(wire.Field{Name: ":method", Value: "POST"}, wire.Field{Name: ":path", Value: "/commands"})
	r.say(c.conn, string(h2.Block{Stream: 3, Fields: block}.Append(nil, h2.DefaultMaxFrame)))
	if n := len(r.routes); n != 1 {
		t.Errorf("%d blocks are cached, want the static one", n)
	}
}

// Events arrive on time and never early, with intervals from a millisecond to an hour.
func TestEventsAreNeverEarly(t *testing.T) {
	t.Parallel()
	for _, every := range []time.Duration{time.Millisecond, 700 * time.Millisecond, time.Second, 90 * time.Minute} {
		r := newRig(t, fmt.Sprintf("{interval: %v, events: [{lines: 1, times: 3}]}", every))
		r.now = 12345
		c := r.dial()
		r.say(c, start(""))
		begin := r.now
		for n := 1; n <= 3; n++ {
			due := begin + int64(n)*every.Nanoseconds()
			for r.now < due-1 { // as the loop does: never longer than the wheel allows
				r.turn(min(due-1, r.now+max(1, r.wheel.wait(r.now))))
			}
			if got := r.paper.take(c); got != "" {
				t.Fatalf("every %v: event %d is early: %q", every, n, got)
			}
			r.turn(due + 1<<slotBits)
			if got := r.paper.take(c); !strings.Contains(got, fmt.Sprintf(`"data":"%d\n"`, n)) {
				t.Fatalf("every %v: event %d is late: %q", every, n, got)
			}
		}
	}
}
