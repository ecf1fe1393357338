package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"assay/internal/judge"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/scenarios"
)

// await runs an await step. The wait is always recorded. If it is unmet, the steps end
// there, unless the wait is optional and the iteration has time left.
func (it *iteration) await(ctx context.Context, a *scenarios.Await) error {
	err := it.awaitOne(ctx, a)
	if a.Optional && errors.Is(err, errExpired) && ctx.Err() == nil && it.left() > 0 {
		return nil
	}
	return err
}

func (it *iteration) awaitOne(ctx context.Context, a *scenarios.Await) error {
	h, err := it.handle(a.On)
	if err != nil {
		return err
	}
	if h.x == nil && h.conn == nil {
		return errUnconnected
	}
	if !a.Silence.IsZero() {
		return it.awaitSilence(ctx, h, a)
	}
	w, err := it.awaited(ctx, h, a)
	if err != nil {
		return err
	}
	w.record, w.optional = true, a.Optional
	w.within, w.idle = a.Within.Deadline(it.in.cal), a.Idle.Deadline(it.in.cal)
	return it.wait(ctx, w)
}

// awaited returns the wait for the condition of an await step.
func (it *iteration) awaited(ctx context.Context, h *handle, a *scenarios.Await) (waiting, error) {
	switch {
	case a.Bytes > 0:
		return it.needConn(h, bundle.Wait{Kind: bundle.WaitBytes, Of: strconv.FormatInt(a.Bytes, 10)}, func() bool {
			n, _ := h.conn.Received()
			return n >= a.Bytes
		})
	case a.Closed:
		return it.needConn(h, bundle.Wait{Kind: bundle.WaitClosed}, func() bool { return h.conn.PeerClosed() })
	case a.Event != "":
		return it.onAnswer(h, bundle.Wait{Kind: bundle.WaitEvent, Of: a.Event}, func(x *transport.Exchange) bool {
			s := x.Snapshot()
			return hasEvent(&s, bundle.EventKind(a.Event))
		}), nil
	case a.Output != "":
		return it.onAnswer(h, bundle.Wait{Kind: bundle.WaitOutput, Of: a.Output}, outputHas(a.Output)), nil
	case a.Message != nil:
		vars, err := it.variablesIn(ctx, a.Message)
		return it.onAnswer(h, bundle.Wait{Kind: bundle.WaitMessage, Of: a.Message.String()}, messageFits(a.Message, vars)), err
	case a.Status:
		return it.onAnswer(h, bundle.Wait{Kind: bundle.WaitHead}, func(x *transport.Exchange) bool { return x.Snapshot().Response != nil }), nil
	case a.Frames > 0:
		return it.onAnswer(h, bundle.Wait{Kind: bundle.WaitFrames, Of: strconv.Itoa(a.Frames)}, func(x *transport.Exchange) bool {
			return len(x.Snapshot().Frames) >= a.Frames
		}), nil
	case a.WS != nil:
		return it.onAnswer(h, bundle.Wait{Kind: bundle.WaitFrame, Of: a.WS.String()}, socketFrameCame(*a.WS)), nil
	case a.H2 != "":
		return it.needConn(h, bundle.Wait{Kind: bundle.WaitFrame, Of: a.H2}, func() bool { return frameCame(h, a.H2) })
	case a.Done:
		return it.onAnswer(h, bundle.Wait{Kind: bundle.WaitDone}, returned), nil
	}
	return waiting{}, errors.New("the await has no condition")
}

func (it *iteration) needConn(h *handle, what bundle.Wait, met func() bool) (waiting, error) {
	if h.conn == nil {
		return waiting{}, errUnconnected
	}
	return it.onConn(h, what, met), nil
}

// frameCame reports whether a frame of that name came. For an exchange only frames of its stream and of stream 0 count.
func frameCame(h *handle, name string) bool {
	var stream uint32
	if h.x != nil {
		stream = h.x.Snapshot().Stream
	}
	return slices.ContainsFunc(h.conn.H2Frames(), func(f bundle.H2Frame) bool { return f.Concerns(stream) && f.Fits(name) })
}

// onAnswer waits for a state of an exchange; for a connection of an open step, of the
// last exchange on it.
func (it *iteration) onAnswer(h *handle, what bundle.Wait, met func(*transport.Exchange) bool) waiting {
	if h.x != nil {
		w := it.onExchange(h, what, nil)
		w.met = func() bool { return met(h.x) }
		return w
	}
	w := it.onConn(h, what, func() bool {
		x := it.answerOn(h.conn)
		return x != nil && met(x)
	})
	w.since = func() time.Duration {
		if x := it.answerOn(h.conn); x != nil {
			return it.in.clock.Since(x.Progressed())
		}
		return it.in.clock.Since(bundle.Stamp{})
	}
	w.handle = h
	return w
}

// answerOn returns the exchange to which the bytes on a connection belong: the one that
// raw writes began, or the last that a step began there.
func (it *iteration) answerOn(conn *transport.Conn) *transport.Exchange {
	if x := conn.Raw(); x != nil {
		return x
	}
	var last *transport.Exchange
	for _, h := range it.all() {
		if h.conn == conn && h.x != nil {
			last = h.x
		}
	}
	return last
}

// outputHas searches each output for a text, and reads every byte once.
func outputHas(text string) func(*transport.Exchange) bool {
	want := []byte(text)
	var seen [len(outputStreams)]int
	return func(x *transport.Exchange) bool {
		for i, stream := range outputStreams {
			out := x.Output(stream)
			from := max(0, min(seen[i], len(out))-len(want)+1)
			if bytes.Contains(out[from:], want) {
				return true
			}
			seen[i] = len(out)
		}
		return false
	}
}

// messageFits searches the messages for a match, and reads every frame once.
func messageFits(m *scenarios.BodyMatch, vars map[string]string) func(*transport.Exchange) bool {
	seen := 0
	return func(x *transport.Exchange) (fits bool) {
		s := x.Snapshot()
		fits, seen = judge.MessageFits(&s, seen, m, vars)
		return fits
	}
}

// outputStreams are the streams of a process.
var outputStreams = [...]string{"stdout", "stderr", "pty"}

// awaitSilence waits until nothing has come for a while; each byte restarts the
// silence. The limit applies to the whole wait: a connection that keeps delivering is
// never silent.
func (it *iteration) awaitSilence(ctx context.Context, h *handle, a *scenarios.Await) error {
	if h.conn == nil {
		return errUnconnected
	}
	want := a.Silence.Resolve(it.in.cal)
	record := bundle.Await{Step: stepOf(ctx), On: h.name, What: bundle.Wait{Kind: bundle.WaitSilence, Of: want.String()}, Began: it.in.clock.Stamp()}
	limit := max(0, min(cmp.Or(a.Within.Deadline(it.in.cal), it.limit), it.left()))
	record.Deadline = int64(limit)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := it.silent(ctx, h.conn, want)
	record.Ended = it.in.clock.Stamp()
	record.Met = err == nil
	if !errors.Is(err, errInterrupted) {
		it.addAwait(record, a.Optional)
	}
	return err
}

func (it *iteration) silent(ctx context.Context, conn *transport.Conn, want time.Duration) error {
	return waitSilent(ctx, want, conn.Changed, func() int64 { n, _ := conn.Received(); return n })
}

// waitSilent waits until nothing was received for that long. If the deadline comes
// before the end of the silence, the wait expires, no matter how late this goroutine
// runs.
func waitSilent(ctx context.Context, want time.Duration, changed func() <-chan struct{}, received func() int64) error {
	for {
		more := changed()
		before := received()
		end, bounded := ctx.Deadline()
		tooLong := bounded && time.Until(end) < want
		timer := time.NewTimer(want)
		select {
		case <-timer.C:
			switch {
			case tooLong:
				return errExpired
			case received() == before:
				return nil
			}
		case <-more:
		case <-ctx.Done():
			timer.Stop()
			return ended(ctx)
		}
		timer.Stop()
	}
}
