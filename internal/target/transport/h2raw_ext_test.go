package transport_test

import (
	"bytes"
	"encoding/hex"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

// write renders frames and sends them as one write.
func (c *client) write(conn *transport.Conn, frames ...transport.Frame) {
	c.t.Helper()
	var all []byte
	for _, f := range frames {
		p, err := conn.FrameBytes(f)
		if err != nil {
			c.t.Fatal(err)
		}
		all = append(all, p...)
	}
	if err := conn.Write(c.ctx, all); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) openRaw(w way) *transport.Conn {
	w.options.Raw = true
	return c.open(w)
}

// received waits for a frame of a type.
func (c *client) received(conn *transport.Conn, kind string) bundle.H2Frame {
	c.t.Helper()
	var found bundle.H2Frame
	c.untilConn(conn, kind, func() bool {
		i := slices.IndexFunc(conn.H2Frames(), func(f bundle.H2Frame) bool { return f.Type == kind })
		if i >= 0 {
			found = conn.H2Frames()[i]
		}
		return i >= 0
	})
	return found
}

const (
	endStream  = 0x1
	endHeaders = 0x4
)

func requestFields(path string) []bundle.Header {
	return []bundle.Header{{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: path},
		{Name: ":authority", Value: "t"}, {Name: "content-type", Value: "application/connect+json"}}
}

func TestRawConnectionSendsNothingByItself(t *testing.T) {
	got := make(chan string, 1)
	addr := rawServer(t, func(c *net.TCPConn) {
		f := http2.NewFramer(c, nil)
		f.WriteSettings()
		f.WritePing(false, [8]byte{1})
		all, _ := io.ReadAll(c)
		got <- string(all)
	})
	c := newClient(t)
	conn := c.openRaw(way{addr, transport.Options{HTTP: transport.H2C}})
	c.received(conn, "PING")
	if err := conn.Write(c.ctx, []byte("PRI * HT")); err != nil {
		t.Fatal(err)
	}
	conn.Close("half")
	if s := <-got; s != "PRI * HT" {
		t.Errorf("sent %q", s)
	}
}

func TestRequestByHandIsAnsweredUnderTheNameOfTheConnection(t *testing.T) {
	c := newClient(t)
	conn := c.openRaw(serveGateway(t)["h2c"])
	conn.SetShape(bundle.ShapeStream, "json")
	c.write(conn, transport.Frame{Type: "preface"}, transport.Frame{Type: "SETTINGS"})
	c.received(conn, "SETTINGS")
	c.write(conn, transport.Frame{Type: "SETTINGS", Flags: 1},
		transport.Frame{Type: "HEADERS", Flags: endHeaders, Stream: 1, Fields: requestFields("/process.Process/Start")},
		transport.Frame{Type: "DATA", Flags: endStream, Stream: 1, Payload: []byte(envelope(0, `{"process":{"cmd":"x","args":["1"]}}`))})
	s := c.done(conn.Raw())
	if s.Name != "c" || s.Op != "raw" || s.Stream != 1 || s.Outcome != bundle.OutcomeComplete || kinds(s) != "start data end" {
		t.Errorf("answer = %+v", s)
	}
	c.write(conn, transport.Frame{Type: "HEADERS", Flags: endHeaders | endStream, Stream: 5, Fields: requestFields("/none")})
	s = c.done(conn.Raw())
	if s.Stream != 5 || s.Response == nil || s.Response.Status != 404 {
		t.Errorf("second answer = %+v", s)
	}
	x, err := conn.Request(c.ctx, plainCall(), true)
	if s := c.done(x); err != nil || s.Stream != 7 || s.Response.Status != 404 {
		t.Errorf("a request beside: %v, %+v", err, s)
	}
}

func TestBreachByHandIsAnsweredByThePeer(t *testing.T) {
	t.Parallel()
	five := int64(5)
	tests := []struct {
		name    string
		frames  []transport.Frame
		answer  string // the frame that arrives
		detail  string
		outcome bundle.Outcome
	}{
		{"PING of a wrong declared length", []transport.Frame{{Type: "PING", Length: &five}}, "GOAWAY", "FRAME_SIZE_ERROR", bundle.OutcomeClosed},
		{"DATA on an idle stream", []transport.Frame{{Type: "DATA", Stream: 1, Payload: []byte("x")}}, "GOAWAY", "PROTOCOL_ERROR", bundle.OutcomeClosed},
		{"WINDOW_UPDATE above 2^31-1", []transport.Frame{{Type: "WINDOW_UPDATE", Add: 1<<31 - 1}}, "GOAWAY", "FLOW_CONTROL_ERROR", bundle.OutcomeClosed},
		{"an upper-case name", []transport.Frame{{Type: "HEADERS", Stream: 1, Flags: endHeaders | endStream,
			Fields: append(requestFields("/"), bundle.Header{Name: "Upper", Value: "x"})}}, "RST_STREAM", "PROTOCOL_ERROR", bundle.OutcomeReset},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t)
			conn := c.openRaw(serveGateway(t)["h2c"])
			c.write(conn, append([]transport.Frame{{Type: "preface"}, {Type: "SETTINGS"}}, tt.frames...)...)
			if f := c.received(conn, tt.answer); !strings.Contains(f.Detail, tt.detail) {
				t.Errorf("%s = %+v", tt.answer, f)
			}
			if s := c.done(conn.Raw()); s.Outcome != tt.outcome {
				t.Errorf("outcome = %s (%s), want %s", s.Outcome, s.Detail, tt.outcome)
			}
		})
	}
}

func TestFrameIsRenderedExactlyByItsFields(t *testing.T) {
	zero, huge := int64(0), int64(1<<24)
	tests := []struct {
		name  string
		frame transport.Frame
		want  string // hex, "" for an error
	}{
		{"preface", transport.Frame{Type: "preface"}, hex.EncodeToString([]byte(http2.ClientPreface))},
		{"empty SETTINGS", transport.Frame{Type: "SETTINGS"}, "000000 04 00 00000000"},
		{"SETTINGS by name and number, in order", transport.Frame{Type: "settings", Settings: map[string]uint32{"MAX_CONCURRENT_STREAMS": 1, "0x99": 7, "SETTINGS_HEADER_TABLE_SIZE": 0}},
			"000012 04 00 00000000 0001 00000000 0003 00000001 0099 00000007"},
		{"SETTINGS with an ACK and a payload", transport.Frame{Type: "SETTINGS", Flags: 1, Payload: []byte{1}}, "000001 04 01 00000000 01"},
		{"DATA", transport.Frame{Type: "DATA", Flags: 1, Stream: 3, Payload: []byte("ab")}, "000002 00 01 00000003 6162"},
		{"DATA that declares nothing", transport.Frame{Type: "DATA", Stream: 3, Payload: []byte("ab"), Length: &zero}, "000000 00 00 00000003 6162"},
		{"RST_STREAM", transport.Frame{Type: "RST_STREAM", Stream: 1, Code: 8}, "000004 03 00 00000001 00000008"},
		{"GOAWAY", transport.Frame{Type: "GOAWAY", Last: 5, Code: 2, Payload: []byte("x")}, "000009 07 00 00000000 00000005 00000002 78"},
		{"WINDOW_UPDATE with the reserved bit", transport.Frame{Type: "WINDOW_UPDATE", Stream: 1 << 31, Add: 9}, "000004 08 00 80000000 00000009"},
		{"PING", transport.Frame{Type: "PING"}, "000008 06 00 00000000 0000000000000000"},
		{"PING of three bytes", transport.Frame{Type: "PING", Payload: []byte("abc")}, "000003 06 00 00000000 616263"},
		{"PRIORITY", transport.Frame{Type: "PRIORITY", Stream: 1}, "000005 02 00 00000001 0000000000"},
		{"HEADERS without the table", transport.Frame{Type: "HEADERS", Flags: 5, Stream: 1, Fields: []bundle.Header{{Name: ":path", Value: "/"}, {Name: "x", Value: "y"}}},
			"000008 01 05 00000001 1501 2f 10 01 78 01 79"},
		{"HEADERS of raw bytes", transport.Frame{Type: "HEADERS", Stream: 1, Payload: []byte{0xff}}, "000001 01 00 00000001 ff"},
		{"a type by number", transport.Frame{Type: "0x0b", Payload: []byte("z")}, "000001 0b 00 00000000 7a"},
		{"an unknown type", transport.Frame{Type: "HELLO"}, ""},
		{"an unknown setting", transport.Frame{Type: "SETTINGS", Settings: map[string]uint32{"SPEED": 1}}, ""},
		{"a length that does not fit", transport.Frame{Type: "DATA", Length: &huge}, ""},
	}
	c := newClient(t)
	conn := c.openRaw(serveGateway(t)["h2c"])
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := conn.FrameBytes(tt.frame)
			if (err != nil) != (tt.want == "") {
				t.Fatalf("err = %v", err)
			}
			want, _ := hex.DecodeString(strings.ReplaceAll(tt.want, " ", ""))
			if err == nil && !bytes.Equal(p, want) {
				t.Errorf("bytes = %x, want %x", p, want)
			}
		})
	}
}

// The connection's own frames do not interrupt a raw frame that is sent in pieces.
func TestRawFrameInPiecesStaysWhole(t *testing.T) {
	begun := make(chan struct{})
	seen := make(chan []string, 1)
	w := h2Server(t, func(p *h2peer) {
		p.settings()
		<-begun
		p.f.WritePing(false, [8]byte{7})
		for f := p.read(); f != nil && f.Header().Type != http2.FramePing; f = p.read() {
		}
		seen <- p.seen
		p.drain()
	})
	c := newClient(t)
	conn := c.open(w)
	frame, err := conn.FrameBytes(transport.Frame{Type: "0x42", Payload: bytes.Repeat([]byte("x"), 40)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range frame {
		if err := conn.Write(c.ctx, frame[i:i+1]); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			close(begun)
			c.received(conn, "PING") // the acknowledgement has to wait
		}
	}
	got := <-seen
	if whole := slices.Index(got, "UNKNOWN_FRAME_TYPE_66"); whole < 0 || whole > slices.Index(got, "PING") {
		t.Errorf("the peer saw %q", got)
	}
}

// A peer must respect the windows that a script announces by hand.
func TestPeerIsHeldToTheWindowOfARawConnection(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		sizes   []int
		kind    string
		outcome bundle.Outcome
	}{
		{"it respects the window", []int{1, 2}, "", bundle.OutcomeComplete},
		{"it sends more at once", []int{2}, "http2.flow-control", bundle.OutcomeGarbage},
		{"it sends more after an update", []int{1, 3}, "http2.flow-control", bundle.OutcomeGarbage},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := h2Server(t, func(p *h2peer) {
				p.settings()
				p.headers(p.request(), false, ":status", "200")
				for i, n := range tt.sizes {
					p.f.WriteData(1, i == len(tt.sizes)-1, make([]byte, n))
					if i == 0 {
						p.await(http2.FrameWindowUpdate)
					}
				}
				p.drain()
			})
			c := newClient(t)
			conn := c.openRaw(w)
			c.write(conn, transport.Frame{Type: "preface"}, transport.Frame{Type: "SETTINGS", Settings: map[string]uint32{"INITIAL_WINDOW_SIZE": 1}})
			c.received(conn, "SETTINGS")
			c.untilConn(conn, "acknowledgement", func() bool {
				return slices.ContainsFunc(conn.H2Frames(), func(f bundle.H2Frame) bool { return f.Detail == "ACK" })
			})
			c.write(conn, transport.Frame{Type: "HEADERS", Flags: endHeaders | endStream, Stream: 1, Fields: requestFields("/")})
			c.until(conn.Raw(), "head", func(s bundle.Exchange) bool { return s.Response != nil })
			c.untilConn(conn, "DATA", func() bool {
				return slices.ContainsFunc(conn.H2Frames(), func(f bundle.H2Frame) bool { return f.Type == "DATA" })
			})
			c.write(conn, transport.Frame{Type: "WINDOW_UPDATE", Stream: 1, Add: 2})
			if s := c.done(conn.Raw()); s.Outcome != tt.outcome || violations(s) != tt.kind {
				t.Errorf("outcome = %s (%s), violations %q", s.Outcome, s.Detail, violations(s))
			}
		})
	}
}
