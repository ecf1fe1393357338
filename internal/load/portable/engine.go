package portable

import (
	"context"
	"net/http"
	"time"

	"assay/internal/load"
	"assay/internal/load/account"
)

// Engine opens streams with the HTTP clients of Go. The zero value is ready. Times are read
// by the goroutine that receives the bytes.
type Engine struct{}

var (
	_ load.Engine = Engine{}
	_ load.Sizer  = Engine{}
)

// Name returns "portable".
func (Engine) Name() string { return "portable" }

// StreamBytes returns values measured with 5,000 streams: three goroutines and two buffers
// for an HTTP/1.1 connection, and the state of TLS.
func (Engine) StreamBytes(p *load.Plan) int64 {
	switch {
	case p.Multiplexed():
		return 20 << 10
	case p.TLS != nil:
		return 64 << 10
	}
	return 40 << 10
}

const (
	// maxHead bounds a response head, and bufferSize one read of a body.
	maxHead    = 64 << 10
	bufferSize = 2 << 10
	// writeTimeout bounds the time in which the peer of an HTTP/2 connection reads nothing.
	writeTimeout = 10 * time.Second
)

// Run works as load.Engine.Run says.
func (Engine) Run(ctx context.Context, p *load.Plan, s load.Sink) error {
	d := &driver{
		plan: p, base: time.Now(), wake: make(chan struct{}, 1), jobs: make(chan func()),
		client: &http.Transport{
			DisableCompression: true, MaxResponseHeaderBytes: maxHead, ReadBufferSize: 4 << 10, WriteBufferSize: 2 << 10,
			Protocols: new(http.Protocols), HTTP2: &http.HTTP2Config{WriteByteTimeout: writeTimeout},
			DialContext: dialled, // with TLS, the handshake is done
		},
	}
	d.client.Protocols.SetHTTP1(!p.Multiplexed())
	d.client.Protocols.SetUnencryptedHTTP2(p.Multiplexed())
	d.streamConns.wanted, d.callConns.wanted = load.H2Connections(p.Wanted()), 1
	d.streamConns.room, d.callConns.room = load.H2Guess, load.H2Guess
	d.ctx, d.stop = context.WithCancel(context.Background())
	defer d.stop()
	r := account.NewRun(p, s)
	d.streams = r.Add(d, d.now)
	starts, err := r.Requests()
	if err != nil {
		return err
	}
	for i := range starts {
		d.starts = append(d.starts, d.template(&starts[i]))
	}
	interrupt := func() { r.Interrupt(); d.Wake() }
	if ctx.Err() != nil {
		interrupt()
	}
	defer context.AfterFunc(ctx, interrupt)()
	d.running.Go(func() {
		probe(d.ctx, s, d.now)
	})
	d.drive()
	d.close()
	r.Finish()
	return nil
}
