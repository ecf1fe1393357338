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
	left    []leftOpen

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
	done := ctx.Err() == nil && r.ledger.empty(ctx, r.plan.Limits.Wind*3/5)
	all := r.plan.Limits.winding(ctx.Err() != nil)
	if !done && ctx.Err() != nil { // interrupted, now or while it waited
		done = r.ledger.empty(context.Background(), all*3/5)
	}
	if !done {
		r.abandon(ctx.Err() != nil, all/5)
	}
	if r.uncertain.Load() > 0 {
		r.sweep(all / 5)
	}
	for _, one := range r.left {
		r.sink.Ended(one.result)
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
	r.sink.Record(s.worker(), s.part.Class, StartLag, r.now()-intended)
	r.pool.do(r.starts[s.part.Class], s)
}

// open is a copy of the streams that are not over.
func (r *portableRun) open() []*stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*stream(nil), r.streams...)
}

// streamLeft is called when a stream is over.
func (r *portableRun) streamLeft(s *stream, failed bool) {
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

// reported is called when the result of a stream is known. That of a process which
// may still run waits until the end, when it is looked for once more.
func (r *portableRun) reported(res Result, pid uint32) {
	if res.Uncertain {
		r.uncertain.Add(1)
	}
	if res.Fate == LeftOpen {
		r.mu.Lock()
		r.left = append(r.left, leftOpen{pid, res})
		r.mu.Unlock()
	} else {
		r.sink.Ended(res)
	}
	r.ledger.leave(0)
}

// leftOpen is a stream whose process may still run.
type leftOpen struct {
	pid    uint32
	result Result
}

// watchEvery is how often deadlines are looked at. One goroutine looks at all
// streams, so that none of them needs a timer.
const watchEvery = WatchEvery

func (r *portableRun) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var lookout Lookout
	for {
		select {
		case <-r.unwatch:
			return
		case <-tick.C:
		}
		now := r.now()
		if !lookout.Look(now, watchEvery) {
			continue
		}
		for _, s := range r.open() {
			if f := s.overdue(now); f != nil {
				s.giveUp(f)
			}
		}
	}
}

// abandon gives up what has not ended by itself by the end of the time for it, and
// takes no more than so long.
func (r *portableRun) abandon(interrupted bool, most time.Duration) {
	r.caller.stop()
	after := 3 * most // the time that is over, see drive
	for _, s := range r.open() {
		f := &failure{outcome: Cancelled, detail: fmt.Sprintf("not ended %v after it was to be killed", after)}
		if !interrupted && phase(s.phase.Load()) == phaseSent {
			f = s.silent(after)
		}
		s.giveUp(f)
	}
	// Connections end at once, so this takes no time worth a deadline; it is there
	// so that a defect here is no hanging program.
	if !r.ledger.empty(context.Background(), most/2) {
		r.pool.close()
		r.ledger.empty(context.Background(), most/2)
	}
}

// sweep looks for processes of this run that may still run, or that no stream knows,
// and kills them, for at most so long. Without List there is nothing to look at; the
// ledger says how many are unknown.
func (r *portableRun) sweep(most time.Duration) {
	ctx, stop := context.WithTimeout(context.Background(), most)
	defer stop()
	killed := map[uint32]bool{}
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
		ours, _ := d.listed(message)
		r.killAll(ctx, d, ours, killed)
	}
	for i := range r.left {
		if one := &r.left[i]; killed[one.pid] {
			one.result.Fate, one.result.Uncertain = FateKilled, false
			delete(killed, one.pid)
		}
	}
	r.sink.Swept(len(killed)) // those that no stream knows
}

// killAll kills processes, several at a time, and notes those that were.
func (r *portableRun) killAll(ctx context.Context, d *Dialect, pids []uint32, killed map[uint32]bool) {
	var mu sync.Mutex
	var all sync.WaitGroup
	next := make(chan uint32)
	for range min(callers, len(pids)) {
		all.Go(func() {
			for pid := range next {
				if r.caller.kill(ctx, d, pid) == nil {
					mu.Lock()
					killed[pid] = true
					mu.Unlock()
				}
			}
		})
	}
	for _, pid := range pids {
		next <- pid
	}
	close(next)
	all.Wait()
}

// close ends every goroutine and connection.
func (r *portableRun) close() {
	close(r.unwatch)
	r.watching.Wait()
	r.timers.Wait()
	r.caller.close()
	r.pool.close()
}
