//go:build linux && (amd64 || arm64)

package fast

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/base/crash"
	"assay/internal/base/tlsloop"
	"assay/internal/load"
	"assay/internal/load/account"
)

// Engine opens streams from event loops. The zero value is ready.
type Engine struct {
	// Loops is the number of event loops, each a thread; 0 is one for each processor that the
	// process may use (GOMAXPROCS), as far as the plan has work enough for them: see
	// [Engine.EventLoops].
	Loops int
}

var (
	_ load.Engine = Engine{}
	_ load.Sizer  = Engine{}
	_ load.Looper = Engine{}
)

// Available reports whether the engine can run here.
func Available() bool { return true }

// Name returns "fast".
func (Engine) Name() string { return "fast" }

// StreamBytes returns a value measured with 4,000 streams: the tls.Conn of an HTTP/1.1
// connection. Without TLS, and over HTTP/2, a stream takes too little to count: 0.
func (Engine) StreamBytes(p *load.Plan) int64 {
	if p.TLS == nil || p.Multiplexed() {
		return 0
	}
	return 10 << 10
}

// Run works as load.Engine.Run says.
func (e Engine) Run(ctx context.Context, p *load.Plan, s load.Sink) error {
	r := account.NewRun(p, s)
	d := dialer{sources: p.Sources}
	d.to, d.unknown = resolve(ctx, p)
	if len(d.sources) == 0 && !p.Multiplexed() {
		d.sources = loopbacks(d.to.Addr(), p.Wanted())
	}
	loops, err := e.build(r, p, s, d)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		r.Interrupt()
	}
	wake := func() {
		for _, l := range loops {
			l.Wake()
		}
	}
	told := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(told)
		r.Interrupt()
		wake()
	})
	err = drive(loops, wake)
	if !stop() {
		<-told // Wake uses descriptors that close closes
	}
	for _, l := range loops {
		l.close()
	}
	r.Finish()
	return err
}

// drive runs the loops until all are over. When one fails, the others end, too.
func drive(loops []*loop, wake func()) error {
	var running crash.Group
	failed := make([]error, len(loops))
	for i, l := range loops {
		running.Go(func() {
			if failed[i] = l.drive(); failed[i] != nil {
				l.streams.Lost()
				wake()
			}
		})
	}
	running.Wait()
	return errors.Join(failed...)
}

// loopWork is how many streams that are kept open, or that start in a second, are work for
// one more loop. One loop handles more than 100,000 events a second; below its limit, a second
// loop only reads fewer events at a time: 10,000 streams with an event a second then cost half
// as much again.
const loopWork = 10_000

// EventLoops returns the number of event loops that run a plan: Engine.Loops, or else one for
// each 10,000 streams that the plan keeps open, or starts in a second, and at most one for each
// processor. It is never more than the number of streams at one time. The processes that share a plan share
// the processors, too.
func (e Engine) EventLoops(p *load.Plan) int {
	parts := max(p.Parts, 1)
	if e.Loops > 0 {
		most := p.Wanted()
		if !p.Open() {
			most = min(most, (p.Streams+parts-1)/parts)
		}
		return max(min(e.Loops, most), 1)
	}
	work := p.Streams
	if p.Open() {
		rate := p.Rate
		for _, s := range p.Stages {
			rate = max(rate, s.From, s.To)
		}
		work = int(rate)
	}
	return max(min(runtime.GOMAXPROCS(0), work/loopWork)/parts, 1)
}

// build makes the loops.
func (e Engine) build(r *account.Run, p *load.Plan, s load.Sink, d dialer) ([]*loop, error) {
	requests, err := r.Requests()
	if err != nil {
		return nil, err
	}
	var starts []*encoded
	for _, q := range requests {
		starts = append(starts, encode(q, p))
	}
	config := p.TLS
	if config != nil {
		config = config.Clone()
		config.DynamicRecordSizingDisabled = true // a request in several records costs a system call for each
	}
	base := time.Now()
	var loops []*loop
	n := e.EventLoops(p)
	for range n {
		l, err := newLoop(r, p, s, base)
		if err != nil {
			for _, l := range loops {
				l.close()
			}
			return nil, err
		}
		l.dialer, l.starts, l.known = d, withKeys(starts), make([]knownHead, len(starts))
		l.others, l.resting.others = n-1, n-1
		if l.shakes.config = config; config != nil {
			l.plain = make([]byte, 0, readSize+tlsloop.MaxRecord)
		}
		if p.Multiplexed() {
			l.mux = newMuxes(l, n)
		}
		loops = append(loops, l)
	}
	return loops, nil
}

// readSize is the size of a loop's only read buffer.
const readSize = 64 << 10

func newLoop(r *account.Run, p *load.Plan, s load.Sink, base time.Time) (*loop, error) {
	poll, err := newPoller()
	if err != nil {
		return nil, fmt.Errorf("%w: epoll: %w", errNoLoop, err)
	}
	wake, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err == nil {
		err = poll.add(int32(wake), uint64(keyWake)) //nolint:gosec // a descriptor
	}
	if err != nil {
		poll.close()
		return nil, fmt.Errorf("%w: eventfd: %w", errNoLoop, err)
	}
	l := &loop{
		plan: p, sink: s, poll: poll, recv: newReceiver(readSize), clock: newClock(base),
		slows: map[int32]*slow{}, outs: map[int32][]byte{}, wakeFD: int32(wake), //nolint:gosec // a descriptor
	}
	l.streams = r.Add(l, func() int64 { return l.clock.now() })
	return l, nil
}

// drive runs the loop until all of its streams are over.
func (l *loop) drive() error {
	// The thread ends with the loop, because its timer slack is changed.
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it, starts are 50 µs late
	askForShortSlices()
	err := l.turn(0)
	for err == nil && !l.streams.Done() {
		l.rest()
		err = l.turn(l.pause())
	}
	return err
}
