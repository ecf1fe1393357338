package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assay/internal/load"
)

// publisher publishes the windows of a worker in a round, each of them once.
type publisher struct {
	worker *worker
	round  int
	digest *digest
	giveUp context.Context // ends when the work is to end
	ended  time.Time       // when that was seen
	last   time.Time       // after it, nothing is published any more
}

const (
	// publishWithin bounds one attempt to publish.
	publishWithin = 5 * time.Second
	// partingWithin is how long a worker whose work was ended goes on to publish what it has.
	partingWithin = 10 * time.Second
	// envelope is what a message needs beside the window.
	envelope = 4 << 10
)

// until returns when the worker gives up to publish.
func (p *publisher) until() time.Time {
	if p.giveUp.Err() == nil {
		return p.last
	}
	if p.ended.IsZero() {
		p.ended = time.Now().Add(partingWithin)
	}
	if p.ended.Before(p.last) {
		return p.ended
	}
	return p.last
}

// publish publishes a window, in several messages if it is too large for one. While the bus is away or full it tries
// again; meanwhile the window behind it becomes longer.
func (p *publisher) publish(w *load.Window) error {
	most := int(p.worker.nc.MaxPayload()) - envelope
	for _, one := range split(w, most) {
		text, err := json.Marshal(one)
		if err != nil {
			return err
		}
		if err := p.send(text); err != nil {
			return err
		}
		p.digest.add(text, one.Counts.Outcomes.Total())
	}
	return nil
}

// send publishes the next message until it is stored.
func (p *publisher) send(text []byte) error {
	w := p.worker
	id := windowID{p.round, w.shard, w.attempt, p.digest.windows + 1}
	for {
		ctx, stop := context.WithTimeout(context.Background(), publishWithin)
		_, err := w.nc.js.Publish(ctx, w.names.window(id), text, jetstream.WithExpectLastSequencePerSubject(0))
		stop()
		if err == nil || isStored(err) {
			w.blocked("")
			return nil
		}
		w.blocked(reasonOf(err))
		if errors.Is(err, nats.ErrMaxPayload) {
			return w.nc.stored(fmt.Sprintf("window %d of %d bytes", id.seq, len(text)), err) // it does not become smaller
		}
		var lost *LostError
		if errors.As(context.Cause(p.giveUp), &lost) {
			return lost
		}
		if time.Now().After(p.until()) {
			return w.nc.stored(fmt.Sprintf("window %d could not be published", id.seq), err)
		}
		if err := w.nc.forsaken(); err != nil {
			return err
		}
		load.Sleep(context.Background(), redialEvery)
	}
}

// isStored reports whether the bus refuses a window because it has it: only the answer to an earlier attempt was lost.
func isStored(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// reasonOf says why a window is not stored.
func reasonOf(err error) string {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		if isFull(err) {
			return "the bus is full: " + api.Description
		}
		return api.Description
	}
	return err.Error()
}

// blocked notes why the worker cannot publish; "" is that it can.
func (w *worker) blocked(why string) {
	w.mu.Lock()
	w.stuck = why
	w.mu.Unlock()
}

// split splits a window into some that fit into messages of so many bytes. Only the first one has counts, and only the last
// one ends a part. Each has room for everything but the values.
func split(w *load.Window, most int) []*load.Window {
	rest := *w
	rest.Values = nil
	text, _ := json.Marshal(rest) // numbers and strings
	most -= len(text)
	size := 0
	parts := []*load.Window{{Counts: w.Counts, Refused: w.Refused, Dropped: w.Dropped, Steps: w.Steps}}
	for _, v := range w.Values {
		need := len(v.Histogram) + 100
		if size += need; size > most && len(parts[len(parts)-1].Values) > 0 {
			parts, size = append(parts, &load.Window{}), need
		}
		last := parts[len(parts)-1]
		last.Values = append(last.Values, v)
	}
	last := parts[len(parts)-1]
	last.Done, last.Error, last.Examples, last.CPU, last.RSS = w.Done, w.Error, w.Examples, w.CPU, w.RSS
	return parts
}
