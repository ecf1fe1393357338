package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// killers is how many kills are under way at one time: enough to hide the round
// trip, and too few to be a load of their own.
const killers = 16

// killTimeout bounds one kill.
const killTimeout = 5 * time.Second

// errNoTime says that the time for killing was over.
var errNoTime = errors.New("no time was left")

// killer kills processes over connections of its own.
type killer struct {
	run  *portableRun
	pool pool
	wg   sync.WaitGroup

	mu     sync.Mutex
	queue  []*stream
	wake   chan struct{}
	closed bool
	hard   context.Context // done: what is left is not killed any more
	stop   context.CancelFunc
}

func newKiller(r *portableRun, p pool) *killer {
	k := &killer{run: r, pool: p, wake: make(chan struct{}, killers)}
	k.hard, k.stop = context.WithCancel(context.Background())
	for range killers {
		k.wg.Add(1)
		go k.work()
	}
	return k
}

// push queues the process of a stream.
func (k *killer) push(s *stream) {
	k.mu.Lock()
	closed := k.closed
	if !closed {
		k.queue = append(k.queue, s)
		select {
		case k.wake <- struct{}{}:
		default: // as many wake-ups as workers are waiting
		}
	}
	k.mu.Unlock()
	if closed {
		s.killAnswered(killFailed, errNoTime, k.run.now())
	}
}

// pop takes the next; ok is false when there is none.
func (k *killer) pop() (s *stream, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.queue) == 0 {
		k.queue = nil
		return nil, false
	}
	s = k.queue[0]
	k.queue = k.queue[1:]
	return s, true
}

func (k *killer) work() {
	defer k.wg.Done()
	for {
		if s, ok := k.pop(); ok {
			k.one(s)
			continue
		}
		if _, open := <-k.wake; !open {
			return
		}
	}
}

// one kills the process of one stream.
func (k *killer) one(s *stream) {
	if !s.sendingKill(k.run.now()) {
		s.killAnswered(killSkipped, nil, k.run.now())
		return
	}
	err := k.kill(k.hard, s.pid)
	state := killDone
	switch {
	case errors.Is(err, errGone):
		state = killGone
	case err != nil:
		state = killFailed
	}
	s.killAnswered(state, err, k.run.now())
}

// kill sends SIGKILL; errGone means that there is no such process.
func (k *killer) kill(ctx context.Context, pid uint32) error {
	req, err := k.run.plan.Dialect.Kill(pid)
	if err == nil {
		_, err = k.call(ctx, req)
	}
	return err
}

// call makes a unary call, bounded by killTimeout.
func (k *killer) call(ctx context.Context, req Request) ([]byte, error) {
	enc, err := encode(req, k.run.plan)
	if err != nil {
		return nil, err
	}
	r := newReply()
	k.pool.do(enc, r)
	timer := time.NewTimer(killTimeout)
	defer timer.Stop()
	select {
	case <-r.done:
		return k.run.plan.Dialect.unary(r)
	case <-timer.C:
		r.giveUp(k.pool, gaveUp())
		return nil, fmt.Errorf("no answer within %v", killTimeout)
	case <-ctx.Done():
		r.giveUp(k.pool, gaveUp())
		return nil, errNoTime
	}
}

// close ends the workers and the connections. What is queued is given up.
func (k *killer) close() {
	k.stop()
	k.mu.Lock()
	k.closed = true
	left := k.queue
	k.queue = nil
	close(k.wake)
	k.mu.Unlock()
	k.wg.Wait()
	for _, s := range left {
		s.killAnswered(killFailed, errNoTime, k.run.now())
	}
	k.pool.close()
}
