package canned

import (
	"bytes"
	"errors"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// paper is a system without sockets: it keeps the written bytes.
type paper struct {
	got     map[*conn]*bytes.Buffer
	writes  map[*conn]int
	room    int // bytes of a write that the kernel accepts; below 0 all
	broken  bool
	watched map[*conn][2]bool
}

func (p *paper) write(c *conn, b []byte) (int, error) {
	if p.broken {
		return 0, errors.New("broken")
	}
	n := len(b)
	if p.room >= 0 {
		n = min(n, p.room)
	}
	if p.got[c] == nil {
		p.got[c] = &bytes.Buffer{}
	}
	p.got[c].Write(b[:n])
	p.writes[c]++
	return n, nil
}

func (p *paper) watch(c *conn, read, write bool) { p.watched[c] = [2]bool{read, write} }

// take returns the bytes written to a connection since the last call.
func (p *paper) take(c *conn) string {
	if p.got[c] == nil {
		return ""
	}
	s := p.got[c].String()
	p.got[c].Reset()
	return s
}

// rig is a gateway without a loop.
type rig struct {
	*gateway
	paper *paper
	fd    int
}

func newRig(t testing.TB, file string) *rig {
	t.Helper()
	f, err := Parse("test.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	p := &paper{got: map[*conn]*bytes.Buffer{}, writes: map[*conn]int{}, watched: map[*conn][2]bool{}, room: -1}
	g, err := newGateway(f, p)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{gateway: g, paper: p}
}

func (r *rig) dial() *conn {
	r.fd++
	return &conn{gateway: r.gateway, fd: r.fd}
}

// say sends text as the client, and returns the response of that turn.
func (r *rig) say(c *conn, text string) string {
	c.received([]byte(text))
	r.turn(r.now)
	return r.paper.take(c)
}

// h2client is the client side of an HTTP/2 connection over paper.
type h2client struct {
	t    testing.TB
	rig  *rig
	conn *conn
	enc  *hpack.Encoder
	head bytes.Buffer
	in   bytes.Buffer
}

func (r *rig) dialH2(t testing.TB) *h2client {
	c := &h2client{t: t, rig: r, conn: r.dial()}
	c.enc = hpack.NewEncoder(&c.head)
	c.send(http2.ClientPreface, func(f *http2.Framer) error { return f.WriteSettings() })
	return c
}

// send writes frames, after some bytes.
func (c *h2client) send(before string, write func(*http2.Framer) error) {
	c.t.Helper()
	b := bytes.NewBufferString(before)
	if err := write(http2.NewFramer(b, nil)); err != nil {
		c.t.Fatal(err)
	}
	c.in.WriteString(c.rig.say(c.conn, b.String()))
}

// post makes a request.
func (c *h2client) post(id uint32, path, contentType, body string) {
	c.t.Helper()
	c.send("", func(f *http2.Framer) error {
		c.head.Reset()
		for _, h := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":authority", "x"}, {":path", path}, {"content-type", contentType}} {
			_ = c.enc.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
		}
		if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.head.Bytes(), EndHeaders: true}); err != nil {
			return err
		}
		return f.WriteData(id, true, []byte(body))
	})
}

// answer2 is a response over HTTP/2 so far.
type answer2 struct {
	fields map[string]string
	body   string
	ended  bool
	frames int
}

// answers reads the frames so far: the responses by stream, and the types of the frames of the
// connection.
func (c *h2client) answers() (byStream map[uint32]*answer2, control []http2.FrameType) {
	c.t.Helper()
	byStream = map[uint32]*answer2{}
	f := http2.NewFramer(nil, &c.in)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for c.in.Len() > 0 {
		frame, err := f.ReadFrame()
		if err != nil {
			c.t.Fatalf("reading a frame: %v", err)
		}
		h := frame.Header()
		if h.StreamID == 0 {
			control = append(control, h.Type)
			continue
		}
		a := byStream[h.StreamID]
		if a == nil {
			a = &answer2{fields: map[string]string{}}
			byStream[h.StreamID] = a
		}
		a.frames++
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			for _, field := range frame.Fields {
				a.fields[field.Name] = field.Value
			}
			a.ended = frame.StreamEnded()
		case *http2.DataFrame:
			a.body += string(frame.Data())
			a.ended = frame.StreamEnded()
		}
	}
	return byStream, control
}
