package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"assay/internal/bundle"
	"assay/internal/crash"
	"assay/internal/envd/call"
	"assay/scenarios"
)

const (
	// hurryAfter is the excess of stalled over healthy instances from which iterations
	// get less time. It is the default number of workers, so that the first deadline of
	// a run already counts.
	hurryAfter = 8
	// blowAfter is the excess from which the remaining instances do not run.
	blowAfter = 16
	// leastPatience is the minimum time of an iteration that gets less.
	leastPatience = time.Second
)

// fuse bounds the time that a run spends on a target whose streams no longer end: each
// scenario would wait for its deadline and show the same. An instance stalls when one
// of its iterations started a process, ended late, at an unmet wait, and had no stream
// with an end event; an instance with such a stream is well. Each instance counts once;
// one that starts nothing, or is refused, does not count. The excess of stalled
// instances over well ones decides: an intermittent fault, or one of a few commands,
// never comes near the limits. The zero value is ready.
type fuse struct {
	mu      sync.Mutex
	stalled map[*instance]struct{}
	well    map[*instance]struct{}
	blown   bool
}

// put counts the outcome of an iteration.
func (f *fuse) put(in *instance, out *result) {
	if out.interrupted || out.Defect != "" {
		return
	}
	started := false
	for i := range out.Exchanges {
		x := &out.Exchanges[i]
		if !mayStart(x) || x.Op == "raw" {
			continue
		}
		started = true
		if hasEvent(x, bundle.EventEnd) {
			f.count(&f.well, in)
			return
		}
	}
	if started && out.late {
		f.count(&f.stalled, in)
	}
}

func (f *fuse) count(of *map[*instance]struct{}, in *instance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if *of == nil {
		*of = make(map[*instance]struct{})
	}
	(*of)[in] = struct{}{}
	f.blown = f.blown || f.excess() >= blowAfter
}

func (f *fuse) excess() int { return len(f.stalled) - len(f.well) }

// hurries reports whether iterations get less time than usual.
func (f *fuse) hurries() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.excess() >= hurryAfter
}

// hasBlown reports whether instances that start a process no longer run. It stays true.
func (f *fuse) hasBlown() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.blown
}

// stalledSkip says why an instance does not run after the fuse has blown.
func stalledSkip() bundle.Skip {
	return bundle.Skip{
		Reason: bundle.SkipStalled,
		Detail: "most scenarios waited in vain for the streams that they started",
	}
}

// patience returns the time for the next iteration: the script's deadline, or, when
// most instances stall, the time that the steps take by themselves plus two hundred
// round trips and spawns of the target.
func (in *instance) patience() time.Duration {
	if !in.fuse.hurries() {
		return in.deadline
	}
	bound := stepsEstimate(in.s.Steps, in.cal) + in.s.Slow.Deadline(in.cal)
	return min(in.deadline, in.scaled(bound)+in.paced(200, leastPatience, in.deadline))
}

// within bounds the steps of an iteration: its deadline runs from the last progress of
// any of its exchanges. When most instances stall, an iteration with a longer deadline
// than usual ends after the usual time without progress.
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
	usual := it.in.scaled(defaultDeadline)
	for {
		more, hurried := it.left(), usual-it.quiet()
		if more <= 0 || hurried <= 0 && (it.in.fuse.hurries() || it.in.stalls.any()) {
			return true
		}
		if hurried <= 0 {
			hurried = leastPatience
		}
		if sleep(ctx, min(more, hurried)) != nil {
			return false
		}
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
