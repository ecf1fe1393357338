package target

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/internal/bundle"
	"assay/internal/transport"
	"assay/internal/wire"
)

const (
	rpcList  = "process.Process/List"
	rpcStart = "process.Process/Start"

	// Five samples bear one outlier on either side of their median.
	calibrationSamples = 5
)

// Calibrate measures the target's own pace with a few calls: the median round
// trip of a unary call on a kept-alive connection, and the median time from a
// Start request to its start event. A target without List is measured by the
// refusals of List, or by Start alone; one whose Start starts nothing has the
// round trip as its spawn latency.
//
// What is no gateway at all (unreachable, TLS, HTML, silence, garbage, a missing
// token or path) is refused with an *UnreachableError. Every call is bounded by
// 5 s times the time scale, and so are all samples together.
func (t *Target) Calibrate(ctx context.Context, clock *transport.Clock) (bundle.Calibration, error) {
	c := t.newClient(clock, "calibrate")
	defer c.close()
	list, start, err := c.firstContact(ctx)
	if ctx.Err() != nil {
		return bundle.Calibration{}, ctx.Err()
	}
	if err != nil {
		return bundle.Calibration{}, err
	}
	budget, cancel := c.within(ctx)
	defer cancel()
	cal := bundle.Calibration{TimeScale: t.options.TimeScale}
	var trips, spawns []time.Duration
	if list.Outcome == bundle.OutcomeComplete {
		trips = c.roundTrips(budget)
	}
	if d, ok := spawnTime(start); ok {
		spawns = append(c.spawnTimes(budget), d)
	}
	if len(trips) == 0 { // the call that came back is all there is
		trips = []time.Duration{headTime(list, start)}
	}
	cal.RTT, cal.Samples = int64(median(trips)), len(trips)
	cal.Spawn = cal.RTT
	if len(spawns) > 0 {
		cal.Spawn = int64(median(spawns))
	}
	return cal, ctx.Err()
}

// firstContact makes a List and a Start at the same time, so that a target that
// answers neither costs one deadline, and refuses what speaks no RPC.
func (c *client) firstContact(ctx context.Context) (list, start bundle.Exchange, err error) {
	ctx, cancel := c.within(ctx)
	defer cancel()
	var listed, started *transport.Exchange
	var listErr, startErr error
	var both sync.WaitGroup
	both.Go(func() { listed, listErr = c.unary(ctx, rpcList, "{}") })
	both.Go(func() { started, startErr = c.startTrue(ctx) })
	both.Wait()
	if err := errors.Join(listErr, startErr); err != nil {
		var dial *transport.DialError
		if errors.As(err, &dial) {
			return list, start, c.target.dialFailure(dial.Err)
		}
		return list, start, err
	}
	list, start = listed.Snapshot(), started.Snapshot()
	if speaksRPC(list) || speaksRPC(start) {
		return list, start, nil
	}
	telling := listed // the one that says more of what is wrong
	if list.Outcome == bundle.OutcomeComplete && !isAuth(list) || len(start.Violations) > len(list.Violations) {
		telling = started
	}
	return list, start, c.target.diagnose(telling)
}

// unary makes one unary call with the JSON codec on a connection of its own.
func (c *client) unary(ctx context.Context, rpc, message string) (*transport.Exchange, error) {
	r, err := rpcRequest(rpc, "json", message)
	if err != nil {
		return nil, err
	}
	conn, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	return c.finishOn(ctx, conn, r), nil
}

// startTrue runs the shell's `true`.
func (c *client) startTrue(ctx context.Context) (*transport.Exchange, error) {
	r, err := c.startRequest("json", process{command: "true"})
	if err != nil {
		return nil, err
	}
	conn, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	return c.finishOn(ctx, conn, r), nil
}

// finishOn makes a call on a connection and waits for the whole answer; a stream
// that has come to its end event is given a moment more, and then left.
func (c *client) finishOn(ctx context.Context, conn *transport.Conn, r request) *transport.Exchange {
	x := c.begin(ctx, conn, r)
	c.await(ctx, x, func(s bundle.Exchange) bool { return hasEvent(s, bundle.EventEnd) })
	grace, cancel := context.WithTimeout(ctx, c.target.scaled(time.Second))
	defer cancel()
	c.await(grace, x, func(bundle.Exchange) bool { return false })
	return x
}

// roundTrips measures unary calls on one connection, one after another.
func (c *client) roundTrips(ctx context.Context) []time.Duration {
	r, err := rpcRequest(rpcList, "json", "{}")
	if err != nil {
		return nil
	}
	var conn *transport.Conn
	var trips []time.Duration
	for range calibrationSamples {
		if conn == nil || !conn.Idle() {
			if conn, err = c.open(ctx); err != nil {
				return trips
			}
		}
		s := c.finishOn(ctx, conn, r).Snapshot()
		if s.Outcome != bundle.OutcomeComplete {
			return trips
		}
		trips = append(trips, elapsed(s.Invoked, *s.Returned))
	}
	return trips
}

// spawnTimes measures Starts, one after another.
func (c *client) spawnTimes(ctx context.Context) []time.Duration {
	var times []time.Duration
	for range calibrationSamples - 1 {
		x, err := c.startTrue(ctx)
		if err != nil {
			return times
		}
		d, ok := spawnTime(x.Snapshot())
		if !ok {
			return times
		}
		times = append(times, d)
	}
	return times
}

// spawnTime is the time from the request to the start event.
func spawnTime(s bundle.Exchange) (time.Duration, bool) {
	for _, e := range s.Events {
		if e.Kind == bundle.EventStart {
			return elapsed(s.Invoked, e.At), true
		}
	}
	return 0, false
}

// headTime is the time to the first head that came.
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

// speaksRPC reports whether an answer is one of the Connect protocol: success in
// a type of the protocol with at least one message, or an error with one of its
// codes. What asks for credentials never counts.
func speaksRPC(s bundle.Exchange) bool {
	if s.Response == nil || isAuth(s) {
		return false
	}
	if s.Error != nil {
		_, known := wire.CodeByName(s.Error.Code)
		return known
	}
	kind := contentType(s)
	switch {
	case s.Response.Status != 200:
		return false
	case s.Shape == bundle.ShapeStream:
		return strings.HasPrefix(kind, "application/connect+") && (len(s.Events) > 0 || s.EndStream != nil)
	default:
		return s.Outcome == bundle.OutcomeComplete && (kind == "application/json" || kind == "application/proto")
	}
}

// isAuth reports whether an answer asks for credentials: by HTTP status, or by
// the error of a stream.
func isAuth(s bundle.Exchange) bool {
	if s.Response == nil {
		return false
	}
	return s.Response.Status == 401 || s.Response.Status == 403 ||
		s.Error != nil && (s.Error.Code == "unauthenticated" || s.Error.Code == "permission_denied")
}

// contentType is the media type of an answer, without its parameters, in lower case.
func contentType(s bundle.Exchange) string {
	kinds := s.Response.Get("Content-Type")
	if len(kinds) == 0 {
		return ""
	}
	kind, _, _ := strings.Cut(kinds[0], ";")
	return strings.ToLower(strings.TrimSpace(kind))
}
