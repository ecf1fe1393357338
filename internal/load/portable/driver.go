package portable

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"assay/internal/base/crash"
	"assay/internal/load"
	"assay/internal/load/account"
)

// driver opens the streams of a run. Goroutines hold mu while they report to streams.
type driver struct {
	plan   *load.Plan
	base   time.Time
	starts []*template // by Stream.Request
	client *http.Transport
	wake   chan struct{}
	bodies sync.Pool // of *[bufferSize]byte

	ctx     context.Context // of dials, connections and idle goroutines
	stop    context.CancelFunc
	running crash.Group
	jobs    chan func() // for idle goroutines
	idle    atomic.Int32
	shaking atomic.Int32 // HTTP/2 connections without SETTINGS

	mu        sync.Mutex
	streams   *account.Streams
	next      int64       // when drive runs again
	exchanges []*exchange // by entry; nil where there is none
	dialling  int
	waiting   account.Queue[*exchange] // HTTP/1.1: requests that wait for a dial
	dialled   int                      // connections dialled from sources
	// Calls have their own connections: a gateway that closes connections after a stream
	// must not break a kill, and a kill must not wait for room among streams.
	streamConns, callConns pool
}

var _ account.Driver = (*driver)(nil)

// pool is the connections for streams, or for calls.
type pool struct {
	idle []*conn // HTTP/1.1
	h2pool
}

func (d *driver) now() int64 { return int64(time.Since(d.base)) }

// Wake makes drive run again.
func (d *driver) Wake() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// drive begins and ends streams until all are over.
func (d *driver) drive() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		d.mu.Lock()
		now := d.now()
		d.streams.Scan(now)
		d.serveH2(&d.streamConns) // a pause of the dials may be over
		d.serveH2(&d.callConns)
		pause := d.turn(now)
		d.next = now + int64(pause)
		done := d.streams.Done()
		d.mu.Unlock()
		if done {
			return
		}
		timer.Reset(pause)
		select {
		case <-d.wake:
		case <-timer.C:
		}
	}
}

// turn does everything that is due, and returns the time until something is due again.
func (d *driver) turn(now int64) time.Duration {
	d.streams.TakeDue()
	d.streams.Tend(now)
	d.streams.StartCalls()
	d.streams.Tell()
	return d.streams.Pause(now)
}

// unlock ends a report. It does itself what became due, because waking drive costs more,
// and wakes drive only if drive would run too late.
func (d *driver) unlock() {
	early := false
	if d.streams.TakeDue() {
		now := d.now()
		early = now+int64(d.turn(now)) < d.next || d.streams.Done()
	}
	d.mu.Unlock()
	if early {
		d.Wake()
	}
}

// template is a request that many exchanges send. They share its header, which never
// changes.
type template struct {
	request *http.Request
	body    []byte
}

func (d *driver) template(r *load.Request) *template {
	return &template{r.HTTP(context.Background(), d.plan), r.Body}
}

// exchange is a request and its response.
type exchange struct {
	i       int32
	s       *account.Stream
	request *template
	body    bytes.Reader
	pool    *pool
	cancel  func() // nil before it is sent
	over    bool   // nothing more is reported
	key     string // of a WebSocket
	out     outgoing
}

// make makes the request. Its body cannot be sent twice, so that no client repeats it.
func (x *exchange) make(ctx context.Context) *http.Request {
	r := x.request.request.WithContext(ctx)
	if x.key != "" {
		withKey(r, x.key)
	}
	if x.request.body != nil {
		x.body.Reset(x.request.body)
		r.Body = io.NopCloser(&x.body) // net/http recognises it, and sends head and body in one write
	}
	return r
}

// Open sends the request of an entry as soon as a connection has room.
func (d *driver) Open(i int32, s *account.Stream) {
	x := &exchange{i: i, s: s, pool: &d.streamConns}
	if s.IsCall() {
		x.pool, x.request = &d.callConns, d.template(&d.streams.Call(i).Request)
	} else {
		x.request = d.starts[s.Request()]
		if d.streams.Upgrades(s) {
			key := d.streams.Key(s)
			x.key = string(key[:])
		}
	}
	for int(i) >= len(d.exchanges) {
		d.exchanges = append(d.exchanges, nil)
	}
	d.exchanges[i] = x
	if d.plan.Multiplexed() {
		d.streams.Opening(s)
		x.pool.waiting.Push(x)
		d.serveH2(x.pool)
		return
	}
	d.openH1(x)
}

// Cancel ends the exchange of an entry.
func (d *driver) Cancel(i int32, _ *account.Stream) {
	x := d.exchanges[i]
	d.forget(x)
	if x.cancel != nil {
		x.cancel()
	}
}

// Waiting returns why a request still waits, if that is the gateway's failure.
func (d *driver) Waiting(s *account.Stream, waited time.Duration) *account.Failure {
	p := &d.streamConns
	if s.IsCall() {
		p = &d.callConns
	}
	switch {
	case s.Conn != account.None: // its dial, of HTTP/1.1
		return account.ConnectTimeout(waited)
	case d.plan.Multiplexed() && len(p.conns) > 0:
		return p.redial.Tell()
	case !d.plan.Multiplexed() || p.dialling == 0:
		return nil
	case d.shaking.Load() > 0:
		return account.NoSettings(waited)
	}
	return account.ConnectTimeout(waited)
}

// forget ends the reports about an exchange.
func (d *driver) forget(x *exchange) {
	x.over = true
	d.exchanges[x.i] = nil
}

// run sends a request on a connection. The caller holds mu.
func (d *driver) run(x *exchange, c *conn) {
	ctx := context.Background()
	x.cancel = c.close
	if c.multiplexed {
		ctx, x.cancel = context.WithCancel(ctx)
	}
	c.begin(x)
	d.streams.Sent(x.s, 0)
	d.spawn(func() {
		d.exchange(x, c, x.make(ctx))
		if c.multiplexed {
			x.cancel()
		}
	})
}

// spawn runs a job in a goroutine. It prefers an idle one, whose stack has grown already.
func (d *driver) spawn(job func()) {
	select {
	case d.jobs <- job:
	default:
		d.running.Go(func() {
			for ok := true; ok; {
				job()
				job, ok = d.await()
			}
		})
	}
}

// maxIdle bounds the idle goroutines.
const maxIdle = 256

// await waits for the next job of a goroutine; when it returns false, the goroutine ends.
func (d *driver) await() (job func(), ok bool) {
	defer d.idle.Add(-1)
	if d.idle.Add(1) > maxIdle {
		return nil, false
	}
	select {
	case job = <-d.jobs:
		return job, true
	case <-d.ctx.Done():
		return nil, false
	}
}

// exchange sends a request and reports the response.
func (d *driver) exchange(x *exchange, c *conn, req *http.Request) {
	resp, err := c.client.RoundTrip(req)
	if err != nil {
		d.lost(x, c, err)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols && x.key != "" {
		d.switched(x, c, resp)
		return
	}
	d.mu.Lock()
	if !x.over {
		d.streams.Reading(d.now())
		x.s.Heard()
		d.streams.Head(x.i, x.s, resp.StatusCode, load.Fields(resp.Header))
	}
	d.mu.Unlock()
	buf := d.buffer()
	defer d.bodies.Put(buf)
	for {
		n, err := resp.Body.Read(buf[:])
		if n > 0 {
			d.mu.Lock()
			if !x.over {
				d.streams.Reading(d.now())
				d.streams.Body(x.i, x.s, buf[:n])
				d.streams.EndRead(false)
			}
			d.unlock()
		}
		switch err {
		case nil:
		case io.EOF:
			d.complete(x, c, resp)
			return
		default:
			d.lost(x, c, err)
			return
		}
	}
}

// buffer returns a buffer for one read of a body.
func (d *driver) buffer() *[bufferSize]byte {
	if buf, ok := d.bodies.Get().(*[bufferSize]byte); ok {
		return buf
	}
	return new([bufferSize]byte)
}

// complete reports the end of a response. It releases the connection first, so that the
// next request can use it.
func (d *driver) complete(x *exchange, c *conn, resp *http.Response) {
	d.mu.Lock()
	defer d.unlock()
	c.used = true
	d.release(x, c)
	if x.over {
		return
	}
	d.forget(x)
	d.streams.Reading(d.now())
	d.streams.End(x.i, x.s, load.Fields(resp.Trailer))
}

// lost reports an exchange without a complete response.
func (d *driver) lost(x *exchange, c *conn, err error) {
	d.mu.Lock()
	defer d.unlock()
	if isUnusable(err) { // it was not sent
		if !x.over {
			x.pool.waiting.Push(x)
		}
		d.release(x, c)
		d.serveH2(x.pool)
		return
	}
	c.used = true
	d.release(x, c)
	if !x.over {
		d.fail(x, c.failure(err))
	}
}

// fail reports a failure. The caller holds mu.
func (d *driver) fail(x *exchange, f *account.Failure) {
	d.forget(x)
	d.streams.Reading(d.now())
	d.streams.Fail(x.i, x.s, f)
}

// release ends the use of a connection by an exchange.
func (d *driver) release(x *exchange, c *conn) {
	c.end()
	if c.multiplexed {
		d.serveH2(x.pool)
		return
	}
	d.park(x.pool, c)
}

// close ends every connection and goroutine.
func (d *driver) close() {
	d.stop()
	d.mu.Lock()
	for _, x := range d.exchanges { // calls that nobody waits for
		if x != nil && x.cancel != nil {
			x.cancel()
		}
	}
	for _, p := range []*pool{&d.streamConns, &d.callConns} {
		for _, c := range p.idle {
			c.close()
		}
		for _, c := range p.conns {
			c.close()
		}
	}
	d.mu.Unlock()
	d.running.Wait()
}
