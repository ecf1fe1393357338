package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"assay/internal/load"
)

// Recall opens a run whose coordinator was lost, and returns its job and the memo of its coordinator. The next Gather takes the
// run over: it merges what the workers have published, and waits for the rest. Errors are a *BusError for a run that is not on
// the bus, that has not begun, or that is a soak.
func (f *Fleet) Recall(ctx context.Context) (*load.Job, []byte, error) {
	h := &coordinator{opts: f.opts, names: names{f.opts.Run}, bus: *f.opts.Bus, seals: map[int]*seal{}, changed: make(chan struct{}, 1), round: 1}
	job, memo, err := h.recall(ctx)
	if err != nil {
		h.close()
		return nil, nil, err
	}
	f.recalled = h
	return job, memo, nil
}

// recall reads the run.
func (h *coordinator) recall(ctx context.Context) (*load.Job, []byte, error) {
	var err error
	if h.nc, err = h.bus.connect(ctx, "assay coordinator", dialWithin); err != nil {
		return nil, nil, err
	}
	h.nc.limit = h.opts.forsaken
	var c card
	var p plan
	call, stop := context.WithTimeout(ctx, callWithin)
	defer stop()
	kv, err := h.nc.js.KeyValue(call, h.names.bucket())
	if err == nil {
		h.stream, err = h.nc.js.Stream(call, h.names.stream())
	}
	for _, one := range []struct {
		key  string
		into any
	}{{keyRun, &c}, {keyPlan(1), &p}, {keyStart(1), &h.resumed}} {
		if err == nil {
			err = value(call, kv, one.key, one.into)
		}
	}
	switch {
	case errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound):
		return nil, nil, &BusError{What: fmt.Sprintf("there is no run %s on the bus at %s", h.names.run, h.bus.URL), Mend: "check the id and the bus: what a run recorded stays there for a day", Err: err}
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return nil, nil, &BusError{What: fmt.Sprintf("the run %s has not begun: there is nothing to resume", h.names.run), Mend: "start another run", Err: err}
	case err != nil:
		return nil, nil, h.nc.stored("reading the run", err)
	case c.Schema != schema || c.Version != h.opts.Version:
		return nil, nil, &RefusedError{Why: fmt.Sprintf("the run %s is of version %s, and this program is %s", h.names.run, c.Version, h.opts.Version), Mend: "resume it with its own program"}
	case c.check() != nil || len(h.resumed.Attempts) != c.Workers || slices.Min(h.resumed.Attempts) < 1 || p.Job.Parts != c.Workers:
		return nil, nil, &BusError{What: fmt.Sprintf("what the bus has of the run %s is not readable", h.names.run), Mend: "start another run"}
	case c.Rounds:
		return nil, nil, &BusError{What: fmt.Sprintf("the run %s is a soak", h.names.run), Mend: "resume it with assay soak --resume DIR, which begins its next window"}
	}
	h.kv, h.workers = kv, make([]workerState, c.Workers)
	for i, attempt := range h.resumed.Attempts {
		h.workers[i].dead = attempt - 1 // those before the one that began
	}
	h.opts.Policy, h.opts.Patience = c.Policy, c.Patience
	return &p.Job, p.Memo, h.listen()
}

// value reads a key into a value.
func value(ctx context.Context, kv jetstream.KeyValue, key string, into any) error {
	ctx, stop := context.WithTimeout(ctx, callWithin)
	defer stop()
	e, err := kv.Get(ctx, key)
	if err != nil {
		return err
	}
	return json.Unmarshal(e.Value(), into)
}

// resume takes a run over that has begun.
func (h *coordinator) resume(ctx context.Context, o load.Order) (*crew, error) {
	h.mu.Lock()
	h.forgive()
	h.mu.Unlock()
	c, err := h.await(ctx, o)
	if err != nil {
		return nil, err
	}
	c.at = h.here(h.resumed.At)
	return c, nil
}

// here returns a time of the clock of the coordinator, in nanoseconds since 1970, on the monotonic clock of this process.
func (h *coordinator) here(at int64) time.Time {
	return time.Now().Add(time.Unix(0, at).Sub(h.opts.Now()))
}
