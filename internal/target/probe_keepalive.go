package target

import (
	"context"
	"fmt"
	"time"

	"assay/internal/bundle"
)

// keepaliveWait is the wait for the first keepalive at an interval of one second, with half
// an interval of slack for a late timer.
const keepaliveWait = 1500 * time.Millisecond

// keepaliveGrace is for a keepalive that was due while the target or this driver paused.
const keepaliveGrace = 300 * time.Millisecond

// probeKeepalive waits on a silent process for a keepalive. Without one, the target or this
// driver may have paused meanwhile: the probe calls the target once more, and waits a moment
// after its response.
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
			return findings{featKeepalive: unknown("no keepalive, and no response to a List: " + describe(answer))}, nil
		}
		s = run.keptAlive(ctx, keepaliveGrace)
	}
	switch {
	case hasEvent(s, bundle.EventKeepAlive):
		return findings{featKeepalive: present("a keepalive at an interval of 1 s")}, nil
	case isOver(s):
		return findings{featKeepalive: unknown("the stream ended before a keepalive: " + describe(s))}, nil
	}
	return findings{featKeepalive: absent(fmt.Sprintf("no keepalive within %v at an interval of 1 s, nor after the response to a List", c.target.Scaled(keepaliveWait)))}, nil
}

// keptAlive waits for a keepalive or the end of the process, and returns the state by then.
func (r *running) keptAlive(ctx context.Context, wait time.Duration) bundle.Exchange {
	ctx, cancel := context.WithTimeout(ctx, r.client.target.Scaled(wait))
	defer cancel()
	return watch(ctx, r.x, func(s bundle.Exchange) bool { return isOver(s) || hasEvent(s, bundle.EventKeepAlive) })
}
