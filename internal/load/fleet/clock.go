package fleet

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"assay/internal/load"
)

const (
	// trips is the number of round trips of a measured offset. That with the least time counts.
	trips = 8
	// tripWithin bounds one of them.
	tripWithin = 2 * time.Second
	// doubtful is the error of an offset from which on a run warns.
	doubtful = 5 * time.Millisecond
)

// offset is how far a clock is behind that of the coordinator. The truth is within Error of it: the request and its answer
// took twice Error, and the coordinator read its clock somewhere in between.
type offset struct{ Offset, Error time.Duration }

// nearest returns the offset of the shortest of some round trips.
func nearest(all []trip) offset {
	best := all[0]
	for _, t := range all[1:] {
		if t.took < best.took {
			best = t
		}
	}
	return offset{best.server.Sub(best.sent.Add(best.took / 2)), (best.took + 1) / 2}
}

// trip is one round trip: when it was sent by the own clock, how long it took, and what the clock of the coordinator said.
type trip struct {
	sent   time.Time
	took   time.Duration
	server time.Time
}

// measure measures the offset of a clock.
func measure(ctx context.Context, nc *link, subject string, now func() time.Time) (offset, error) {
	var all []trip
	var last error
	for failed := 0; len(all) < trips && failed < trips; {
		call, stop := context.WithTimeout(ctx, tripWithin)
		begun := time.Now()
		sent := now() // within the trip, also if this process stands still in between
		m, err := nc.RequestWithContext(call, subject, nil)
		took := time.Since(begun)
		stop()
		switch {
		case err != nil && ctx.Err() != nil:
			return offset{}, ctx.Err()
		case err != nil && nc.away() > 0:
			if err := nc.forsaken(); err != nil {
				return offset{}, err
			}
			load.Sleep(ctx, redialEvery)
			continue
		case err != nil:
			last = err
			failed++ // the coordinator may come back a moment after the bus
			load.Sleep(ctx, redialEvery)
			continue
		}
		nanos, err := strconv.ParseInt(string(m.Data), 10, 64)
		if err != nil {
			return offset{}, fmt.Errorf("the clock of the coordinator: %w", err)
		}
		all = append(all, trip{sent, took, time.Unix(0, nanos)})
	}
	if len(all) == 0 {
		return offset{}, &BusError{What: "the coordinator of the run does not answer", Mend: "it has ended, or the bus does not pass on its messages: start the run again", Err: last}
	}
	return nearest(all), nil
}

// tellTime answers with the time of this process.
func tellTime(nc *nats.Conn, subject string, now func() time.Time) (*nats.Subscription, error) {
	return nc.Subscribe(subject, func(m *nats.Msg) { _ = m.Respond(strconv.AppendInt(nil, now().UnixNano(), 10)) })
}
