package fleet

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assay/internal/crash"
)

// again calls do until ctx ends: at once, and again whenever the connection comes back or do ends. A bus that was
// restarted has forgotten who listens, so do then listens anew.
func again(ctx context.Context, nc *nats.Conn, do func(ctx context.Context)) {
	back := nc.StatusChanged(nats.CONNECTED)
	defer nc.RemoveStatusListener(back)
	for ctx.Err() == nil {
		turn, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer crash.Catch()
			defer close(ended)
			do(turn)
		}()
		select {
		case <-back:
			stop()
			<-ended
		case <-ended:
			stop()
			pause(ctx, redialEvery)
		}
	}
}

// pause waits for a time, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// followKeys calls note with every value of the keys, those that are there first. A value may come more than once.
func followKeys(ctx context.Context, nc *nats.Conn, kv jetstream.KeyValue, keys []string, note func(key string, value []byte)) {
	again(ctx, nc, func(ctx context.Context) {
		w, err := kv.WatchFiltered(ctx, keys)
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

// followWindows calls note with every window of a stream in its order, from a sequence number on, each of them once.
func followWindows(ctx context.Context, nc *nats.Conn, js jetstream.JetStream, stream string, from uint64, note func(subject string, sequence uint64, payload []byte)) {
	again(ctx, nc, func(ctx context.Context) {
		c, err := js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from})
		if err != nil {
			return
		}
		messages, err := c.Messages()
		if err != nil {
			return
		}
		release := context.AfterFunc(ctx, messages.Stop)
		defer release()
		defer messages.Stop()
		for {
			m, err := messages.Next()
			if err != nil {
				return
			}
			meta, err := m.Metadata()
			if err != nil || ctx.Err() != nil {
				return
			}
			if meta.Sequence.Stream < from {
				continue
			}
			from = meta.Sequence.Stream + 1
			note(m.Subject(), meta.Sequence.Stream, m.Data())
		}
	})
}
