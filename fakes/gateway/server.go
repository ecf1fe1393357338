package gateway

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/http2"
)

// Timeouts of the HTTP server. Writing has none: a stream lasts as long as its
// process. IdleTimeout is that of the real daemon.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 640 * time.Second
)

// maxHeader limits the headers of a request, which an idle stream holds.
const maxHeader = 64 << 10

// The limits of HTTP/2. Ten thousand streams of one client fit on one
// connection; the windows are large enough that input is not slowed down on a
// local network, and small enough that ten thousand of them do no harm.
const (
	maxStreams       = maxProcesses
	connectionWindow = 4<<20 - 1
	streamWindow     = 1 << 20
)

// newServer creates the HTTP server of a gateway: HTTP/1.1, and HTTP/2 for a
// client that begins with its preface. TLS is already terminated.
//
// HTTP/2 is that of x/net, because its scheduler of writes can be chosen. The
// default one visits every open stream of the connection for each frame: with
// 2,500 streams a line of output took 155 µs of CPU there. The random one visits
// only the streams that have something to write.
func newServer(o Options, handler http.Handler) (*http.Server, error) {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(has(o.HTTP, "1.1"))
	protocols.SetUnencryptedHTTP2(has(o.HTTP, "2"))
	server := &http.Server{
		Handler:           handler,
		ConnContext:       withConn,
		Protocols:         protocols,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelInfo),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          maxStreams,
			MaxReceiveBufferPerConnection: connectionWindow,
			MaxReceiveBufferPerStream:     streamWindow,
		},
	}
	//nolint:staticcheck // net/http, which it recommends, has no choice of scheduler
	if err := http2.ConfigureServer(server, &http2.Server{NewWriteScheduler: http2.NewRandomWriteScheduler}); err != nil {
		return nil, fmt.Errorf("configure HTTP/2: %w", err)
	}
	return server, nil
}

// connListener wraps the connections of a listener.
type connListener struct {
	net.Listener
	wrap func(net.Conn) net.Conn
}

func (l connListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.wrap(c), nil
}
