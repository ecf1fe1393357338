package engine

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/scenarios"
)

const (
	// mostTurns is how often an instance is repeated whose requests were refused. From aloneFrom on, nothing runs beside it.
	mostTurns = 3
	aloneFrom = 2
	// fruitless is how many instances are repeated in vain because of the same call. Then the refusal is the answer to it.
	fruitless = 2
	// fewAnswers is how many different refusals are kept.
	fewAnswers = 3
)

// admission knows which requests the target refused. It needs a pace.
type admission struct {
	pace  *target.Pace
	alone sync.RWMutex // held for writing by an instance with nothing beside it

	mu     sync.Mutex
	record bundle.Admission
	vain   map[string]int // instances that were repeated in vain, by call
}

// answerOf describes a refusal in a few words.
func answerOf(x *bundle.Exchange) string {
	text := strconv.Itoa(x.Response.Status)
	if x.Error != nil && x.Error.Code != "" {
		return text + " " + x.Error.Code
	}
	if types := x.Response.Get("Content-Type"); len(types) > 0 {
		kind, _, _ := strings.Cut(types[0], ";")
		return text + " " + kind
	}
	return text
}

// refusals are the exchanges of an observation that may have been refused.
type refusals []*bundle.Exchange

// first returns the clearest of them: one that says that it is none of the gateway's, then the first.
func (r refusals) first() *bundle.Exchange {
	return slices.MinFunc(r, func(a, b *bundle.Exchange) int { return cmp.Compare(clarity(a), clarity(b)) })
}

// ownAnswer is the clarity of a response with an error of the protocol, which may be the gateway's own.
const ownAnswer = 2

func clarity(x *bundle.Exchange) int {
	switch {
	case x.Refusal() == bundle.RefusalFront:
		return 0
	case x.Response.Status == http.StatusTooManyRequests && x.Error == nil:
		return 1
	}
	return ownAnswer
}

// note counts the requests of an observation, and returns those that may have been refused; nil for none.
func (a *admission) note(o *bundle.Observation) (r refusals) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range o.Iterations {
		for n := range o.Iterations[i].Exchanges {
			x := &o.Iterations[i].Exchanges[n]
			a.record.Requests++
			switch {
			case x.Refusal() != "":
				r = append(r, x)
			case x.Response != nil:
				a.pace.Admitted(x)
			}
		}
	}
	return r
}

// of returns the count of a kind. The caller holds mu.
func (a *admission) of(kind bundle.Refusal) *bundle.Refused {
	if kind == bundle.RefusalFront {
		return &a.record.Front
	}
	return &a.record.Limit
}

// count counts the refusals of an observation that proves too little because of them.
func (a *admission) count(r refusals) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, x := range r {
		a.countOne(x, a.of(x.Refusal()))
	}
}

func (a *admission) countOne(x *bundle.Exchange, c *bundle.Refused) {
	if c.Requests == 0 || x.Response.Head.Before(c.First) {
		c.First = x.Response.Head
	}
	if c.Last.Before(x.Response.Head) {
		c.Last = x.Response.Head
	}
	c.Requests++
	if text := answerOf(x); len(c.Answers) < fewAnswers && !slices.Contains(c.Answers, text) {
		c.Answers = append(c.Answers, text)
	}
}

// hopeless reports whether a refusal is the answer of the target to this call, however often others repeated it. What lost its
// way to a gateway that has answered the call before is never that.
func (a *admission) hopeless(r refusals) bool {
	x := r.first()
	lost := x.Refusal() == bundle.RefusalFront && x.Response.Status >= http.StatusBadGateway && a.pace.Admits(x)
	a.mu.Lock()
	defer a.mu.Unlock()
	return !lost && a.vain[target.CallOf(x)] >= fruitless
}

// limits reports whether the target has answered when there were fewer requests.
func (a *admission) limits() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.record.Limit.Settled > 0
}

// answered notes that an instance was not refused in the end, and what it had been refused before. What has the same answer
// then is no refusal, but the answer of the gateway to this request.
func (a *admission) answered(kind bundle.Refusal, before, still refusals) {
	gone := slices.DeleteFunc(before, func(x *bundle.Exchange) bool {
		return slices.ContainsFunc(still, func(y *bundle.Exchange) bool { return y.Name == x.Name && y.Response.Status == x.Response.Status })
	})
	if len(gone) == 0 {
		return
	}
	a.count(gone)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of(kind).Settled++
}

// unanswered notes that an instance was refused in the end, too. It returns whether that says nothing about the call: HTTP 429
// without an error of the protocol is never an answer to it. Any other refusal may be, unless the target has answered the same
// call before, and limits calls.
func (a *admission) unanswered(kind bundle.Refusal, before, left refusals) (excused bool) {
	a.count(before)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.vain == nil {
		a.vain = map[string]int{}
	}
	first := left.first()
	a.vain[target.CallOf(first)]++
	tooMany := first.Response.Status == http.StatusTooManyRequests
	return tooMany && first.Error == nil || a.pace.Admits(first) && (tooMany || a.of(kind).Settled > 0)
}

// refusesPlain makes a request with which nothing is wrong, at the pace of the run, and reports whether the target refuses it as
// well, however often it is repeated, and whether it has ever answered it.
func (e *env) refusesPlain(ctx context.Context) (refused, answered bool) {
	rec := e.target.NewRecorder(e.clock)
	defer rec.Finish(nil)
	ctx, cancel := context.WithTimeout(ctx, e.probeBound())
	defer cancel()
	in := e.housekeeper("admission")
	req, err := in.plainRequest()
	if err != nil {
		return false, false
	}
	x := in.direct(ctx, rec, bundle.OpProbe, req).Snapshot()
	return x.Refusal() != "", e.target.Pace().Admits(&x)
}

// settle runs an instance of a slot. If the target refused requests of it, it runs again until that no longer matters.
func (e *Engine) settle(ctx context.Context, s *slot, in *instance) *bundle.Observation {
	var kind bundle.Refusal
	var before refusals
	for try, alone := 0, false; ; try++ {
		in.retried = e.o.Doubtful != nil && !s.run.Scenario.Destructive && try < mostTurns
		o := e.turn(ctx, s, in, alone)
		r := e.admission.note(o)
		doubtful := len(r) > 0 && e.o.Doubtful != nil && e.o.Doubtful(s.instance, o)
		switch {
		case s.fell, len(r) == 0 && o.Interrupted:
			e.admission.count(before)
			return o
		case !doubtful && !o.Interrupted:
			e.admission.answered(kind, before, r)
			return o
		}
		kind, before = r.first().Refusal(), append(before, r...)
		last := o.Interrupted || !in.retried || e.gone.Load() || e.admission.hopeless(r)
		if last || !in.makeWay(ctx, r.first(), try, e.admission.limits()) {
			excused := e.admission.unanswered(kind, before, r)
			if o.Interrupted || ctx.Err() != nil {
				excused = true // it may have been answered the next time
			} else {
				refused, answered := e.env.refusesPlain(ctx)
				e.admission.pace.Vain(refused)
				excused = excused || refused && answered
			}
			o.Refused = &bundle.Unsettled{Requests: len(r), Answer: answerOf(r.first()), Tries: try + 1, Excused: excused}
			return o
		}
		e.o.Target.Memory().Give(o.Size())
		in = e.instance(s)
		in.turn = try + 1
		alone = try+1 >= aloneFrom
		in.spaced = alone && e.admission.pace.Limits()
	}
}

// turn runs an instance of a slot, with nothing beside it or with others.
func (e *Engine) turn(ctx context.Context, s *slot, in *instance, alone bool) *bundle.Observation {
	if alone {
		e.admission.alone.Lock()
		defer e.admission.alone.Unlock()
	} else {
		e.admission.alone.RLock()
		defer e.admission.alone.RUnlock()
	}
	if lost := e.lostTo(s); lost != nil {
		return e.skipped(s, *lost)
	}
	return e.observe(ctx, s, in, alone || s.run.Scenario.Exclusive || s.run.Scenario.Destructive)
}

func isRefusal(x bundle.Exchange) bool { return x.Refusal() != "" }

// isForeign reports whether something in front of the gateway may have answered. Too many requests need time, and get it.
func isForeign(x bundle.Exchange) bool { return x.Refusal() == bundle.RefusalFront }

// turnedAway reports whether a request of the iteration has such a response. What it waits for then says nothing about
// the target.
func (it *iteration) turnedAway(by func(bundle.Exchange) bool) bool {
	return slices.ContainsFunc(it.all(), func(h *handle) bool { return h.x != nil && by(h.x.Snapshot()) })
}

// pace waits until so many requests may begin.
func (e *env) pace(ctx context.Context, requests int) { e.target.Pace().Wait(ctx, requests) }

// makeWay waits after a refusal, as long as the target asks, and slows down the run if the target is known to limit it. It
// returns false if ctx ends first, if the wait is too long, or if no wait helps.
func (e *env) makeWay(ctx context.Context, x *bundle.Exchange, try int, limits bool) bool {
	if e.target.Pace().Lifted() {
		return false
	}
	after := x.Response.RetryAfter(time.Now())
	if x.Refusal() == bundle.RefusalLimit && (limits || after > 0 || x.Response.Status == http.StatusTooManyRequests) {
		e.target.Pace().Refused(e.clock.Since(x.Invoked), after)
	}
	return target.GiveWay(ctx, after, try)
}

// requestsOf returns about how many requests an iteration of a scenario makes, its clean-up included.
func requestsOf(s *scenarios.Scenario) int {
	n := 1
	s.EachStep(func(st *scenarios.Step) {
		if _, calls := st.Call(); calls {
			n++
		}
	})
	return n
}
