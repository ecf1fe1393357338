package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"assay/internal/base/crash"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/scenarios"
)

const (
	// spin is how long before an instant the wait for it changes from a timer to a busy
	// loop. Timers of the runtime fire up to a millisecond late.
	spin = time.Millisecond
	// lead is the time from the release of a race at "now" to its first action, so that
	// both sides are awake by then.
	lead = 100 * time.Microsecond
)

// race prepares both actions (connections open, bytes rendered), waits for the anchor,
// and releases both from one barrier. The later side spins through the last millisecond
// before its instant: the offset is accurate to a few microseconds on an idle core, and
// to tens of microseconds when all cores are busy. The stamps of the writes show the
// real offset.
func (it *iteration) race(ctx context.Context, r *scenarios.Race) error {
	offset, err := it.offset(r.Offset)
	if err != nil {
		return err
	}
	a, err := it.prepareSide(ctx, &r.A, "a")
	if err != nil {
		return err
	}
	b, err := it.prepareSide(ctx, &r.B, "b")
	if err != nil {
		return err
	}
	anchor, err := it.anchor(r.At)
	if err != nil {
		return err
	}
	start := newBarrier(2)
	errs := make([]error, 2)
	var both crash.Group
	both.Go(func() { errs[0] = guard(func() error { return start.run(a, max(0, -offset)) }) })
	both.Go(func() { errs[1] = guard(func() error { return start.run(b, max(0, offset)) }) })
	start.ready.Wait()
	if anchor == nil {
		start.open(time.Now().Add(lead))
	} else if err := it.wait(ctx, *anchor); err != nil {
		start.cancel()
		both.Wait()
		return err
	} else {
		start.open(time.Now())
	}
	both.Wait()
	return worst(errs...)
}

// side is one side of a race: its action, in the context of its own step.
type side struct {
	action
	ctx context.Context
	st  *scenarios.Step
}

func (it *iteration) prepareSide(ctx context.Context, st *scenarios.Step, as string) (side, error) {
	if st.Race != nil {
		return side{}, errors.New("a race cannot contain a race")
	}
	ctx = withStep(ctx, st.At)
	a, err := it.prepare(ctx, st, as)
	return side{action: a, ctx: ctx, st: st}, inStep(st, err)
}

// barrier releases goroutines at an instant that is known only when it opens.
type barrier struct {
	ready   crash.Group
	release chan struct{}
	base    time.Time // set before release is closed
	off     bool
}

func newBarrier(n int) *barrier {
	b := &barrier{release: make(chan struct{})}
	b.ready.Add(n)
	return b
}

func (b *barrier) open(base time.Time) {
	b.base = base
	close(b.release)
}

// cancel releases the goroutines without an action.
func (b *barrier) cancel() {
	b.off = true
	close(b.release)
}

func (b *barrier) run(s side, delay time.Duration) error {
	b.ready.Done()
	<-b.release
	if b.off {
		return nil
	}
	if err := until(s.ctx, b.base.Add(delay)); err != nil {
		return err
	}
	return inStep(s.st, s.run(s.ctx))
}

// until waits for an instant, as precisely as this machine can.
func until(ctx context.Context, t time.Time) error {
	if err := sleep(ctx, time.Until(t)-spin); err != nil {
		return err
	}
	for time.Now().Before(t) {
		runtime.Gosched()
	}
	return nil
}

// offset returns how much later B is than A: a variable of the sweep, or a span.
func (it *iteration) offset(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	if name, ok := strings.CutPrefix(s, "$"); ok {
		d, known := it.vars[name]
		if !known {
			return 0, fmt.Errorf("offset %q: the sweep has no variable of that name", s)
		}
		return d, nil
	}
	span, err := scenarios.ParseSpan(s)
	if err != nil {
		return 0, fmt.Errorf("offset %q: %w", s, err)
	}
	return span.Resolve(it.in.cal), nil
}

// anchor returns the wait that releases a race: nil for now. An event that has already
// come releases it at once.
func (it *iteration) anchor(at string) (*waiting, error) {
	if at == "" || at == "now" {
		return nil, nil
	}
	name, event, ok := strings.Cut(at, ".")
	if !ok {
		return nil, fmt.Errorf("anchor %q is neither now nor NAME.EVENT", at)
	}
	h, err := it.exchange(name)
	if err != nil {
		return nil, err
	}
	w := it.onExchange(h, bundle.Wait{Kind: bundle.WaitAnchor, Of: at}, nil)
	switch event {
	case "returned", "done":
		w.met = func() bool { return returned(h.x) }
	case "head":
		w.met = func() bool { return h.x.Snapshot().Response != nil }
	case "end-stream":
		w.met = func() bool { return h.x.Snapshot().EndStream != nil }
	default:
		w.met = eventCame(h.x, bundle.EventKind(event))
	}
	return &w, nil
}

func eventCame(x *transport.Exchange, kind bundle.EventKind) func() bool {
	return func() bool {
		s := x.Snapshot()
		return hasEvent(&s, kind)
	}
}
