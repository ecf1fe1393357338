package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Portable is the engine that runs everywhere Go does: a goroutine per HTTP/1.1
// connection, one reader per HTTP/2 connection. A stream that waits for its next
// event holds no buffer. It is no part of the measured machine: it reads, checks
// and times in the goroutine that was woken.
type Portable struct{}

var _ Engine = Portable{}

// Name is "portable".
func (Portable) Name() string { return "portable" }

// Run works as Engine.Run says.
func (Portable) Run(ctx context.Context, p *Plan, s Sink) error {
	r, err := newPortableRun(p, s)
	if err != nil {
		return err
	}
	defer r.close()
	r.drive(ctx)
	return nil
}

// portableRun is one run of the engine.
type portableRun struct {
	plan    *Plan
	sink    Sink
	base    time.Time
	mix     []Class
	starts  []*encoded   // a Start request for each class
	same    []sameOutput // and the output of its first stream
	pool    pool
	caller  *caller
	gate    *turnstile // streams that are not over
	ledger  *turnstile // streams whose result is not out
	scratch scratches
	// killing: what starts now is killed at once: nothing, what is endless, everything.
	killing   atomic.Uint32
	uncertain atomic.Int64
	begun     int64

	mu      sync.Mutex
	streams []*stream // not over
	orphans []*stream // over by hanging up: their processes are killed at the end

	timers   sync.WaitGroup
	watching sync.WaitGroup
	unwatch  chan struct{}
}

func newPortableRun(p *Plan, s Sink) (*portableRun, error) {
	r := &portableRun{
		plan: p, sink: s, base: time.Now(), mix: p.Mix(), same: make([]sameOutput, len(p.Mix())),
		gate: newTurnstile(), ledger: newTurnstile(), unwatch: make(chan struct{}),
	}
	for i := range r.mix {
		start, err := r.mix[i].Dialect.Start()
		if err != nil {
			return nil, fmt.Errorf("the Start request: %w", err)
		}
		enc, err := encode(start, p)
		if err != nil {
			return nil, fmt.Errorf("the Start request: %w", err)
		}
		r.starts = append(r.starts, enc)
	}
	r.pool = newPool(r, p.Wanted(), dialsAtOnce)
	r.caller = newCaller(r, newPool(r, 1, callers))
	r.watching.Go(r.watch)
	r.watching.Go(r.probe)
	return r, nil
}

func (r *portableRun) now() time.Duration { return time.Since(r.base) }

// The values of portableRun.killing.
const (
	killNothing = iota
	killEndless
	killAll
)

// ending reports whether a stream of the class is killed as soon as it has started.
func (r *portableRun) ending(c *Class) bool {
	k := r.killing.Load()
	return k == killAll || k == killEndless && c.Endless
}

// drive opens, kills and collects.
func (r *portableRun) drive(ctx context.Context) {
	s := schedule{plan: r.plan, base: r.base, gate: r.gate, start: r.start}
	s.run(ctx)
	short := false
	for i := range r.mix {
		short = short || !r.mix[i].Endless
	}
	r.kill(killEndless)
	if short {
		r.gate.empty(ctx, r.plan.Limits.Grace)
	}
	r.kill(killAll)
	if ctx.Err() != nil {
		for _, s := range r.open() {
			if phase(s.phase.Load()) == phaseWaiting {
				s.giveUp(&failure{outcome: Cancelled, detail: "interrupted before it was opened"})
			}
		}
	}
	// Two fifths of the time are kept for what could not be killed in an orderly way:
	// one for abandon, one for sweep.
	wind := r.plan.Limits.Wind * 3 / 5
	if !r.ledger.empty(context.Background(), wind) {
		r.abandon(ctx.Err() != nil, wind)
	}
	if r.uncertain.Load() > 0 {
		r.sweep()
	}
}

// kill asks for the death of every process that is to be killed from now on.
func (r *portableRun) kill(which uint32) {
	r.killing.Store(which)
	for _, s := range r.open() {
		if phase(s.phase.Load()) == phaseLive && r.ending(s.class) {
			s.requestKill()
		}
	}
	if which != killAll {
		return
	}
	r.mu.Lock()
	orphans := r.orphans
	r.orphans = nil
	r.mu.Unlock()
	for _, s := range orphans {
		r.caller.push(errand{s: s})
	}
}

// orphan keeps a stream whose process outlives it until the end.
func (r *portableRun) orphan(s *stream) {
	r.mu.Lock()
	late := r.killing.Load() == killAll
	if !late {
		r.orphans = append(r.orphans, s)
	}
	r.mu.Unlock()
	if late {
		r.caller.push(errand{s: s})
	}
}

// start begins a stream.
func (r *portableRun) start(intended time.Duration) {
	s := newStream(r, r.begun, intended)
	r.begun++
	r.gate.enter()
	r.ledger.enter()
	r.mu.Lock()
	s.place = len(r.streams)
	r.streams = append(r.streams, s)
	full := r.plan.MaxOpen > 0 && len(r.streams) > r.plan.MaxOpen
	r.mu.Unlock()
	if full {
		s.finish(&failure{outcome: Blocked, detail: fmt.Sprintf("%d streams are open already: this machine has descriptors and ports for no more", r.plan.MaxOpen)})
		return
	}
	r.pool.do(r.starts[s.part.Class], s)
}

// open is a copy of the streams that are not over.
func (r *portableRun) open() []*stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*stream(nil), r.streams...)
}

// left is called when a stream is over.
func (r *portableRun) left(s *stream, failed bool) {
	r.mu.Lock()
	last := len(r.streams) - 1
	r.streams[s.place] = r.streams[last]
	r.streams[s.place].place = s.place
	r.streams[last] = nil
	r.streams = r.streams[:last]
	r.mu.Unlock()
	pause := s.class.Think
	if failed {
		pause = max(pause, retryPause)
	}
	r.gate.leave(pause)
}

// reported is called when the result of a stream is known.
func (r *portableRun) reported(res Result) {
	if res.Uncertain {
		r.uncertain.Add(1)
	}
	r.sink.Ended(res)
	r.ledger.leave(0)
}

// watchEvery is how often deadlines are looked at. One goroutine looks at all
// streams, so that none of them needs a timer.
const watchEvery = 100 * time.Millisecond

func (r *portableRun) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-r.unwatch:
			return
		case <-tick.C:
		}
		now := r.now()
		for _, s := range r.open() {
			if f := s.overdue(now); f != nil {
				s.giveUp(f)
			}
		}
	}
}

// abandon gives up what has not ended by itself by the end of the time for it.
func (r *portableRun) abandon(interrupted bool, after time.Duration) {
	r.caller.stop()
	for _, s := range r.open() {
		f := &failure{outcome: Cancelled, detail: fmt.Sprintf("not ended %v after it was to be killed", after)}
		if !interrupted && phase(s.phase.Load()) == phaseSent {
			f = s.silent(after)
		}
		s.giveUp(f)
	}
	// Connections end at once, so this takes no time worth a deadline; it is there
	// so that a defect here is no hanging program.
	if !r.ledger.empty(context.Background(), r.plan.Limits.Wind/10) {
		r.pool.close()
		r.ledger.empty(context.Background(), r.plan.Limits.Wind/10)
	}
}

// sweep looks for processes of this run that no stream knows, and kills them.
// Without List there is nothing to look at; the ledger says how many are unknown.
func (r *portableRun) sweep() {
	ctx, stop := context.WithTimeout(context.Background(), r.plan.Limits.Wind/5)
	defer stop()
	swept := 0
	for i := range r.mix {
		d := &r.mix[i].Dialect
		req, err := d.List()
		if err != nil {
			continue
		}
		message, err := r.caller.call(ctx, d, req)
		if err != nil {
			continue
		}
		_, ours, _ := d.listed(message)
		for _, pid := range ours {
			if r.caller.kill(ctx, d, pid) == nil {
				swept++
			}
		}
	}
	r.sink.Swept(swept)
}

// close ends every goroutine and connection.
func (r *portableRun) close() {
	close(r.unwatch)
	r.watching.Wait()
	r.timers.Wait()
	r.caller.close()
	r.pool.close()
}
