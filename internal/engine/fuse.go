package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"assay/internal/bundle"
	"assay/internal/envd/call"
	"assay/scenarios"
)

const (
	// hurryAfter is how many more instances have to stall than are well for those that
	// follow to be given less time; as many as there are workers by default, so that
	// the first deadline of a run already counts.
	hurryAfter = 8
	// blowAfter is how many more have to stall for the rest not to be run.
	blowAfter = 16
	// leastPatience is the least time of an iteration that is given less.
	leastPatience = time.Second
)

// fuse bounds what a run spends on a target whose streams do not end any more:
// each scenario would wait for its deadline and show the same. An instance
// stalls when an iteration of it started something, ended late, at a wait that was not
// met, and no stream of it came to its end event; one with such a stream is well. Each
// counts once; what starts nothing, or is refused, says nothing. What counts is how
// many more stalled than were well: a fault that strikes now and then, or only some
// commands, never comes near it. The zero value is ready.
type fuse struct {
	mu      sync.Mutex
	stalled map[*instance]struct{}
	well    map[*instance]struct{}
	blown   bool
}

// put notes how an iteration ended.
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

// hurries reports whether an iteration is given less time than it might have.
func (f *fuse) hurries() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.excess() >= hurryAfter
}

// hasBlown reports whether what starts a process is not run any more, for good.
func (f *fuse) hasBlown() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.blown
}

// stalledSkip is why an instance is not run behind a fuse that has blown.
func stalledSkip() bundle.Skip {
	return bundle.Skip{
		Reason: bundle.SkipStalled,
		Detail: "most scenarios had waited in vain for what they had started",
	}
}

// patience is the time for the next iteration: that of the script, or, where
// everything stalls, what the steps wait for by themselves and two hundred round
// trips and spawns of the target.
func (in *instance) patience() time.Duration {
	if !in.fuse.hurries() {
		return in.deadline
	}
	bound := stepsEstimate(in.s.Steps, in.cal) + in.s.Slow.Deadline(in.cal)
	return min(in.deadline, in.scaled(bound)+in.paced(200, leastPatience, in.deadline))
}

// within bounds the steps of an iteration: its deadline runs from the last progress of any
// of its exchanges. One that its script gives more time than usual is ended when nothing
// has come for the usual time, as soon as everything stalls.
func (it *iteration) within(ctx context.Context) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		if it.outlasts(ctx) {
			end(context.DeadlineExceeded)
		}
	}()
	return ctx, func() { end(nil) }
}

// outlasts reports, when it is so, that the iteration has taken too long; false when ctx ends before.
func (it *iteration) outlasts(ctx context.Context) bool {
	usual := it.in.scaled(defaultDeadline)
	for {
		more, hurried := it.left(), usual-it.quiet()
		if more <= 0 || hurried <= 0 && it.in.fuse.hurries() {
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

// left is how much longer the steps may take.
func (it *iteration) left() time.Duration {
	return lasting(it.limit).left(time.Since(it.began), it.quiet)
}

// quiet is for how long no exchange of the iteration has made progress.
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

// letDown tells in a word or two in which way the first Start of an iteration
// failed: "" when it did not, or when there was none.
func letDown(out *result) string {
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
			text += " behind the start event"
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
