package fleet

import (
	"context"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assay/internal/base/crash"
	"assay/internal/load"
)

// again calls do until ctx ends: at once, and again whenever the connection comes back or do ends. A bus that was
// restarted has forgotten who listens, so do then listens anew.
func again(ctx context.Context, nc *nats.Conn, do func(ctx context.Context)) {
	back := nc.StatusChanged(nats.CONNECTED)
	defer nc.RemoveStatusListener(back)
	for ctx.Err() == nil {
		turn, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		crash.Go(func() {
			defer close(ended)
			do(turn)
		})
		select {
		case <-back:
			stop()
			<-ended
		case <-ended:
			stop()
			load.Sleep(ctx, redialEvery)
		}
	}
}

// followKeys calls note with every value of the keys, those that are there first. A value may come more than once.
func followKeys(ctx context.Context, nc *nats.Conn, kv jetstream.KeyValue, keys []string, note func(key string, value []byte)) {
	again(ctx, nc, func(ctx context.Context) {
		w, err := kv.WatchFiltered(ctx, slices.Clone(keys)) // it writes into what it gets
		if err != nil {
			return
		}
		defer func() { _ = w.Stop() }()
		for {
			select {
			case e, ok := <-w.Updates():
				if !ok {
					return
				}
				if e != nil && e.Operation() == jetstream.KeyValuePut {
					note(e.Key(), e.Value())
				}
			case <-ctx.Done():
				return
			}
		}
	})
}

// rereadEvery is how often who waits for a key reads it from the bus itself: a busy bus may be late to tell of it.
const rereadEvery = 3 * time.Second

// reread reads keys from the bus itself, and calls note for those that are there.
func reread(ctx context.Context, kv jetstream.KeyValue, keys []string, note func(key string, value []byte)) {
	ctx, stop := context.WithTimeout(ctx, callWithin)
	defer stop()
	for _, k := range keys {
		if e, err := kv.Get(ctx, k); err == nil {
			note(k, e.Value())
		}
	}
}

const (
	// fetchMost is the number of windows of one request, and fetchWithin how long it waits for the first.
	fetchMost   = 256
	fetchWithin = 500 * time.Millisecond
	// forgottenAfter is how long the bus keeps a reader that does not ask any more.
	forgottenAfter = 30 * time.Second
)

// followWindows calls note with every window of a stream in its order, from a sequence number on, each of them once. Every
// request is bounded in time, and after anything odd the reader begins anew behind the last window that it has.
func followWindows(ctx context.Context, nc *link, stream string, from uint64, note func(subject string, sequence uint64, payload []byte)) {
	again(ctx, nc.Conn, func(ctx context.Context) {
		call, stop := context.WithTimeout(ctx, callWithin)
		defer stop()
		c, err := nc.js.CreateConsumer(call, stream, jetstream.ConsumerConfig{
			DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from, AckPolicy: jetstream.AckNonePolicy,
			InactiveThreshold: forgottenAfter, MemoryStorage: true, Replicas: 1,
		})
		if err != nil {
			return
		}
		for delivered := uint64(0); ctx.Err() == nil; {
			batch, err := c.Fetch(fetchMost, jetstream.FetchMaxWait(fetchWithin))
			if err != nil {
				return
			}
			for m := range batch.Messages() {
				meta, err := m.Metadata()
				if err != nil || meta.Sequence.Consumer != delivered+1 {
					return // something was lost on the way
				}
				delivered, from = meta.Sequence.Consumer, meta.Sequence.Stream+1
				note(m.Subject(), meta.Sequence.Stream, m.Data())
			}
			if batch.Error() != nil {
				return
			}
		}
	})
}
