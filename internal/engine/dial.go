package engine

import (
	"context"

	"assay/internal/target/transport"
)

// opening says how to open a connection.
type opening struct {
	http string // the version
	raw  bool   // HTTP/2 or a WebSocket that sends and acknowledges nothing by itself
}

// open opens a connection to the target.
func (in *instance) open(ctx context.Context, rec *transport.Recorder, name string, o opening) (*transport.Conn, error) {
	how := in.target.Transport(o.http)
	how.Raw = o.raw
	conn, err := transport.Open(ctx, rec, name, in.target.Addr(), how)
	if err != nil {
		in.short.note(err)
	}
	return conn, err
}

// dial opens a connection for a request.
func (in *instance) dial(ctx context.Context, rec *transport.Recorder, name, http string) (*transport.Conn, error) {
	return in.open(ctx, rec, name, opening{http: http})
}

// http2 returns the HTTP/2 variant of the URL of the instance's target.
func (in *instance) http2() string { return in.target.Transport("h2").HTTP }
