package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// callers is how many unary calls are under way at one time: enough to hide the
// round trip, and too few to be a load of their own.
const callers = 32

// callTimeout bounds one of them.
const callTimeout = 5 * time.Second

// errNoTime says that the time for calls was over.
var errNoTime = errors.New("no time was left")

// caller makes the unary calls about the processes of streams, over connections of
// its own: it kills them, and writes to their input.
type caller struct {
	run  *portableRun
	pool pool
	wg   sync.WaitGroup

	mu     sync.Mutex
	queue  []errand
	wake   chan struct{}
	closed bool
	hard   context.Context // done: what is left is not done any more
	stop   context.CancelFunc
}

// errand is what is to be done for a stream: its process is killed, or fed.
type errand struct {
	s    *stream
	feed bool
}

func newCaller(r *portableRun, p pool) *caller {
	c := &caller{run: r, pool: p, wake: make(chan struct{}, callers)}
	c.hard, c.stop = context.WithCancel(context.Background())
	for range callers {
		c.wg.Add(1)
		go c.work()
	}
	return c
}

// push queues an errand.
func (c *caller) push(e errand) {
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.queue = append(c.queue, e)
		select {
		case c.wake <- struct{}{}:
		default: // as many wake-ups as workers are waiting
		}
	}
	c.mu.Unlock()
	if closed {
		c.drop(e)
	}
}

// drop gives an errand up.
func (c *caller) drop(e errand) {
	if e.feed {
		e.s.fed(errNoTime)
	} else {
		e.s.killAnswered(killFailed, errNoTime, c.run.now())
	}
}

// pop takes the next; ok is false when there is none.
func (c *caller) pop() (e errand, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		c.queue = nil
		return errand{}, false
	}
	e = c.queue[0]
	c.queue = c.queue[1:]
	return e, true
}

func (c *caller) work() {
	defer c.wg.Done()
	for {
		if e, ok := c.pop(); ok {
			if e.feed {
				e.s.fed(c.feed(c.hard, e.s))
			} else {
				c.end(e.s)
			}
			continue
		}
		if _, open := <-c.wake; !open {
			return
		}
	}
}

// end kills the process of one stream.
func (c *caller) end(s *stream) {
	if !s.sendingKill(c.run.now()) {
		s.killAnswered(killSkipped, nil, c.run.now())
		return
	}
	err := c.kill(c.hard, &s.class.Dialect, s.pid)
	state := killDone
	switch {
	case errors.Is(err, errGone):
		state = killGone
	case err != nil:
		state = killFailed
	}
	s.killAnswered(state, err, c.run.now())
}

// kill sends SIGKILL; errGone means that there is no such process.
func (c *caller) kill(ctx context.Context, d *Dialect, pid uint32) error {
	req, err := d.Kill(pid)
	if err == nil {
		_, err = c.call(ctx, d, req)
	}
	return err
}

// feed writes a stream's input, and closes it.
func (c *caller) feed(ctx context.Context, s *stream) error {
	d := &s.class.Dialect
	if len(s.class.Stdin) > 0 {
		req, err := d.Input(s.pid, s.class.Stdin)
		if err == nil {
			_, err = c.call(ctx, d, req)
		}
		if err != nil {
			return fmt.Errorf("SendInput: %w", err)
		}
	}
	req, err := d.CloseStdin(s.pid)
	if err == nil {
		_, err = c.call(ctx, d, req)
	}
	if err != nil {
		return fmt.Errorf("CloseStdin: %w", err)
	}
	return nil
}

// call makes a unary call, bounded by callTimeout.
func (c *caller) call(ctx context.Context, d *Dialect, req Request) ([]byte, error) {
	enc, err := encode(req, c.run.plan)
	if err != nil {
		return nil, err
	}
	r := newReply()
	c.pool.do(enc, r)
	timer := time.NewTimer(callTimeout)
	defer timer.Stop()
	select {
	case <-r.done:
		return d.unary(r)
	case <-timer.C:
		r.giveUp(c.pool, gaveUp())
		return nil, fmt.Errorf("no answer within %v", callTimeout)
	case <-ctx.Done():
		r.giveUp(c.pool, gaveUp())
		return nil, errNoTime
	}
}

// close ends the workers and the connections. What is queued is given up.
func (c *caller) close() {
	c.stop()
	c.mu.Lock()
	c.closed = true
	left := c.queue
	c.queue = nil
	close(c.wake)
	c.mu.Unlock()
	c.wg.Wait()
	for _, e := range left {
		c.drop(e)
	}
	c.pool.close()
}
