package target

import (
	"context"
	"fmt"
	"time"

	"assay/internal/record/bundle"
)

// keepaliveWait is the wait for the first keepalive at an interval of one second, with half
// an interval of slack for a late timer.
const keepaliveWait = 1500 * time.Millisecond

// keepaliveGrace is for a keepalive that was due while the target or this driver paused.
const keepaliveGrace = 300 * time.Millisecond

// probeKeepalive waits on a silent process for a keepalive. Without one, the target or this
// driver may have paused meanwhile: the probe calls the target once more, and waits a moment
// after its response.
func probeKeepalive(ctx context.Context, c *client) findings {
	interval := bundle.Header{Name: "keepalive-ping-interval", Value: "1"}
	return c.about(ctx, featKeepalive, command{text: c.nap(), headers: []bundle.Header{interval}}, func(run *running) bundle.Feature {
		s := run.keptAlive(ctx, keepaliveWait)
		if !isOver(s) && !hasEvent(s, bundle.EventKeepAlive) {
			if answer := c.list(ctx).answer.Snapshot(); answer.Response == nil {
				return unknown("no keepalive, and no response to a List: " + describe(answer))
			}
			s = run.keptAlive(ctx, keepaliveGrace)
		}
		switch {
		case hasEvent(s, bundle.EventKeepAlive):
			return present("a keepalive at an interval of 1 s")
		case isOver(s):
			return unknown("the stream ended before a keepalive: " + describe(s))
		}
		return absent(fmt.Sprintf("no keepalive within %v at an interval of 1 s, nor after the response to a List", c.target.Scaled(keepaliveWait)))
	})
}

// keptAlive waits for a keepalive or the end of the process, and returns the state by then.
func (r *running) keptAlive(ctx context.Context, wait time.Duration) bundle.Exchange {
	ctx, cancel := context.WithTimeout(ctx, r.client.target.Scaled(wait))
	defer cancel()
	return watch(ctx, r.x, func(s bundle.Exchange) bool { return isOver(s) || hasEvent(s, bundle.EventKeepAlive) })
}
