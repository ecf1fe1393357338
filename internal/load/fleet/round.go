package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/internal/base/crash"
	"assay/internal/load"
)

// rounds does every round of the run.
func (w *worker) rounds(ctx context.Context) error {
	for round := 1; ; round++ {
		key, err := w.await(ctx, keyPlan(round), keyEnd)
		if err != nil || key == keyEnd {
			return err
		}
		if err := w.round(ctx, round); err != nil || !w.card.Rounds {
			return err
		}
	}
}

// round does one round.
func (w *worker) round(ctx context.Context, round int) error {
	var p plan
	if !w.read(keyPlan(round), &p) || p.Window <= 0 || w.shard >= p.Job.Parts {
		return errUnreadable
	}
	part, err := w.opts.Worker.Segment(&p.Job, w.shard)
	if err != nil {
		return err
	}
	until, ok, err := w.barrier(ctx, round)
	if err != nil || !ok {
		return err
	}
	w.opts.Say(fmt.Sprintf("shard %d of %d begins in %v", w.shard, w.card.Workers, until.Round(time.Millisecond)))
	begin := time.Now().Add(until)
	load.Sleep(ctx, until)
	working, end := context.WithDeadlineCause(ctx, begin.Add(p.HardEnd), errHardEnd)
	defer end()
	working, giveUp := context.WithCancelCause(working)
	defer giveUp(nil)
	watching, over := context.WithCancel(context.Background())
	defer over()
	crash.Go(func() {
		w.obey(watching, round, giveUp)
	})
	pub := &publisher{worker: w, round: round, digest: newDigest(), giveUp: working, last: begin.Add(p.HardEnd + part.Ending())}
	late := max(time.Since(begin), 0)
	if err := part.Run(working, p.Window, pub.publish); err != nil {
		return w.verdict(working, err)
	}
	over()
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errStopped) {
		// The streams ended early, and only here: a seal would say that the shard is complete.
		return w.verdict(working, ctx.Err())
	}
	if err := w.seal(round, pub, late); err != nil {
		return w.verdict(working, err)
	}
	return part.Failure()
}

// errHardEnd is the cause of a worker that stops at the hard end of its plan.
var errHardEnd = errors.New("the hard end of the plan")

// errStopped is the cause of a worker that the coordinator stops.
var errStopped = errors.New("the run was ended")

// verdict returns the error of a round: that the worker was given up comes before any other.
func (w *worker) verdict(ctx context.Context, err error) error {
	var lost *LostError
	if errors.As(context.Cause(ctx), &lost) {
		return lost
	}
	return err
}

// obey ends the work when the coordinator says so, or has given this worker up.
func (w *worker) obey(ctx context.Context, round int, end context.CancelCauseFunc) {
	key, err := w.await(ctx, keySeal(round, w.shard), keyStop(round), keyEnd)
	for err != nil && ctx.Err() == nil { // nobody may listen until the hard end
		load.Sleep(ctx, time.Second)
		key, err = w.await(ctx, keySeal(round, w.shard), keyStop(round), keyEnd)
	}
	switch {
	case err != nil:
	case key == keySeal(round, w.shard):
		var s seal
		_ = w.read(key, &s)
		end(&LostError{Why: s.Lost})
	default:
		end(errStopped)
		if k, err := w.await(ctx, keySeal(round, w.shard)); err == nil && k != "" {
			var s seal
			if w.read(k, &s) && s.Lost != "" {
				end(&LostError{Why: s.Lost})
			}
		}
	}
}

// seal seals the shard.
func (w *worker) seal(round int, pub *publisher, late time.Duration) error {
	s := pub.digest.seal(w.attempt)
	s.LateNS = int64(late)
	for {
		ok, err := create(context.Background(), w.kv, keySeal(round, w.shard), s)
		if err == nil && ok {
			return nil
		}
		if err == nil {
			if err = w.sealed(round, &s); !unanswered(err) {
				return err
			}
		}
		if time.Now().After(pub.until()) {
			return w.nc.stored("sealing the shard", err)
		}
		if err := w.nc.forsaken(); err != nil {
			return err
		}
		load.Sleep(context.Background(), redialEvery)
	}
}

// sealed returns an error if the seal that is there is not this one: the answer to this one may have been lost.
func (w *worker) sealed(round int, own *seal) error {
	var other seal
	err := value(context.Background(), w.kv, keySeal(round, w.shard), &other)
	switch {
	case err != nil:
		return w.nc.stored("reading the seal", err)
	case other == *own:
		return nil
	}
	return &LostError{Why: other.Lost}
}
