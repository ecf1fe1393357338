package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"assay/internal/bundle"
	"assay/internal/crash"
	"assay/internal/envd/call"
	"assay/scenarios"
)

const (
	// hurryAfter is the excess of late over well instances from which iterations
	// get less time. It is the default number of workers, so that the first deadline of
	// a run already counts.
	hurryAfter = 8
	// hurryOverdue is the excess of overdue over well instances, or the number of those under way,
	// from which iterations get less time: half of the default number of workers.
	hurryOverdue = hurryAfter / 2
	// blowAfter is the excess of stalled instances from which the remaining instances do
	// not run, and lateAfter that of late ones: their streams show at least something.
	blowAfter = 16
	lateAfter = 48
	// leastPatience is the minimum time of an iteration that gets less.
	leastPatience = time.Second
)

// fuse bounds the time that a run spends on a target whose streams do not behave: each
// scenario would wait for its deadline, or read up to the limits, and show the same. It counts for
// the whole run, and for each protocol, codec and version of HTTP by itself, since a target may be
// well over HTTP/1.1 and dead over HTTP/2. The zero value is ready.
type fuse struct {
	known   bool // the target is known to be late
	mu      sync.Mutex
	tallies map[tallied]*tally
	proven  map[string]bool // ways on which an iteration ended in time, whatever its outcome
}

// tallied says what a tally counts.
type tallied struct {
	way   string // "" is the whole run
	calls bool   // the instances that start no process
}

// tally counts the instances of one way of calling the target. An
// instance is late when one of its iterations ended late, at an unmet
// wait, or left a response unread; it is stalled when it is late and had no stream with an end
// event. Any other one with an end event is well. Each instance counts once;
// one whose start is refused does not count, and one that starts nothing has no end event to wait for:
// it is stalled or well. The excess over well
// instances decides: an intermittent fault, or one of a few commands,
// never comes near the limits.
type tally struct {
	overdue map[*instance]bool // true while under way
	late    map[*instance]struct{}
	stalled map[*instance]struct{}
	well    map[*instance]struct{}
	blown   bool
}

func newTally() *tally {
	return &tally{
		overdue: map[*instance]bool{}, late: map[*instance]struct{}{},
		stalled: map[*instance]struct{}{}, well: map[*instance]struct{}{},
	}
}

func (t *tally) excess(of map[*instance]struct{}) int { return len(of) - len(t.well) }

func (t *tally) hurries() bool {
	underWay := 0
	for _, still := range t.overdue {
		if still {
			underWay++
		}
	}
	return t.excess(t.late) >= hurryAfter || max(underWay, len(t.overdue)-len(t.well)) >= hurryOverdue
}

// waysOf returns the ways on which an instance with these axes calls the target.
func waysOf(a bundle.Axes) []string {
	return []string{"", "protocol " + a.Protocol, "codec " + a.Codec, "HTTP " + a.HTTP}
}

// put counts the outcome of an iteration.
func (f *fuse) put(in *instance, out *result) {
	late := out.late || out.unread
	f.count(in, func(t *tally) { delete(t.overdue, in) })
	if out.interrupted || out.Defect != "" {
		return
	}
	if !late {
		f.prove(in.axes)
	}
	started, ended := in.calls, in.calls && !late
	for i := range out.Exchanges {
		x := &out.Exchanges[i]
		if !mayStart(x) && !x.Switched() || x.Op == "raw" {
			continue
		}
		started = true
		ended = ended || hasEvent(x, bundle.EventEnd)
	}
	if !started {
		return
	}
	f.count(in, func(t *tally) {
		if late {
			t.late[in] = struct{}{}
		}
		if out.overdue {
			t.overdue[in] = false
		}
		if late && !ended {
			t.stalled[in] = struct{}{}
		}
		if !late && ended {
			t.well[in] = struct{}{}
		}
	})
}

// goesOn counts an instance whose iteration has taken longer than usual and goes on.
func (f *fuse) goesOn(in *instance) {
	f.count(in, func(t *tally) {
		t.late[in] = struct{}{}
		t.overdue[in] = true
	})
}

// count changes the tallies of an instance.
func (f *fuse) count(in *instance, change func(*tally)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tallies == nil {
		f.tallies = map[tallied]*tally{}
	}
	for _, way := range waysOf(in.axes) {
		of := tallied{way, in.calls}
		t := f.tallies[of]
		if t == nil {
			t = newTally()
			f.tallies[of] = t
		}
		change(t)
		t.blown = t.blown || t.excess(t.stalled) >= blowAfter || t.excess(t.late) >= lateAfter
	}
}

func (f *fuse) prove(a bundle.Axes) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.proven == nil {
		f.proven = map[string]bool{}
	}
	for _, way := range waysOf(a) {
		f.proven[way] = true
	}
}

// isProven reports whether an iteration has ended in time on a way.
func (f *fuse) isProven(way string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.proven[way]
}

// hurries reports whether iterations of an instance get less time than usual. Where streams are
// late, so are calls, but not the other way round: a stream may begin and end without any.
func (f *fuse) hurries(in *instance) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known || slices.ContainsFunc(waysOf(in.axes), func(way string) bool {
		return f.hurriesOn(tallied{way, false}) || in.calls && f.hurriesOn(tallied{way, true})
	})
}

// hurriesOn reports whether the instances of one tally get less time. Those of the whole run do
// only when its fuse has blown: a way that is well is not hurried by another.
func (f *fuse) hurriesOn(of tallied) bool {
	t := f.tallies[of]
	return t != nil && (t.blown || of.way != "" && t.hurries())
}

// hurriesAny reports whether any iterations get less time than usual.
func (f *fuse) hurriesAny() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for of := range f.tallies {
		if f.hurriesOn(of) {
			return true
		}
	}
	return f.known
}

// blown says why instances with these axes no longer run, those that start a process or those
// that only make calls, or returns nil.
func (f *fuse) blown(a bundle.Axes, calls bool) *bundle.Skip {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, way := range waysOf(a) {
		if t := f.tallies[tallied{way, calls}]; t != nil && t.blown {
			return stalledSkip(way, calls)
		}
	}
	return nil
}

// stalledSkip says why an instance does not run after the fuse of a way has blown.
func stalledSkip(way string, calls bool) *bundle.Skip {
	detail := "most scenarios"
	if way != "" {
		detail += " with " + way
	}
	missed := "the streams that they started"
	if calls {
		missed = "the responses to their calls"
	}
	return &bundle.Skip{Reason: bundle.SkipStalled, Detail: detail + " waited in vain for " + missed}
}

// patience returns the time for the next iteration: the script's deadline, or a brief time
// when most instances stall.
func (in *instance) patience() time.Duration {
	if !in.fuse.hurries(in) {
		return in.deadline
	}
	return min(in.deadline, in.brief(in.deadline))
}

// brief returns the time that the steps take by themselves plus fifty round trips and
// spawns of the target, which are at most most.
func (in *instance) brief(most time.Duration) time.Duration {
	return in.scaled(in.steady()) + in.paced(50, leastPatience, most)
}

// steady returns the time that the steps take by themselves.
func (in *instance) steady() time.Duration {
	return stepsEstimate(in.s.Steps, in.cal) + in.s.Slow.Deadline(in.cal)
}

// usual returns the time that an iteration takes at most on a target that delivers.
func (in *instance) usual() time.Duration {
	return in.scaled(defaultDeadline + in.steady())
}

// within bounds the steps of an iteration: its deadline runs from the last progress of
// any of its exchanges. When most instances are late, an iteration under way gets no more time
// than a new one, and twice that with progress; when waits of one kind are known to be vain, after
// the usual time without progress.
func (it *iteration) within(ctx context.Context) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		defer crash.Catch()
		if it.outlasts(ctx) {
			end(context.DeadlineExceeded)
		}
	}()
	return ctx, func() { end(nil) }
}

// outlasts waits until the iteration has taken too long and returns true, or returns
// false when ctx ends first.
func (it *iteration) outlasts(ctx context.Context) bool {
	usual := it.in.usual()
	for {
		more, took := it.left(), time.Since(it.began)
		hurried := usual - it.quiet()
		if took >= usual && !it.turnedAway() {
			it.in.fuse.goesOn(it.in)
		}
		if it.in.fuse.hurries(it.in) {
			patience := it.in.patience()
			hurried = min(2*patience-took, patience-it.quiet())
		} else if !it.in.stalls.any() {
			hurried = leastPatience
		}
		if it.in.lateOver() {
			hurried = min(hurried, it.in.brief(usual)-it.quiet())
		}
		if it.in.tooLong() != nil {
			hurried = 0
		}
		if more > 0 && hurried <= 0 && it.quiet() < usual {
			it.cutShort()
		}
		if more <= 0 || hurried <= 0 {
			return true
		}
		if sleep(ctx, min(more, hurried, leastPatience)) != nil {
			return false
		}
	}
}

// cutShort notes that a wait ends before its time. A target that is known to be late, from a run
// that gave it its time, had the time that it gets.
func (it *iteration) cutShort() {
	if !it.in.fuse.known {
		it.hurried.Store(true)
	}
}

// left returns how much longer the steps may take.
func (it *iteration) left() time.Duration {
	return lasting(it.limit).left(time.Since(it.began), it.quiet)
}

// quiet returns the time since any exchange of the iteration made progress.
func (it *iteration) quiet() time.Duration {
	quiet := time.Since(it.began)
	for _, h := range it.all() {
		x := h.x
		if x == nil && h.conn != nil {
			x = h.conn.Raw()
		}
		if x != nil {
			quiet = min(quiet, it.in.clock.Since(x.Progressed()))
		}
	}
	return quiet
}

// startFailure describes in a few words how the first Start of an iteration failed. It
// returns "" if no Start failed.
func startFailure(out *result) string {
	for i := range out.Exchanges {
		x := &out.Exchanges[i]
		if !mayStart(x) || x.Op == "raw" {
			continue
		}
		if hasEvent(x, bundle.EventEnd) || x.Aborted {
			return ""
		}
		text := string(x.Outcome)
		if x.Response != nil {
			text += fmt.Sprintf(" %d", x.Response.Status)
		}
		if x.Error != nil {
			text += " " + x.Error.Code
		}
		if hasEvent(x, bundle.EventStart) {
			text += " after the start event"
		}
		return text
	}
	return ""
}

// startsSomething reports whether a scenario has a step that starts a process.
func startsSomething(s *scenarios.Scenario) bool {
	starts := false
	s.EachStep(func(st *scenarios.Step) {
		starts = starts || st.Start != nil || st.Send != nil && st.Send.RPC == call.ProcessStart
	})
	return starts
}
