package account

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"assay/internal/load"
	"assay/internal/load/loadtest"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// keyText returns the key of a stream.
func (f *fake) keyText(s *Stream) string {
	key := f.Key(s)
	return string(key[:])
}

// switchFields returns the fields of a good 101 response to the request of a stream.
func (f *fake) switchFields(s *Stream) []wire.Field {
	return []wire.Field{{Name: "Upgrade", Value: "websocket"}, {Name: "Connection", Value: "Upgrade"}, {Name: "Sec-WebSocket-Accept", Value: wire.WSAccept(f.keyText(s))}}
}

// attach begins a stream over WebSocket, up to its 101 response.
func attach(tb testing.TB, sink load.Sink, change ...func(*load.Plan)) (*fake, int32, *Stream) {
	tb.Helper()
	p := plan(tb, load.ProtocolWS, load.CodecJSON, load.Check{Kind: load.CheckSequence, First: 1, Lines: 3})
	for _, c := range change {
		c(p)
	}
	f := conduct(p, sink)
	i, s := f.begin()
	f.time = int64(time.Second)
	f.Reading(f.time)
	f.Head(i, s, 101, f.switchFields(s))
	return f, i, s
}

// framesJudged feeds frames to a stream in pieces of at most cut bytes, closes the connection
// and returns the result.
func framesJudged(tb testing.TB, frames string, cut int) load.Result {
	tb.Helper()
	sink := &loadtest.Last{}
	f, i, s := attach(tb, sink)
	for p := []byte(frames); len(p) > 0 && !s.over(); {
		n := min(cut, len(p))
		f.Reading(f.time)
		f.Body(i, s, p[:n])
		f.EndRead(false)
		p = p[n:]
	}
	if !s.over() {
		f.Fail(i, s, Closed(true, false))
	}
	f.run.Finish()
	if sink.Count != 1 || f.entries.Live() != 0 || len(f.extras) != 0 || len(f.cuts.bufs) != len(f.cuts.free) {
		tb.Fatalf("%d results, %d live, %d extras, %d of %d buffers are free", sink.Count, f.entries.Live(), len(f.extras), len(f.cuts.free), len(f.cuts.bufs))
	}
	return sink.Result
}

// head returns the head of a frame that promises a length.
func head(h wire.WSHead) string { return string(wire.AppendWSHead(nil, h)) }

func TestFramesAreJudgedInAnySplit(t *testing.T) {
	frame := func(h wire.WSHead, p string) string { return string(wire.AppendWSFrame(nil, h, []byte(p))) }
	lines, end := loadtest.Out("1\n2\n3\n"), loadtest.Exit(0)+loadtest.CloseWS(1000)
	long := strings.Repeat("x", 300)
	for name, tt := range map[string]struct {
		frames  string
		outcome bundle.StreamOutcome
		fate    load.Fate
		message string
	}{
		"a whole stream":            {loadtest.GoodFrames(), bundle.StreamOK, load.EndedOK, ""},
		"lines cut anywhere":        {loadtest.Out("1") + loadtest.Out("\n2\n") + loadtest.Out("3\n") + end, bundle.StreamOK, load.EndedOK, ""},
		"stderr beside it":          {loadtest.Frame(wire.WSBinary, "\x02oops") + lines + end, bundle.StreamOK, load.EndedOK, ""},
		"a long frame of stderr":    {loadtest.Frame(wire.WSBinary, "\x02"+long) + lines + end, bundle.StreamOK, load.EndedOK, ""},
		"a very long one":           {loadtest.Frame(wire.WSBinary, "\x02"+strings.Repeat("x", 70_000)) + lines + end, bundle.StreamOK, load.EndedOK, ""},
		"fragments and a ping":      {frame(wire.WSHead{Opcode: wire.WSBinary}, "\x011\n") + loadtest.Frame(wire.WSPing, "") + frame(wire.WSHead{FIN: true}, "2\n3\n") + end, bundle.StreamOK, load.EndedOK, ""},
		"pings and pongs":           {loadtest.Frame(wire.WSPing, "a") + lines + loadtest.Frame(wire.WSPong, "") + end, bundle.StreamOK, load.EndedOK, ""},
		"a Close with a reason":     {lines + loadtest.Exit(0) + loadtest.Frame(wire.WSClose, "\x03\xe8bye"), bundle.StreamOK, load.EndedOK, ""},
		"another form of exit":      {lines + loadtest.Frame(wire.WSText, `{ "code": 0, "type": "exit" }`) + loadtest.CloseWS(1000), bundle.StreamOK, load.EndedOK, ""},
		"an exit code":              {lines + loadtest.Exit(3) + loadtest.CloseWS(1000), bundle.StreamCorrupt, load.EndedError, "exit code 3"},
		"output lost":               {loadtest.Out("1\n2\n") + end, bundle.StreamCorrupt, load.EndedOK, "2 of 3 lines came"},
		"output changed":            {loadtest.Out("1\n3\n") + end, bundle.StreamCorrupt, load.EndedOK, "a line is missing"},
		"output after exit":         {loadtest.Out("1\n2\n") + loadtest.Exit(0) + loadtest.Out("3\n") + loadtest.CloseWS(1000), bundle.StreamCorrupt, load.EndedOK, "after the exit message"},
		"exit twice":                {lines + loadtest.Exit(0) + end, bundle.StreamCorrupt, load.EndedOK, "second exit"},
		"exit twice, differing":     {lines + loadtest.Exit(0) + loadtest.Exit(1) + loadtest.CloseWS(1000), bundle.StreamCorrupt, load.EndedOK, "second exit"},
		"no exit":                   {lines + loadtest.CloseWS(1000), bundle.StreamEOSMissing, load.LeftOpen, "no exit message"},
		"no Close":                  {lines + loadtest.Exit(0), bundle.StreamReset, load.EndedOK, "closed during"},
		"another code after exit":   {lines + loadtest.Exit(0) + loadtest.CloseWS(1001), bundle.StreamCorrupt, load.EndedOK, "Close 1001 after the exit message"},
		"no code":                   {lines + loadtest.Exit(0) + loadtest.Frame(wire.WSClose, ""), bundle.StreamCorrupt, load.EndedOK, "without a code"},
		"given up by the gateway":   {lines + loadtest.Frame(wire.WSClose, "\x03\xf5too slow"), bundle.StreamServerError, load.LeftOpen, `Close 1013 "too slow"`},
		"bytes after Close":         {lines + end + loadtest.Out("4\n"), bundle.StreamCorrupt, load.EndedOK, "ws.data-after-close"},
		"an illegal code":           {lines + loadtest.Exit(0) + loadtest.CloseWS(1005), bundle.StreamCorrupt, load.EndedOK, "ws.close-code"},
		"a Close of one byte":       {lines + loadtest.Exit(0) + loadtest.Frame(wire.WSClose, "x"), bundle.StreamCorrupt, load.EndedOK, "ws.close-length"},
		"gone inside a frame":       {lines + loadtest.Out("4\n")[:3], bundle.StreamReset, load.LeftOpen, "closed during"},
		"gone inside a head":        {lines + "\x82", bundle.StreamReset, load.LeftOpen, "closed during"},
		"masked frames":             {frame(wire.WSHead{FIN: true, Opcode: wire.WSBinary, Masked: true, Key: [4]byte{1, 2, 3, 4}}, "\x011\n2\n3\n") + end, bundle.StreamCorrupt, load.EndedOK, "ws.server-masked"},
		"a length of 2^63":          {lines + head(wire.WSHead{FIN: true, Opcode: wire.WSBinary, Length: 1 << 63}) + "xxx", bundle.StreamCorrupt, load.LeftOpen, "ws.length-high-bit"},
		"a length of 2^40":          {lines + head(wire.WSHead{FIN: true, Opcode: wire.WSBinary, Length: 1 << 40}) + "xxx", bundle.StreamCorrupt, load.LeftOpen, "ws.message-over-limit"},
		"a length that is too long": {frame(wire.WSHead{FIN: true, Opcode: wire.WSBinary, LengthBits: 16}, "\x011\n2\n3\n") + end, bundle.StreamCorrupt, load.EndedOK, "ws.length-not-minimal"},
		"reserved bits":             {frame(wire.WSHead{FIN: true, RSV: 4, Opcode: wire.WSBinary}, "\x011\n2\n3\n") + end, bundle.StreamCorrupt, load.EndedOK, "ws.reserved-bits"},
		"a reserved opcode":         {lines + loadtest.Frame(3, "x") + end, bundle.StreamCorrupt, load.EndedOK, "ws.reserved-opcode"},
		"a ping of 126 bytes":       {lines + loadtest.Frame(wire.WSPing, strings.Repeat("x", 126)) + end, bundle.StreamCorrupt, load.EndedOK, "ws.control-length"},
		"an orphan continuation":    {lines + loadtest.Frame(wire.WSContinuation, "x") + end, bundle.StreamCorrupt, load.EndedOK, "ws.continuation-without-start"},
		"another stream":            {loadtest.Frame(wire.WSBinary, "\x07x") + lines + end, bundle.StreamCorrupt, load.EndedOK, "stdio.stream"},
		"an empty message":          {loadtest.Frame(wire.WSBinary, "") + lines + end, bundle.StreamCorrupt, load.EndedOK, "stdio.empty-message"},
		"text that is no JSON":      {lines + loadtest.Frame(wire.WSText, "{") + end, bundle.StreamCorrupt, load.EndedOK, "stdio.json"},
		"text that is not UTF-8":    {lines + loadtest.Frame(wire.WSText, "\xff") + end, bundle.StreamCorrupt, load.EndedOK, "ws.text-utf-8"},
		"an unknown type":           {lines + loadtest.Frame(wire.WSText, `{"type":"hello"}`) + end, bundle.StreamCorrupt, load.EndedOK, "stdio.type"},
		"an exit without a code":    {lines + loadtest.Frame(wire.WSText, `{"type":"exit"}`) + loadtest.CloseWS(1000), bundle.StreamCorrupt, load.EndedOK, "stdio.exit-code"},
		"an error message":          {lines + loadtest.Frame(wire.WSText, `{"type":"error","message":"no"}`) + end, bundle.StreamServerError, load.LeftOpen, "refused a message: no"},
		"nothing":                   {"", bundle.StreamReset, load.LeftOpen, "closed during"},
	} {
		t.Run(name, func(t *testing.T) {
			cuts := []int{1, 2, 3, 5, 11, len(tt.frames) + 1}
			if len(tt.frames) > 1000 {
				cuts = []int{1000, 65_536, len(tt.frames) + 1}
			}
			for _, cut := range cuts {
				r := framesJudged(t, tt.frames, cut)
				if r.Outcome != tt.outcome || r.Fate != tt.fate || !strings.Contains(r.Message, tt.message) || (r.Message == "") != (tt.message == "") {
					t.Errorf("in pieces of %d: %+v", cut, r)
				}
			}
		})
	}
}

// FuzzFrames: any bytes behind a 101 response give one result, and the same one in any split.
func FuzzFrames(f *testing.F) {
	f.Add([]byte(loadtest.GoodFrames()), uint8(1))
	f.Add([]byte(loadtest.Out("1\n")+"\x02\x03\x01ab\x89\x00\x80\x01c"+loadtest.Exit(1)), uint8(2))
	f.Add([]byte(loadtest.GoodFrames()+"x"), uint8(4))
	f.Add([]byte("\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff"), uint8(3))
	f.Add([]byte("\x82\x7e\x00\x7f"+strings.Repeat("\x01", 127)), uint8(3))
	f.Fuzz(func(t *testing.T, frames []byte, cut uint8) {
		whole := framesJudged(t, string(frames), len(frames)+1)
		if split := framesJudged(t, string(frames), int(cut)+1); split != whole {
			t.Fatalf("cut into %d: %+v, whole: %+v", int(cut)+1, split, whole)
		}
		if (whole.Outcome == bundle.StreamOK) != (whole.Message == "") {
			t.Fatalf("%+v", whole)
		}
	})
}

// said returns the messages that the driver has written.
func (f *fake) said(tb testing.TB) (all []string) {
	tb.Helper()
	d := wire.WSDecoder{
		FromClient:  true,
		OnMessage:   func(m wire.WSMessage) { all = append(all, fmt.Sprintf("%v %q", m.Opcode, m.Payload)) },
		OnViolation: func(v wire.Violation) { tb.Errorf("%+v", v) },
	}
	d.Feed(f.written)
	return all
}

func TestPingsAndTheCloseFrameAreAnswered(t *testing.T) {
	f, i, s := attach(t, &loadtest.Last{})
	f.feed(i, s, []byte(loadtest.Frame(wire.WSPing, "p1")+loadtest.GoodFrames()), 4)
	if got, want := fmt.Sprint(f.said(t)), `[pong "p1" close "\x03\xe8"]`; got != want {
		t.Errorf("said %s, want %s", got, want)
	}
	if s.over() {
		t.Error("the stream is over before the connection has ended")
	}
}

func TestInputGoesOverTheSocket(t *testing.T) {
	f, _, _ := attach(t, &loadtest.Last{}, func(p *load.Plan) {
		p.Classes[0].Stdin, p.Classes[0].Check = []byte("hello\n"), load.Check{}
	})
	if got, want := fmt.Sprint(f.said(t)), `[binary "hello\n" text "{\"type\":\"eof\"}"]`; got != want {
		t.Errorf("said %s, want %s", got, want)
	}
}

// A kill is proven by the exit message: its code tells the death from an earlier end.
func TestAKillOverTheSocket(t *testing.T) {
	for name, tt := range map[string]struct {
		endless bool
		frames  string
		outcome bundle.StreamOutcome
		fate    load.Fate
		unsure  bool
	}{
		"it dies":                       {false, loadtest.Exit(137) + loadtest.CloseWS(1000), bundle.StreamKilled, load.FateKilled, false},
		"it dies, with a negative code": {false, loadtest.Exit(-1) + loadtest.CloseWS(1000), bundle.StreamKilled, load.FateKilled, false},
		"it had ended well":             {false, loadtest.Out("1\n2\n3\n") + loadtest.Exit(0) + loadtest.CloseWS(1000), bundle.StreamOK, load.EndedOK, false},
		"it had ended badly":            {false, loadtest.Out("1\n2\n3\n") + loadtest.Exit(2) + loadtest.CloseWS(1000), bundle.StreamCorrupt, load.EndedError, false},
		"an endless one has any code":   {true, loadtest.Exit(1) + loadtest.CloseWS(1000), bundle.StreamKilled, load.FateKilled, false},
		"the gateway refuses":           {false, loadtest.Frame(wire.WSText, `{"type":"error","message":"signal: unknown"}`), bundle.StreamCancelled, load.LeftOpen, true},
		"the connection ends":           {false, "", bundle.StreamReset, load.LeftOpen, true},
	} {
		t.Run(name, func(t *testing.T) {
			sink := &loadtest.Last{}
			f, i, s := attach(t, sink, func(p *load.Plan) {
				p.Classes[0].Endless, p.Classes[0].KillShare = tt.endless, 1
			})
			f.Tend(f.time)
			f.StartCalls()
			if got, want := fmt.Sprint(f.said(t)), `[text "{\"type\":\"signal\",\"signal\":\"SIGKILL\"}"]`; got != want {
				t.Fatalf("said %s, want %s", got, want)
			}
			f.feed(i, s, []byte(tt.frames), 7)
			if !s.over() {
				f.Fail(i, s, Closed(true, false))
			}
			f.run.Finish()
			if r := sink.Result; r.Outcome != tt.outcome || r.Fate != tt.fate || r.Uncertain != tt.unsure || !r.KillSent {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestAHangUpClosesTheConnection(t *testing.T) {
	sink := &loadtest.Last{}
	f, _, _ := attach(t, sink, func(p *load.Plan) {
		p.Classes[0].DisconnectShare = 1
	})
	f.Tend(f.time)
	f.StartCalls()
	if len(f.cancelled) != 1 || len(f.written) != 0 {
		t.Fatalf("%d connections closed, %d bytes written", len(f.cancelled), len(f.written))
	}
	f.run.Finish()
	// Without a list, the process may still run.
	if r := sink.Result; r.Outcome != bundle.StreamCancelled || r.Fate != load.LeftOpen || !r.Uncertain || !r.Disconnected {
		t.Errorf("%+v", r)
	}
}

func TestAResponseThatDoesNotSwitchIsAnOutcome(t *testing.T) {
	wrongKey := []wire.Field{{Name: "Upgrade", Value: "websocket"}, {Name: "Connection", Value: "Upgrade"}, {Name: "Sec-WebSocket-Accept", Value: wire.WSAccept("other")}}
	for name, tt := range map[string]struct {
		status  int
		fields  []wire.Field
		outcome bundle.StreamOutcome
		refused bool
		message string
	}{
		"200":              {200, nil, bundle.StreamServerError, true, `HTTP 200 in response to the upgrade, want 101: "hello"`},
		"404":              {404, nil, bundle.StreamServerError, true, "HTTP 404"},
		"503":              {503, nil, bundle.StreamServerError, false, "HTTP 503"},
		"a wrong accept":   {101, wrongKey, bundle.StreamCorrupt, false, "ws.upgrade-accept"},
		"no upgrade field": {101, wrongKey[1:], bundle.StreamCorrupt, false, "ws.upgrade-field"},
	} {
		t.Run(name, func(t *testing.T) {
			sink := &loadtest.Last{}
			f := conduct(plan(t, load.ProtocolWS, load.CodecJSON, load.Check{}), sink)
			i, s := f.begin()
			f.Reading(f.time)
			f.Head(i, s, tt.status, tt.fields)
			if tt.status != 101 {
				f.feed(i, s, []byte("hello"), 2)
				f.End(i, s, nil)
			}
			f.run.Finish()
			r := sink.Result
			if r.Outcome != tt.outcome || r.Refused != tt.refused || !strings.Contains(r.Message, tt.message) || r.Uncertain != (tt.status == 101) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// Between two frames a stream keeps nothing beside its entry.
func TestAnIdleWebSocketKeepsNothing(t *testing.T) {
	f, i, s := attach(t, &loadtest.Last{})
	f.feed(i, s, []byte(loadtest.Out("1\n")+loadtest.Frame(wire.WSPing, "")+loadtest.Out("2\n")), 3)
	if len(f.extras) != 0 || s.cut != None || s.over() {
		t.Errorf("%d extras, buffer %d", len(f.extras), s.cut)
	}
}

// The 101 response is no message: first_event is the first output, or the exit message when
// there is none.
func TestTheFirstMessageIsTheFirstEvent(t *testing.T) {
	for name, frames := range map[string]string{
		"output":       loadtest.Out("1\n") + loadtest.Out("2\n") + loadtest.Exit(0),
		"exit at once": loadtest.Exit(0) + loadtest.Out("1\n"),
	} {
		sink := loadtest.NewTally()
		f, i, s := attach(t, sink)
		f.feed(i, s, []byte(loadtest.Frame(wire.WSPing, "")), 10)
		if n := len(sink.Values[load.FirstEvent]); n != 0 || sink.Begun != 1 {
			t.Errorf("%s: %d first events before any message, %d started", name, n, sink.Begun)
		}
		f.time += int64(time.Second)
		f.feed(i, s, []byte(frames), 100)
		if got := sink.Values[load.FirstEvent]; len(got) != 1 || got[0] != 2*time.Second || len(sink.Values[load.FromSent]) != 1 {
			t.Errorf("%s: first events %v, from sent %v", name, got, sink.Values[load.FromSent])
		}
	}
}

// The exit message of an earlier stream is known by its bytes; a second one is found all the
// same.
func TestASecondKnownExitIsFound(t *testing.T) {
	sink := &loadtest.Last{}
	f, i, s := attach(t, sink, func(p *load.Plan) { p.Count = 2 })
	f.feed(i, s, []byte(loadtest.GoodFrames()), 100)
	f.Gone(i, s)
	if sink.Result.Outcome != bundle.StreamOK {
		t.Fatalf("%+v", sink.Result)
	}
	i, s = f.begin()
	f.Head(i, s, 101, f.switchFields(s))
	f.feed(i, s, []byte(loadtest.Out("1\n2\n3\n")+loadtest.Exit(0)+loadtest.Exit(0)+loadtest.CloseWS(1000)), 100)
	f.Gone(i, s)
	if r := sink.Result; r.Outcome != bundle.StreamCorrupt || !strings.Contains(r.Message, "second exit") {
		t.Errorf("%+v", r)
	}
}
