package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// join takes a shard.
func (w *worker) join(ctx context.Context) error {
	host, _ := os.Hostname()
	own := join{Host: host, PID: os.Getpid(), Version: w.opts.Version, ID: rand.Text()}
	first, last := w.opts.Shard, w.opts.Shard
	if w.opts.Shard < 0 {
		first, last = 0, w.card.Workers-1
	}
	if late, err := w.stored(ctx, keyStart(1), new(start)); err != nil || late {
		return w.late(err)
	}
	var holder *join
	for shard := first; shard <= last; shard++ {
		taken, err := w.take(ctx, shard, own)
		if err != nil {
			return w.nc.stored("joining the run", err)
		}
		if taken == nil {
			return nil
		}
		holder = taken
	}
	if w.opts.Shard < 0 {
		return &RefusedError{
			Why:  fmt.Sprintf("the run %s has its %d workers", w.opts.Run, w.card.Workers),
			Mend: "start as many workers as the run wants, or the run with more --workers",
		}
	}
	return &RefusedError{
		Why:  fmt.Sprintf("shard %d of the run %s is taken by process %d on %s", w.opts.Shard, w.opts.Run, holder.PID, holder.Host),
		Mend: "start one worker for each shard, or leave --shard out to take the first free one",
	}
}

// late is the error of a worker that comes after the start.
func (w *worker) late(err error) error {
	if err != nil {
		return w.nc.stored("reading the run", err)
	}
	return &RefusedError{
		Why:  fmt.Sprintf("the run %s has begun: a worker that comes late would not do its part", w.opts.Run),
		Mend: "start all workers before, or within --wait after, assay load",
	}
}

// take takes a shard. It returns the worker that has it, nil if this one has it now.
func (w *worker) take(ctx context.Context, shard int, own join) (*join, error) {
	for attempt := 1; ; attempt++ {
		var holder join
		err := w.nc.insist(ctx, func(ctx context.Context) error {
			first, err := create(ctx, w.kv, keyJoin(shard, attempt), own)
			if holder = own; err != nil || first {
				return err
			}
			return value(ctx, w.kv, keyJoin(shard, attempt), &holder)
		})
		if err != nil {
			return nil, err
		}
		if holder == own {
			w.mu.Lock()
			w.shard, w.attempt = shard, attempt
			w.mu.Unlock()
			return nil, nil
		}
		if dead, err := w.stored(ctx, keyDead(shard, attempt), new(stop)); err != nil || !dead {
			return &holder, err
		}
	}
}

// stored reads a key from the bus itself; false if it is not there.
func (w *worker) stored(ctx context.Context, key string, into any) (bool, error) {
	err := w.nc.insist(ctx, func(ctx context.Context) error { return value(ctx, w.kv, key, into) })
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return false, nil
	}
	return err == nil, err
}

// barrier measures the clock, says that the worker is ready, and waits for the start. It returns how long it is until then.
// false means that the round ended before.
func (w *worker) barrier(ctx context.Context, round int) (time.Duration, bool, error) {
	off, err := measure(ctx, w.nc, w.names.clock(), w.opts.Now)
	if err != nil {
		if w.has(keyEnd) || w.has(keyStop(round)) {
			err = nil // the run ended between the plan and here, so nobody tells the time
		}
		return 0, false, err
	}
	err = w.nc.insist(ctx, func(ctx context.Context) error {
		_, err := create(ctx, w.kv, keyReady(round, w.shard, w.attempt), ready(off))
		return err
	})
	if err != nil {
		return 0, false, w.nc.stored("being ready", err)
	}
	key, err := w.await(ctx, keyDead(w.shard, w.attempt), keyStart(round), keyStop(round), keyEnd)
	if err != nil || key == keyStop(round) || key == keyEnd {
		return 0, false, err
	}
	var s start
	if key != keyStart(round) || !w.read(key, &s) || w.shard >= len(s.Attempts) || s.Attempts[w.shard] != w.attempt {
		return 0, false, &LostError{Why: "nothing was heard of it before the start"}
	}
	return time.Unix(0, s.At).Sub(w.opts.Now().Add(off.Offset)), true, nil
}
