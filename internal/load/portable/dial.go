package portable

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"time"

	"assay/internal/load"
	"assay/internal/load/account"
	"assay/internal/record/bundle"
)

// socketKey is the context key of the socket of a new connection.
type socketKey struct{}

// dialled returns the socket in the context. net/http calls it to dial, but the connection
// exists already.
func dialled(ctx context.Context, _, _ string) (net.Conn, error) {
	s, ok := ctx.Value(socketKey{}).(*socket)
	if !ok {
		return nil, errors.New("no socket")
	}
	return s, nil
}

// connect opens a connection.
func (d *driver) connect(source netip.Addr) (*conn, *account.Failure) {
	nc, f := d.dial(source)
	if f != nil {
		return nil, f
	}
	c := &conn{socket: &socket{Conn: nc, driver: d}, multiplexed: d.plan.Multiplexed()}
	if c.multiplexed {
		c.socket.greeted = make(chan struct{})
	}
	var err error
	if c.client, err = d.client.NewClientConn(context.WithValue(d.ctx, socketKey{}, c.socket), "http", d.plan.Addr); err != nil {
		_ = nc.Close()
		return nil, account.Broken(err, account.WhileSending)
	}
	if c.multiplexed {
		if f := d.handshake(c.socket); f != nil {
			c.close()
			return nil, f
		}
	}
	return c, nil
}

// nextSource returns the address to dial from; with the zero value, the kernel chooses. The
// caller holds mu.
func (d *driver) nextSource() netip.Addr {
	if len(d.plan.Sources) == 0 {
		return netip.Addr{}
	}
	d.dialled++
	return d.plan.Sources[(d.dialled-1)%len(d.plan.Sources)]
}

// dial opens a connection, with the TLS handshake if the plan has TLS.
func (d *driver) dial(source netip.Addr) (net.Conn, *account.Failure) {
	ctx, stop := context.WithTimeout(d.ctx, d.plan.Limits.Connect)
	defer stop()
	nd := net.Dialer{KeepAlive: -1} // the events of the streams show whether it lives
	if source.IsValid() {
		nd.LocalAddr, nd.Control = net.TCPAddrFromAddrPort(netip.AddrPortFrom(source, 0)), latePort
	}
	begun := time.Now()
	c, err := nd.DialContext(ctx, "tcp", d.plan.Addr)
	if err != nil {
		return nil, d.unconnected(err, account.Dial)
	}
	d.streams.Connected(time.Since(begun))
	if d.plan.TLS == nil {
		return c, nil
	}
	s, err := d.secure(ctx, c)
	if err != nil {
		_ = c.Close()
		return nil, d.unconnected(err, account.Handshake)
	}
	return s, nil
}

// secure performs the TLS handshake.
func (d *driver) secure(ctx context.Context, c net.Conn) (net.Conn, error) {
	begun := time.Now()
	s := tls.Client(c, d.plan.TLS)
	if err := s.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	state := s.ConnectionState()
	if d.plan.Multiplexed() && state.NegotiatedProtocol != "h2" {
		return nil, account.ErrNoH2
	}
	d.streams.Secured(time.Since(begun), state.DidResume)
	return s, nil
}

// unconnected converts an error with the failure that it usually is. After the end of the run
// it is no failure of the gateway.
func (d *driver) unconnected(err error, usual func(error, time.Duration) *account.Failure) *account.Failure {
	if d.ctx.Err() != nil {
		return &account.Failure{Outcome: bundle.StreamCancelled, Detail: "the driver closed the connection"}
	}
	return usual(err, d.plan.Limits.Connect)
}

// frameHeader is the length of the header of an HTTP/2 frame, and settingsType the type
// of the frame that comes first.
const (
	frameHeader  = 9
	settingsType = 4
)

// endGreeting closes greeted.
func (s *socket) endGreeting() { s.once.Do(func() { close(s.greeted) }) }

// handshake waits for the first HTTP/2 frame, SETTINGS, which has the number of streams
// that the gateway allows. It returns the failure when SETTINGS do not come, or nil.
func (d *driver) handshake(s *socket) *account.Failure {
	d.shaking.Add(1)
	defer d.shaking.Add(-1)
	limit := d.plan.Limits.FirstEvent
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-s.greeted:
	case <-timer.C:
		return account.NoSettings(limit)
	case <-d.ctx.Done():
		return d.unconnected(d.ctx.Err(), account.Dial)
	}
	switch {
	case len(s.first) < frameHeader:
		return account.ClosedUnsettled(d.plan.TLS != nil)
	case s.first[3] != settingsType:
		return account.NoHTTP(load.H2C, "the first frame is not SETTINGS")
	}
	return nil
}
