package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assay/internal/base/crash"
	"assay/internal/load"
)

// WorkerOptions configure a worker.
type WorkerOptions struct {
	Bus Bus
	// Run is the id of the run.
	Run string
	// Shard is the part of the plan, from 0; -1 takes the first free one.
	Shard int
	// Wait is how long the bus and the plan may take to be there; default a minute.
	Wait time.Duration
	// Version is the program's.
	Version string
	// Worker has the target with its credentials, and the engines.
	Worker load.Worker
	// Say gets a line about what the worker does; nil drops it.
	Say func(line string)
	// Now is the clock of this machine; nil is time.Now.
	Now func() time.Time
	// forsaken is how long the bus may be away; 0 is forsakenAfter.
	forsaken time.Duration
}

// RefusedError says that a run has no use for this worker.
type RefusedError struct{ Why, Mend string }

// Error returns the reason and, on a second line, what to do.
func (e *RefusedError) Error() string { return e.Why + "\n  " + e.Mend }

// LostError says that the run has given this worker up: what it measured after that does not count.
type LostError struct{ Why string }

// Error returns the reason.
func (e *LostError) Error() string { return "the run has given this worker up: " + e.Why }

const (
	// workerWait is the default of WorkerOptions.Wait.
	workerWait = time.Minute
	// deserted is how long a waiting worker stays when nothing is heard of the coordinator.
	deserted = 2 * time.Minute
)

// Serve is the main function of a worker process of this machine: it reads from in what to do. The end of in interrupts it.
func Serve(ctx context.Context, in io.Reader, version string, engines ...load.Engine) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	dec := json.NewDecoder(in)
	var a assignment
	if err := dec.Decode(&a); err != nil {
		return fmt.Errorf("the assignment of a worker: %w", err)
	}
	crash.Go(func() {
		_, _ = io.Copy(io.Discard, in)
		stop(errStopped)
	})
	err := Work(ctx, WorkerOptions{
		Bus: a.Bus, Run: a.Run, Shard: a.Shard, Version: version,
		Worker: load.Worker{Target: a.Target, Sandboxes: a.Sandboxes, Engines: engines, Local: true},
	})
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // the run has ended
	}
	return err
}

// Work takes a shard of a run and does its work, in every round of the run. The end of ctx interrupts it: it kills its
// processes, and publishes what it has recorded. It is lost to the run, which has a policy for that. Errors are a *BusError, a *RefusedError, a *LostError,
// a *load.EngineError, or a plan that this machine cannot do.
func Work(ctx context.Context, o WorkerOptions) error {
	if o.Wait == 0 {
		o.Wait = workerWait
	}
	if o.forsaken == 0 {
		o.forsaken = forsakenAfter
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	w := &worker{opts: o, names: names{o.Run}, keys: map[string][]byte{}, changed: make(chan struct{}, 1)}
	end := time.Now().Add(o.Wait)
	var err error
	if w.nc, err = o.Bus.connect(ctx, "assay worker", o.Wait); err != nil {
		return err
	}
	defer w.nc.Close()
	w.nc.limit = o.forsaken
	if err := w.enter(ctx, end); err != nil {
		return err
	}
	alive, err := w.nc.Subscribe(w.names.alive(), func(*nats.Msg) { w.hear() })
	if err != nil {
		return err
	}
	defer func() { _ = alive.Unsubscribe() }()
	w.hear() // the run is there, however long this worker has waited for it
	if err := w.join(ctx); err != nil {
		return w.refused(err)
	}
	listening, stop := context.WithCancel(context.Background())
	var listeners crash.Group
	defer func() { stop(); listeners.Wait() }()
	listeners.Go(func() {
		followKeys(listening, w.nc.Conn, w.kv, w.concerns(), w.note)
	})
	listeners.Go(func() {
		w.beats(listening)
	})
	if err := w.rounds(ctx); err != nil {
		w.leave(ctx, err)
		return err
	}
	return nil
}

// worker is a worker at work.
type worker struct {
	opts    WorkerOptions
	names   names
	nc      *link
	kv      jetstream.KeyValue
	card    card
	shard   int
	attempt int

	mu      sync.Mutex
	keys    map[string][]byte // the bucket, as far as it is known
	heard   time.Time         // the last sign of life of the coordinator
	stuck   string
	changed chan struct{}
}

// concerns are the keys that concern the worker.
func (w *worker) concerns() []string {
	return []string{keyDead(w.shard, w.attempt), "plan.*", "start.*", "stop.*", fmt.Sprintf("seal.*.%d", w.shard), keyEnd}
}

// note notes a key of the bucket.
func (w *worker) note(key string, value []byte) {
	w.mu.Lock()
	w.keys[key] = value
	w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// read reads a key into a value; false if it is not there.
func (w *worker) read(key string, into any) bool {
	w.mu.Lock()
	text, ok := w.keys[key]
	w.mu.Unlock()
	return ok && json.Unmarshal(text, into) == nil
}

// has reports whether a key is there.
func (w *worker) has(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.keys[key]
	return ok
}

// hear notes a sign of life of the coordinator.
func (w *worker) hear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = w.opts.Now()
}

// enter waits for the run, and reads its card.
func (w *worker) enter(ctx context.Context, end time.Time) error {
	for {
		err := w.look(ctx)
		switch {
		case err == nil:
			return w.refused(w.fits())
		case ctx.Err() != nil:
			return ctx.Err()
		case w.nc.broken() != nil:
			return w.nc.broken()
		case !errors.Is(err, jetstream.ErrBucketNotFound) && !errors.Is(err, jetstream.ErrKeyNotFound) && (!unanswered(err) || errors.Is(err, nats.ErrNoResponders)):
			return w.nc.stored("reading the run", err)
		case time.Now().After(end):
			return &BusError{
				What: fmt.Sprintf("there is no run %s on the bus at %s, after %v", w.opts.Run, w.opts.Bus.URL, w.opts.Wait),
				Mend: "start it: assay load --bus " + w.opts.Bus.URL + " --run " + w.opts.Run + " --workers N URL; or check --run", Err: err,
			}
		}
		load.Sleep(ctx, redialEvery)
	}
}

// look reads the card.
func (w *worker) look(ctx context.Context) (err error) {
	ctx, stop := context.WithTimeout(ctx, callWithin)
	defer stop()
	if w.kv, err = w.nc.js.KeyValue(ctx, w.names.bucket()); err != nil {
		return err
	}
	return value(ctx, w.kv, keyRun, &w.card)
}

// fits returns an error if the run is of another version, if its card is not readable, or if it has no such shard.
func (w *worker) fits() error {
	switch {
	case w.card.Schema != schema || w.card.Version != w.opts.Version:
		return &RefusedError{
			Why:  fmt.Sprintf("this worker has version %s, and the run %s is of version %s", w.opts.Version, w.opts.Run, w.card.Version),
			Mend: "use the same program for all of a run",
		}
	case w.card.check() != nil:
		return w.nc.stored("reading the run", errUnreadable)
	case w.opts.Shard >= w.card.Workers:
		return &RefusedError{
			Why:  fmt.Sprintf("there is no shard %d: the run %s has %d workers, with the shards 0 to %d", w.opts.Shard, w.opts.Run, w.card.Workers, w.card.Workers-1),
			Mend: "leave --shard out to take the first free one",
		}
	}
	return nil
}

// refused tells the coordinator that this worker is refused.
func (w *worker) refused(err error) error {
	var r *RefusedError
	if errors.As(err, &r) {
		host, _ := os.Hostname()
		text, _ := json.Marshal(notice{fmt.Sprintf("a worker on %s (process %d) is refused: %s", host, os.Getpid(), r.Why)})
		_ = w.nc.Publish(w.names.notice(), text)
		_ = w.nc.Flush()
	}
	return err
}

// beats shows that the worker is there, until ctx ends.
func (w *worker) beats(ctx context.Context) {
	for ctx.Err() == nil {
		w.mu.Lock()
		b := beat{Shard: w.shard, Attempt: w.attempt, Stuck: w.stuck}
		w.mu.Unlock()
		if text, err := json.Marshal(b); err == nil {
			_ = w.nc.Publish(w.names.beat(), text) // the next one follows
		}
		load.Sleep(ctx, w.card.Beat)
	}
}

// leave says that the worker ends before its work is done, unless the coordinator knows. If nobody hears it, its silence says so
// later.
func (w *worker) leave(ctx context.Context, err error) {
	var lost *LostError
	var engine *load.EngineError
	why, _, _ := strings.Cut(err.Error(), "\n")
	switch {
	case errors.As(err, &lost), errors.As(err, &engine), errors.Is(context.Cause(ctx), errStopped):
		return
	case ctx.Err() != nil:
		why = "it was interrupted on its machine"
	}
	text, _ := json.Marshal(beat{Shard: w.shard, Attempt: w.attempt, Left: why})
	_ = w.nc.Publish(w.names.beat(), text)
	_ = w.nc.FlushTimeout(callWithin)
}

// await waits for one of some keys, as long as the coordinator is there. It returns the first one that is there.
func (w *worker) await(ctx context.Context, keys ...string) (string, error) {
	look := time.NewTicker(rereadEvery)
	defer look.Stop()
	for {
		for _, k := range keys {
			if w.has(k) {
				return k, nil
			}
		}
		if w.nc.away() > 0 {
			if err := w.nc.forsaken(); err != nil {
				return "", err
			}
			w.hear() // nobody can be heard meanwhile
		}
		w.mu.Lock()
		silent := w.opts.Now().Sub(w.heard)
		w.mu.Unlock()
		if silent > deserted {
			return "", &BusError{What: fmt.Sprintf("nothing was heard of the coordinator of the run %s for %v", w.opts.Run, deserted), Mend: "start the run again"}
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-w.changed:
		case <-look.C:
			reread(ctx, w.kv, keys, w.note)
		}
	}
}
