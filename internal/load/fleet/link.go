package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assay/internal/load"
)

// forsakenAfter is how long the bus may be away before nobody waits for it any more: a server is restarted or replaced within that
// time, and a run without a duration has no other end.
const forsakenAfter = 10 * time.Minute

// link is a connection to the bus that heals itself, and knows since when the bus is away.
type link struct {
	*nats.Conn

	bus *Bus
	js  jetstream.JetStream
	// limit is how long the bus may be away.
	limit time.Duration

	mu    sync.Mutex
	since time.Time // when it went away; zero: it is there
	bad   error     // how it broke the protocol; nil: it did not
}

// lost notes that the bus went away.
func (l *link) lost(*nats.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.IsZero() {
		l.since = time.Now()
	}
}

// back notes that the bus is there again.
func (l *link) back(*nats.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since = time.Time{}
}

// away returns how long the bus is away; 0 if it is there.
func (l *link) away() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.IsZero() {
		return 0
	}
	return max(time.Since(l.since), 1)
}

// absence describes for how long the bus is away, and the last error of the connection.
func (l *link) absence() string {
	text := fmt.Sprintf("the bus at %s was away for %v", l.bus.URL, l.away().Round(100*time.Millisecond))
	if err := l.LastError(); err != nil {
		text += ": " + err.Error()
	}
	return text
}

// breaks notes that the bus broke the protocol, and returns the error for it. It is the end of the link.
func (l *link) breaks(bad error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bad = &BusError{
		What: fmt.Sprintf("the bus at %s does not keep to the protocol of NATS: %v", l.bus.URL, bad), Mend: "see what answers at that address: it is no nats-server", Err: bad,
	}
	return l.bad
}

// broken returns the error of a bus that broke the protocol, nil if it did not.
func (l *link) broken() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bad
}

// stored explains an error of JetStream. That a bus broke the protocol explains all others.
func (l *link) stored(doing string, err error) error {
	if bad := l.broken(); bad != nil {
		return bad
	}
	return l.bus.stored(doing, err)
}

// forsaken returns an error if the bus is away for longer than the limit, or broke the protocol.
func (l *link) forsaken() error {
	if err := l.broken(); err != nil {
		return err
	}
	if l.away() <= l.limit {
		return nil
	}
	return &BusError{What: l.absence(), Mend: "see why the bus is not there, or refuses the connection", Err: l.LastError()}
}

// insist calls do, and again as long as the bus gives no answer, until ctx ends or nobody waits for the bus any more. A call whose
// answer was lost is made again, so do must stand that.
func (l *link) insist(ctx context.Context, do func(ctx context.Context) error) error {
	for end := time.Now().Add(l.limit); ; {
		call, stop := context.WithTimeout(ctx, callWithin)
		err := do(call)
		stop()
		switch {
		case err == nil || !unanswered(err):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(end):
			return err
		}
		if err := l.forsaken(); err != nil {
			return err
		}
		load.Sleep(ctx, redialEvery)
	}
}

// unanswered reports whether a call got no answer, because the bus is away or has just come back.
func unanswered(err error) bool {
	for _, one := range []error{
		nats.ErrDisconnected, nats.ErrConnectionReconnecting, nats.ErrReconnectBufExceeded, nats.ErrTimeout, nats.ErrNoResponders,
		jetstream.ErrNoStreamResponse, context.DeadlineExceeded,
	} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}
