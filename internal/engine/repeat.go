package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/internal/base/crash"
	"assay/internal/judge"
	"assay/internal/record/bundle"
)

const (
	defaultBudget = 15 * time.Second
	// maxIterations bounds a race whose orders never all appear on a fast target.
	maxIterations = 5000
	// maxStrays is how many iterations of a race may fit none of its orders before it no longer
	// waits for the orders that are missing: each stray is a breach already.
	maxStrays = 100
	// maxVain is how many iterations a race runs before it gives up an order that has not
	// appeared once. An order that would have appeared 20 times in maxIterations is given up
	// wrongly in 2 of 100 runs.
	maxVain = 1000
	// maxExpired is how many iterations may end at an unmet wait, or with a response that is
	// not read to its end, before the rest is left out: each would show the same after a
	// whole deadline.
	maxExpired = 3
	// maxAlike is how many iterations in succession may fail at their first Start, all
	// in the same way and each against every rule, before the rest is left out: more
	// would prove nothing. A fault that strikes one time in two gets there once in 32
	// runs.
	maxAlike = 5
	// maxWhole bounds the total time of one instance's iterations, as a multiple of the
	// deadline of one.
	maxWhole = 12
	// mostWhole is the most that the multiple can be: 10,000 repeats of the longest deadline overflow.
	mostWhole = 1_000_000 * time.Hour
	// maxRoom is roughly the size in bytes of one observation's iterations up to which
	// another repeat may begin.
	maxRoom = 32 << 20
)

// repeater runs the iterations of an instance: as often as the script says, several in
// parallel, and for a race more, until each order has its minimum, the budget is spent, or
// more iterations would prove nothing.
type repeater struct {
	in       *instance
	own      int // iterations that the script asks for
	times    int // those to run, with the repeats of the run
	parallel int
	budget   time.Duration
	whole    time.Duration // for all iterations
	once     string        // why it does not take part in the run's repeats, or ""
	began    time.Time

	mu      sync.Mutex
	next    int
	results []*result
	room    int64 // bytes that further repeats may take up
	held    int64 // bytes of the run's memory that the results take
	orders  *orderCount
	keep    *keeper
	expired int
	unread  int
	alike   int    // iterations in succession that failed in the same way
	way     string // the way of their failure
	stop    string // why no further iteration begins
	spent   bool
	cut     bool // by an interrupt
}

func newRepeater(in *instance) *repeater {
	rep := in.s.Repeat
	r := &repeater{
		in: in, own: max(1, rep.Times), parallel: max(1, rep.Parallel), budget: rep.Budget.Deadline(in.cal),
		orders: newOrderCount(in),
	}
	r.times = r.own * in.again
	if in.again > 1 && in.s.CountsOnce() {
		r.times = r.own
		r.once = "its counters are to change by a fixed number"
	}
	r.room = maxRoom
	if rep.Budget.IsZero() {
		r.budget = in.scaled(defaultBudget)
	}
	whole := maxWhole*float64(in.deadline)*float64(r.times/r.own) + float64(r.budget)
	r.whole = time.Duration(min(whole, float64(mostWhole)))
	r.keep = newKeeper(r.times)
	return r
}

func (r *repeater) run(ctx context.Context) {
	r.began = time.Now()
	workers := r.parallel
	if !r.orders.any() {
		workers = min(workers, r.times)
	}
	var all crash.Group
	for range workers {
		all.Go(func() {
			for {
				index, ok := r.take(ctx)
				if !ok {
					return
				}
				out := r.in.iterate(ctx, index)
				r.put(&out)
			}
		})
	}
	all.Wait()
}

// take returns the index of the next iteration, if any.
func (r *repeater) take(ctx context.Context) (index int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil {
		r.cut = r.cut || r.next < r.times || r.orders.any() && !r.orders.complete()
		return 0, false
	}
	if r.stop != "" {
		return 0, false
	}
	if r.next > 0 && time.Since(r.began) > r.whole {
		r.stop = "the time for all of them was spent"
		return 0, false
	}
	if r.next >= r.own && r.next < r.times {
		if r.stop = r.enough(); r.stop != "" {
			return 0, false
		}
	}
	if r.next >= r.times && !r.more() {
		return 0, false
	}
	r.next++
	return r.next - 1, true
}

// enough says why the script's own iterations are not repeated again, or "".
func (r *repeater) enough() string {
	switch {
	case r.next >= maxIterations, r.room <= 0:
		return "an observation holds no more"
	case r.in.spent != nil && r.in.spent():
		return "the budget of the run was spent"
	}
	return ""
}

// more reports whether a race goes on after its minimum number of iterations.
func (r *repeater) more() bool {
	switch {
	case !r.orders.any() || r.orders.complete():
		return false
	case r.orders.strays >= maxStrays, r.next >= maxVain && r.orders.lacking():
		return false
	case time.Since(r.began) >= r.budget || r.next >= maxIterations:
		r.spent = true
		return false
	}
	return true
}

// put records a finished iteration.
func (r *repeater) put(out *result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	order := r.orders.add(&out.Iteration)
	r.keep.trim(out, order)
	r.results = append(r.results, out)
	size := out.Size()
	r.room -= size
	r.held += size
	r.in.target.Memory().Hold(size)
	r.in.breaker.put(r.in, out)
	r.compare(out)
	if out.expired {
		r.expired++
	}
	if out.unread {
		r.unread++
	}
	switch {
	case out.refused:
		r.in.refused.Store(true)
		r.stop = "the target refused a connection"
	case out.late && r.stop == "":
		r.stop = "one had waited in vain until its deadline"
	case r.expired >= max(maxExpired, r.parallel/2) && r.stop == "":
		r.stop = fmt.Sprintf("%d iterations had ended at an unmet wait", r.expired)
	case r.alike >= maxAlike && r.stop == "":
		r.stop = fmt.Sprintf("%d in succession had failed in the same way, at their first Start: %s", r.alike, r.way)
	case r.unread >= max(maxExpired, r.parallel/2) && r.stop == "":
		r.stop = fmt.Sprintf("%d iterations had a response that Assay did not read to its end", r.unread)
	case out.Defect != "":
		r.stop = "one of them showed a defect of Assay"
	}
	failed := func(p bundle.Process) bool { return strings.HasPrefix(p.Cleanup, cleanupFailed) }
	if out.lost || slices.ContainsFunc(out.Processes, failed) {
		r.in.lost.Store(true)
	}
}

// compare counts the iterations that failed like the one before. An iteration that did
// not break every rule that iterations can break resets the count, since it predicts
// nothing about the others.
func (r *repeater) compare(out *result) {
	way := startFailure(out)
	if way == "" || !judge.Broken(r.in.s, r.in.run, &out.Iteration) {
		r.alike, r.way = 0, ""
		return
	}
	if way != r.way {
		r.alike, r.way = 0, way
	}
	r.alike++
}

// startFailure describes in a few words how the first Start of an iteration failed. It
// returns "" if no Start failed.
func startFailure(out *result) string {
	for i := range out.Exchanges {
		x := &out.Exchanges[i]
		if !mayStart(x) || x.Op == bundle.OpRaw {
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

// into writes the outcome of all iterations to an observation, in their order.
func (r *repeater) into(o *bundle.Observation) {
	slices.SortFunc(r.results, func(a, b *result) int { return cmp.Compare(a.Index, b.Index) })
	for _, out := range r.results {
		o.Iterations = append(o.Iterations, out.Iteration)
		o.Scrapes = append(o.Scrapes, out.scrapes...)
		o.Interrupted = o.Interrupted || out.interrupted
		for _, d := range out.dropped {
			o.Dropped = append(o.Dropped, fmt.Sprintf("iteration %d: %s", out.Index, d))
		}
		if out.Defect != "" && o.Defect == "" {
			o.Defect = fmt.Sprintf("iteration %d: %s", out.Index, out.Defect)
		}
	}
	if len(r.results) < r.times && r.stop != "" {
		o.Stopped = fmt.Sprintf("%d of %d iterations were run, since %s", len(r.results), r.times, r.stop)
	}
	if r.once != "" {
		o.Dropped = append(o.Dropped, fmt.Sprintf("run once and not %d times, since %s", r.in.again, r.once))
	}
	if note := r.keep.note(); note != "" {
		o.Dropped = append(o.Dropped, note)
	}
	o.Interrupted = o.Interrupted || r.cut
	o.BudgetSpent = r.spent && !r.orders.complete()
}

// orderCount counts the interleavings of a race, for each clause that names some.
type orderCount struct {
	in     *instance
	counts []map[string]int // by clause, in the script's order
	strays int              // iterations that fit no order of a clause
}

func newOrderCount(in *instance) *orderCount {
	c := &orderCount{in: in, counts: make([]map[string]int, len(in.s.Expect))}
	for i := range c.counts {
		c.counts[i] = make(map[string]int)
	}
	return c
}

func (c *orderCount) any() bool { return hasOrders(c.in.s) }

// add counts one iteration and returns the name of its order in the first clause with
// orders, or "" if it matches none.
func (c *orderCount) add(it *bundle.Iteration) string {
	first := ""
	seen, stray := false, false
	for i := range c.in.s.Expect {
		orders := c.in.s.Expect[i].Orders
		if len(orders) == 0 {
			continue
		}
		name := judge.Order(orders, c.in.run, it)
		if name == "" {
			stray = true
		} else {
			c.counts[i][name]++
		}
		if !seen {
			first, seen = name, true
		}
	}
	if stray {
		c.strays++
	}
	return first
}

// complete reports whether every order has its minimum.
func (c *orderCount) complete() bool {
	for i := range c.in.s.Expect {
		for _, o := range c.in.s.Expect[i].Orders {
			if c.counts[i][o.Name] < o.Min {
				return false
			}
		}
	}
	return true
}

// lacking reports whether an order with a minimum has not appeared once.
func (c *orderCount) lacking() bool {
	for i := range c.in.s.Expect {
		for _, o := range c.in.s.Expect[i].Orders {
			if o.Min > 0 && c.counts[i][o.Name] == 0 {
				return true
			}
		}
	}
	return false
}
