package target

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

// calibrationSamples is large enough for one outlier on either side of the median.
const calibrationSamples = 5

// Calibrate measures the target's pace with a few calls: the median round trip of a
// unary call on a kept-alive connection, and the median times from a Start request of
// `true` to its start event and to its end event. For a target without List it measures
// the errors of List, or Start alone; if Start starts nothing, the spawn latency is the
// round trip. The time to the end is 0 without an end event.
//
// It uses connect/json/1.1 if the target supports it, else the first other combination of
// protocol, codec and HTTP version that works; Way returns it from then on. If the target
// refuses /bin/sh -c, it tries /bin/bash -l -c, unless the options name a shell; Shell
// returns the working one from then on.
//
// A target that need not be a gateway (Options.Gateway) is measured by plain HTTP requests; then
// IsService is true.
//
// A target that has only the stdio surface is measured by that. If it asks for credentials for every call of
// processes, it is rejected instead, even if its WebSockets accept the token: the token may be in a header
// that it does not read. A ws URL has no processes.
//
// It returns an *UnreachableError if the target is not a gateway (unreachable, an
// untrusted certificate, HTML, silence, garbage, a missing token or path). Every call is
// limited to 5 s times the time scale, and so are all samples together.
//
// It begins again after calls that were refused as too many, or by something in front of the gateway.
func (t *Target) Calibrate(ctx context.Context, clock *transport.Clock) (bundle.Calibration, error) {
	for try := 0; ; try++ {
		c := t.newClient(clock, "calibrate", t.Scaled(callTimeout), t.Scaled(callTimeout))
		cal, err := t.calibrate(ctx, c)
		if !c.again(ctx, try) {
			return cal, err
		}
	}
}

func (t *Target) calibrate(ctx context.Context, c *client) (bundle.Calibration, error) {
	if t.options.Gateway == GatewayUnneeded {
		return c.calibrateService(ctx)
	}
	first, err := c.findWay(ctx)
	if ctx.Err() != nil {
		return bundle.Calibration{}, ctx.Err()
	}
	if err != nil {
		if first != nil && (first.answered() || IsSocketURL(t.options.URL)) {
			cal, ok := c.calibrateSocket(ctx)
			var denied *UnreachableError
			switch {
			case !ok:
			case IsSocketURL(t.options.URL) || !first.denied():
				return cal, nil
			case errors.As(err, &denied):
				denied.Mend += "\nIts WebSockets are open: to test nothing else, give their URL, " + t.socketURL() + "."
			}
		}
		if t.options.Gateway == GatewayOptional {
			return c.calibrateService(ctx)
		}
		return bundle.Calibration{}, err
	}
	c = c.on(first.way)
	t.way.Store(&first.way)
	list, start := first.list.Snapshot(), c.findShell(ctx, first.start.Snapshot())
	budget, cancel := c.within(ctx)
	defer cancel()
	cal := bundle.Calibration{TimeScale: t.options.TimeScale}
	var trips, spawns, ends []time.Duration
	if list.Outcome == bundle.OutcomeComplete {
		trips = c.roundTrips(budget)
	}
	if d, ok := timeTo(start, bundle.EventStart); ok {
		spawns, ends = c.startTimes(budget)
		spawns = append(spawns, d)
	}
	if d, ok := timeTo(start, bundle.EventEnd); ok {
		ends = append(ends, d)
	}
	if len(trips) == 0 { // only the first call returned
		trips = []time.Duration{headTime(list, start)}
	}
	cal.RTT, cal.Samples = int64(median(trips)), len(trips)
	cal.Spawn = cal.RTT
	if len(spawns) > 0 {
		cal.Spawn = int64(median(spawns))
	}
	if len(ends) > 0 {
		cal.End = int64(median(ends))
	}
	return cal, ctx.Err()
}

// startTrue runs the shell's `true`.
func (c *client) startTrue(ctx context.Context) *transport.Exchange {
	x, _ := c.finish(ctx, c.startRequest(command{text: "true"}))
	return x
}

// finish makes one call on a new connection and waits for the whole response.
func (c *client) finish(ctx context.Context, r request) (*transport.Exchange, error) {
	x, err := c.send(ctx, r)
	c.awaitEnd(ctx, x)
	return x, err
}

// awaitEnd waits for the whole response. After the end event of a stream it waits only briefly.
func (c *client) awaitEnd(ctx context.Context, x *transport.Exchange) {
	c.await(ctx, x, func(s bundle.Exchange) bool { return hasEvent(s, bundle.EventEnd) })
	grace, cancel := context.WithTimeout(ctx, c.target.Scaled(time.Second))
	defer cancel()
	c.await(grace, x, func(bundle.Exchange) bool { return false })
}

// roundTrips measures unary calls on one connection, one after another.
func (c *client) roundTrips(ctx context.Context) []time.Duration {
	var conn *transport.Conn
	var err error
	var trips []time.Duration
	for range calibrationSamples {
		if conn == nil || !conn.Idle() {
			if conn, err = c.open(ctx); err != nil {
				return trips
			}
		}
		x := c.begin(ctx, conn, c.rpcRequest(call.List{}))
		c.awaitEnd(ctx, x)
		s := x.Snapshot()
		if s.Outcome != bundle.OutcomeComplete {
			return trips
		}
		trips = append(trips, elapsed(s.Invoked, *s.Returned))
	}
	return trips
}

// startTimes measures Starts, one after another: the times to their start events, and to
// their end events if they ended in time.
func (c *client) startTimes(ctx context.Context) (spawns, ends []time.Duration) {
	for range calibrationSamples - 1 {
		s := c.startTrue(ctx).Snapshot()
		d, ok := timeTo(s, bundle.EventStart)
		if !ok {
			return spawns, ends
		}
		spawns = append(spawns, d)
		if d, ok := timeTo(s, bundle.EventEnd); ok {
			ends = append(ends, d)
		}
	}
	return spawns, ends
}

// timeTo returns the time from the request to the first event of a kind.
func timeTo(s bundle.Exchange, k bundle.EventKind) (time.Duration, bool) {
	for _, e := range s.Events {
		if e.Kind == k {
			return elapsed(s.Invoked, e.At), true
		}
	}
	return 0, false
}

// headTime returns the time to the first response head.
func headTime(of ...bundle.Exchange) time.Duration {
	for _, s := range of {
		if s.Response != nil {
			return elapsed(s.Invoked, s.Response.Head)
		}
	}
	return 0
}

func median(ds []time.Duration) time.Duration {
	slices.Sort(ds)
	return ds[len(ds)/2]
}

func hasEvent(s bundle.Exchange, k bundle.EventKind) bool {
	return slices.ContainsFunc(s.Events, func(e bundle.Event) bool { return e.Kind == k })
}

// isAuth reports whether a response asks for credentials, by HTTP status or by the error
// of a stream.
func isAuth(s bundle.Exchange) bool {
	if s.Response == nil {
		return false
	}
	return s.Response.Status == 401 || s.Response.Status == 403 ||
		s.Error != nil && (s.Error.Code == "unauthenticated" || s.Error.Code == "permission_denied")
}

// contentType returns the media type of a response, without parameters, in lower case.
func contentType(s bundle.Exchange) string {
	kinds := s.Response.Get("Content-Type")
	if len(kinds) == 0 {
		return ""
	}
	kind, _, _ := strings.Cut(kinds[0], ";")
	return strings.ToLower(strings.TrimSpace(kind))
}
