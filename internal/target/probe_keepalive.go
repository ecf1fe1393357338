package target

import (
	"context"
	"fmt"
	"time"

	"assay/internal/bundle"
)

// keepaliveWait is how long a probe waits for the first keepalive at an
// interval of one second: half an interval of slack for a timer that ticks late.
const keepaliveWait = 1500 * time.Millisecond

// keepaliveGrace is for one that was due while the target, or this driver, stood still.
const keepaliveGrace = 300 * time.Millisecond

// probeKeepalive waits on a silent process for a keepalive. When none has come, the target may have
// stood still meanwhile, or this driver: it is called once, and given a moment behind its answer.
func probeKeepalive(ctx context.Context, c *client) (findings, error) {
	interval := bundle.Header{Name: "keepalive-ping-interval", Value: "1"}
	run, s, err := c.start(ctx, command{text: c.nap(), headers: []bundle.Header{interval}})
	if err != nil {
		return nil, err
	}
	defer run.reap(ctx)
	if run.pid == 0 {
		return without(featKeepalive, s), nil
	}
	s = run.keptAlive(ctx, keepaliveWait)
	if !isOver(s) && !hasEvent(s, bundle.EventKeepAlive) {
		if answer := c.list(ctx).answer.Snapshot(); answer.Response == nil {
			return findings{featKeepalive: unknown("no keepalive came, and no answer to a List either: " + describe(answer))}, nil
		}
		s = run.keptAlive(ctx, keepaliveGrace)
	}
	switch {
	case hasEvent(s, bundle.EventKeepAlive):
		return findings{featKeepalive: present("a keepalive came at an interval of 1 s")}, nil
	case isOver(s):
		return findings{featKeepalive: unknown("the stream ended first: " + describe(s))}, nil
	}
	return findings{featKeepalive: absent(fmt.Sprintf("no keepalive within %v at an interval of 1 s, nor behind the answer to a List", c.target.scaled(keepaliveWait)))}, nil
}

// keptAlive waits for a keepalive or the end of the process, and returns what has come by then.
func (r *running) keptAlive(ctx context.Context, wait time.Duration) bundle.Exchange {
	ctx, cancel := context.WithTimeout(ctx, r.client.target.scaled(wait))
	defer cancel()
	return watch(ctx, r.x, func(s bundle.Exchange) bool { return isOver(s) || hasEvent(s, bundle.EventKeepAlive) })
}
