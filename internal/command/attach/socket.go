package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"assay/internal/base/crash"
	"assay/internal/envd/call"
	"assay/internal/target"
	"assay/internal/wire"
)

const (
	// pieces is the most output that is handed on at once.
	pieces = 32 << 10
	// longestText is the longest text message that is read.
	longestText = 1 << 20
	// pingEvery is the time between two pings, and silence how long a gateway may send nothing at all
	// before its connection counts as cut.
	pingEvery = 15 * time.Second
	silence   = 60 * time.Second
	// pongWait is less than pingEvery, so that one ping at a time waits.
	pongWait = 10 * time.Second
	// goodbye bounds the wait for the gateway's answer to a close.
	goodbye = time.Second
)

// socketLink is a WebSocket of the stdio surface.
type socketLink struct {
	ws     *websocket.Conn
	conn   *conn
	cancel context.CancelFunc
	ctx    context.Context

	message io.Reader // of the output that is being read; nil between messages
	stderr  bool
	buf     []byte
	decoder wire.StdioDecoder
}

// query returns the parameters of a request. Who comes back to a session sends no command, so that a
// session that is gone is not started again.
func (o *Options) query(again bool, size Size) string {
	var all []call.Parameter
	add := func(name, value string) {
		if value != "" {
			all = append(all, call.Parameter{Name: name, Value: value})
		}
	}
	if o.Command != "" && !again && o.Role != RoleViewer {
		all = call.CommandParameters(append([]string{o.Command}, o.Args...))
		add("sandbox", o.Sandbox)
		if o.PTY {
			add("pty", "1")
			if size.Cols > 0 && size.Rows > 0 {
				add("cols", strconv.Itoa(size.Cols))
				add("rows", strconv.Itoa(size.Rows))
			}
		}
	}
	add("session", o.Session)
	add("role", o.Role)
	return call.EncodeParameters(all)
}

// dialSocket connects to the socket of a target. A *miss says that there is none.
func (o *Options) dialSocket(ctx context.Context, t *target.Target, again bool, size Size) (link, error) {
	p := &pulse{clock: o.Clock}
	var made *conn
	h := client(t, o.scale(), onlyHTTP1, func(c net.Conn) net.Conn {
		made = newConn(c, p)
		return made
	})
	header := http.Header{}
	if bearer := t.Bearer(); bearer != "" {
		header.Set("Authorization", bearer)
	}
	scheme := "http://"
	if t.Secure() {
		scheme = "https://"
	}
	bounded, done := context.WithTimeout(ctx, scaled(handshakeTimeout, o.scale()))
	defer done()
	ws, response, err := websocket.Dial(bounded, scheme+t.Authority()+t.AttachPath(o.query(again, size)), &websocket.DialOptions{HTTPClient: h, HTTPHeader: header}) //nolint:bodyclose // the library closes it
	if err != nil {
		if made != nil {
			_ = made.Close()
		}
		return nil, o.explainSocket(bounded, t, response, err)
	}
	ws.SetReadLimit(-1) // it is read piece by piece
	l := &socketLink{ws: ws, conn: made, buf: make([]byte, pieces), decoder: wire.StdioDecoder{Panes: true}}
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	// Pings keep either side from taking a silent session for a dead one. Each has its own goroutine, because it waits for its pong.
	crash.Go(func() { p.watch(l.ctx, l.cancel, func() bool { return true }, func() { crash.Go(l.ping) }) })
	return l, nil
}

// ping sends a ping. Its pong counts when it comes, as every byte does.
func (l *socketLink) ping() {
	ctx, cancel := context.WithTimeout(l.ctx, pongWait)
	defer cancel()
	_ = l.ws.Ping(ctx) // the end of a connection is the reader's to see
}

func (l *socketLink) receive() (event, error) {
	defer l.conn.pulse.wait()()
	for {
		if l.message != nil {
			n, err := l.message.Read(l.buf)
			switch {
			case errors.Is(err, io.EOF):
				l.message = nil
			case err != nil:
				return event{}, l.cut(err)
			}
			if n > 0 {
				return event{kind: eventOutput, stderr: l.stderr, data: l.buf[:n]}, nil
			}
			continue
		}
		kind, message, err := l.ws.Reader(l.ctx)
		if err != nil {
			return event{}, l.cut(err)
		}
		if kind == websocket.MessageText {
			e, err := l.text(message)
			if err != nil || e.kind != 0 {
				return e, err
			}
			continue
		}
		if err := l.begin(message); err != nil {
			return event{}, err
		}
	}
}

// begin begins a message of output. That of other streams, which are panes of other clients, is
// skipped.
func (l *socketLink) begin(message io.Reader) error {
	var stream [1]byte
	switch _, err := io.ReadFull(message, stream[:]); {
	case errors.Is(err, io.EOF): // an empty message is nothing
		return nil
	case err != nil:
		return l.cut(err)
	}
	if stream[0] != wire.StdioStdout && stream[0] != wire.StdioStderr {
		if _, err := io.Copy(io.Discard, message); err != nil {
			return l.cut(err)
		}
		return nil
	}
	l.message, l.stderr = message, stream[0] == wire.StdioStderr
	return nil
}

// text reads a text message. Types that the session does not know are ignored, as are those of panes.
func (l *socketLink) text(message io.Reader) (event, error) {
	payload, err := io.ReadAll(io.LimitReader(message, longestText+1))
	switch {
	case err != nil:
		return event{}, l.cut(err)
	case len(payload) > longestText:
		return event{}, &cut{reason: fmt.Sprintf("the gateway sent a text message of more than %d bytes", longestText), final: true}
	}
	m, violations := l.decoder.Decode(wire.WSText, payload)
	switch {
	case m.Type == wire.StdioExit && len(violations) > 0:
		return event{}, &cut{reason: "the gateway sent an exit message without an exit code: " + violations[0].Detail, final: true}
	case m.Type == wire.StdioExit:
		return event{kind: eventExit, code: shellCode(m.Code)}, nil
	case m.Type == wire.StdioError:
		return event{kind: eventRefusal, text: m.Message}, nil
	}
	return event{}, nil
}

// finalCloses are the close codes after which connecting again does not help: the end, and errors in
// what was sent.
var finalCloses = map[websocket.StatusCode]bool{1000: true, 1002: true, 1003: true, 1007: true, 1009: true}

// cut explains the end of the connection.
func (l *socketLink) cut(err error) *cut {
	if l.conn.pulse.mute.Load() {
		return cutf("the gateway has sent nothing for %v, not even the answer to a ping", silence)
	}
	var closed websocket.CloseError
	if errors.As(err, &closed) {
		reason := fmt.Sprintf("the gateway closed the connection without an exit code (%d", int(closed.Code))
		if closed.Reason != "" {
			reason += ": " + strings.ToValidUTF8(closed.Reason, "\uFFFD")
		}
		return &cut{reason: reason + ")", final: finalCloses[closed.Code]}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return cutf("the gateway ended the connection without a word")
	}
	return cutf("the connection broke: %v", rootOf(err))
}

// rootOf returns the innermost error, without the words of the libraries around it.
func rootOf(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err
	}
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

func (l *socketLink) input(ctx context.Context, p []byte) error {
	if err := l.conn.room(ctx, roomForInput); err != nil {
		return err
	}
	return l.ws.Write(l.ctx, websocket.MessageBinary, p)
}

func (l *socketLink) send(message []byte) error {
	return l.ws.Write(l.ctx, websocket.MessageText, message)
}

func (l *socketLink) end(context.Context) error { return l.send(wire.AppendStdioEOF(nil)) }

func (l *socketLink) resize(_ context.Context, to Size) error {
	return l.send(wire.AppendStdioResize(nil, to.Cols, to.Rows))
}

func (l *socketLink) signal(_ context.Context, s Signal) error {
	return l.send(wire.AppendStdioSignal(nil, s.Name))
}

// close says goodbye for at most a second. The gateway ends the command of a connection without a
// session by itself.
func (l *socketLink) close(bool) {
	done := make(chan struct{})
	crash.Go(func() {
		defer close(done)
		_ = l.ws.Close(websocket.StatusNormalClosure, "")
	})
	t := time.NewTimer(goodbye)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
	l.cancel()
	_ = l.conn.Close()
}
