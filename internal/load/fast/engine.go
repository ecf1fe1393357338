//go:build linux && (amd64 || arm64)

package fast

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/load"
)

// Engine opens streams over HTTP without TLS from event loops. The zero value is ready.
type Engine struct {
	// Loops is how many event loops there are, each on a processor of its own; 0 is
	// one, or two where there are more than four processors.
	Loops int
	// Nap is how long a loop rests between two looks at its sockets, so that it sees
	// many events at once: what comes meanwhile has the kernel's stamp, and is timed by
	// that. 0 rests as much as pays off; below 0 is never.
	Nap time.Duration
}

var _ load.Engine = Engine{}

// Available reports whether the engine can run a plan for this URL scheme here.
func Available(scheme string) bool { return scheme == "http" }

// Name is "fast".
func (Engine) Name() string { return "fast" }

// run is one run of the engine.
type run struct {
	plan  *load.Plan
	sink  load.Sink
	nap   time.Duration
	loops []*loop
	count int // of loops
	// patient: some commands end by themselves, and get a while for it.
	patient bool
	swept   bool // of loop 0

	begun       atomic.Int64
	open        atomic.Int64 // kept only where there is a limit
	uncertain   atomic.Int64
	winding     atomic.Int64 // loops that have streams
	interrupted atomic.Bool
}

// Run works as load.Engine.Run says.
func (e Engine) Run(ctx context.Context, p *load.Plan, s load.Sink) error {
	if p.TLS != nil {
		return errors.New("the fast engine speaks no TLS: use the portable one")
	}
	r := &run{plan: p, sink: s, nap: e.Nap}
	to, err := resolve(ctx, p)
	if err != nil {
		// Nobody answers, or it was interrupted: what becomes of the streams is the same
		// with any engine.
		return load.Portable{}.Run(ctx, p, s)
	}
	if err := r.build(to, e.loops()); err != nil {
		return err
	}
	told := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(told)
		r.interrupted.Store(true)
		for _, l := range r.loops {
			l.wake()
		}
	})
	var running sync.WaitGroup
	failed := make([]error, len(r.loops))
	for i, l := range r.loops {
		running.Go(func() { failed[i] = l.drive() })
	}
	running.Wait()
	if !stop() {
		<-told // it touches descriptors
	}
	r.finish()
	return errors.Join(failed...)
}

func (e Engine) loops() int {
	switch {
	case e.Loops > 0:
		return e.Loops
	case runtime.GOMAXPROCS(0) > 4:
		return 2
	}
	return 1
}

// build makes the loops.
func (r *run) build(to netip.AddrPort, n int) error {
	mix := r.plan.Mix()
	requests := make([]*load.Encoded, len(mix))
	same := make([]load.SameOutput, len(mix))
	for i := range mix {
		start, err := mix[i].Dialect.Start()
		if err == nil {
			requests[i], err = r.plan.Encode(start)
		}
		if err != nil {
			return fmt.Errorf("the Start request: %w", err)
		}
		r.patient = r.patient || !mix[i].Endless
	}
	d := dialer{to: to, sources: r.plan.Sources}
	if len(d.sources) == 0 && !r.plan.Multiplexed() {
		d.sources = loopbacks(to.Addr(), r.plan.Wanted())
	}
	base := time.Now()
	r.count = n
	for i := range n {
		l, err := newLoop(r, i, d, base)
		if err != nil {
			r.finish()
			return err
		}
		for j := range mix {
			l.classes = append(l.classes, newClass(mix[j], requests[j], &same[j]))
		}
		r.loops = append(r.loops, l)
	}
	for _, l := range r.loops {
		l.advance()
	}
	r.winding.Store(int64(n))
	return nil
}

// readSize is a loop's one read buffer.
const readSize = 64 << 10

func newLoop(r *run, index int, d dialer, base time.Time) (*loop, error) {
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
		run: r, plan: r.plan, sink: r.sink, index: index, poll: poll, recv: newReceiver(readSize), clock: newClock(base),
		extras: map[int32]*extra{}, swept: map[uint32]bool{}, slows: map[int32]*slow{}, dialer: d, wakeFD: int32(wake), //nolint:gosec // a descriptor
		scratch: make([]byte, readSize),
	}
	l.schedule.pacer = r.plan.Pacer()
	l.schedule.next = index
	l.resting.fixed = r.nap
	if r.plan.Multiplexed() {
		l.mux = newMuxes(l)
	}
	return l, nil
}

// drive runs the loop until all of its streams are over.
func (l *loop) drive() error {
	// The thread is the loop's alone, and ends with it: its timer slack is changed.
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it, starts are 50 µs later
	askForShortSlices()
	err := l.turn(0)
	for err == nil && l.schedule.stage != stageDone {
		l.rest()
		err = l.turn(l.pause(l.clock.now()))
	}
	l.tellGaps()
	return err
}

// wound is called by a loop whose streams are all over.
func (r *run) wound(*loop) {
	if r.winding.Add(-1) == 0 {
		r.loops[0].wake()
	}
}

// finish closes everything, and tells the last results.
func (r *run) finish() {
	for _, l := range r.loops {
		l.close()
	}
	if len(r.loops) == 0 {
		return
	}
	swept := r.loops[0].swept
	for _, l := range r.loops {
		for _, one := range l.leftOpen {
			if swept[one.pid] {
				one.result.Fate, one.result.Uncertain = load.FateKilled, false
				delete(swept, one.pid)
			}
			r.sink.Ended(one.result)
		}
	}
	if r.swept {
		r.sink.Swept(len(swept)) // those that no stream knows
	}
}
