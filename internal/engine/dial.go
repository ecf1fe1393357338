package engine

import (
	"context"

	"assay/internal/transport"
)

// opening says how to open a connection.
type opening struct {
	http string // the version
	raw  bool   // HTTP/2 or a WebSocket that sends and acknowledges nothing by itself
}

// open opens a connection to the target.
func (e *env) open(ctx context.Context, rec *transport.Recorder, name string, o opening) (*transport.Conn, error) {
	how := e.target.Transport(o.http)
	how.Raw = o.raw
	conn, err := transport.Open(ctx, rec, name, e.target.Addr(), how)
	if err != nil {
		e.short.note(err)
	}
	return conn, err
}

// dial opens a connection for a request.
func (e *env) dial(ctx context.Context, rec *transport.Recorder, name, http string) (*transport.Conn, error) {
	return e.open(ctx, rec, name, opening{http: http})
}
