package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/record/surface"
	"assay/scenarios"
)

// opensAfter is by how many instances those that waited in vain must exceed those that ended well before a way opens. It is
// half of the default number of workers, so that the first deadline of a run decides about a way that is dead. A way that
// is well in nine of ten instances opens by chance with its first four once in 10,000 runs, and closes again when it is tried.
const opensAfter = 4

// breaker keeps a run from waiting again and again for what a target does not send. It decides what runs. Each way has a
// state:
//
//	state      from                                             what runs
//	closed     the start, or an instance that ended well        all
//	open       opensAfter more that waited in vain than well    nothing new; see iteration.outlasts for what already runs
//	half-open  open, once nothing else is left of the shared    the shortest instance, to see whether it ends well
//
// For example, HTTP/2 of a target is dead. The first instances over HTTP/2 wait for their deadline in vain, and meanwhile
// the others run. Then "the end of a stream of process.Process with HTTP h2c" and the like are open, and what uses them is put
// off. At the end one instance tries each of them; it waits in vain as well, and the rest is not run. Had the target only
// paused for a while, the instance would end well and the rest would run.
//
// The zero value is ready.
type breaker struct {
	mu      sync.Mutex
	tallies map[way]*tally
}

// way is what an instance needs an answer from: a kind of request, over a version of HTTP, with a protocol, a codec, or a
// feature for which no probe could tell whether the target has it; "" is over whatever.
type way struct{ over, kind string }

func (w way) String() string {
	if w.over == "" {
		return w.kind
	}
	return w.kind + " with " + w.over
}

// tally holds the instances that used a way: each counts once, with its last iteration.
type tally struct{ vain, well map[*instance]struct{} }

func (t *tally) open() bool { return t != nil && len(t.vain)-len(t.well) >= opensAfter }

// mark counts an instance on those of its ways that are of one of the kinds, or on all of them if none is. A way that is
// open is closed by what ends well.
func (b *breaker) mark(in *instance, well bool, kinds ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := func(w way) bool { return slices.Contains(kinds, w.kind) }
	all := !slices.ContainsFunc(in.ways, of)
	for _, w := range in.ways {
		if all || of(w) {
			b.markOne(w, in, well)
		}
	}
}

// markOne counts an instance on one way. The caller holds mu.
func (b *breaker) markOne(w way, in *instance, well bool) {
	if b.tallies == nil {
		b.tallies = map[way]*tally{}
	}
	t := b.tallies[w]
	if t == nil {
		t = &tally{map[*instance]struct{}{}, map[*instance]struct{}{}}
		b.tallies[w] = t
	}
	switch {
	case !well:
		t.vain[in] = struct{}{}
		delete(t.well, in)
		return
	case t.open():
		clear(t.vain)
	}
	t.well[in] = struct{}{}
	delete(t.vain, in)
}

// markOwn counts a request of the engine's own for an instance.
func (b *breaker) markOwn(op string, in *instance, well bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.markOne(way{kind: op}, in, well)
}

// put counts an iteration. One that failed at once has cost no time: it is well if anything was answered, and says nothing
// otherwise.
func (b *breaker) put(in *instance, out *result) {
	switch {
	case out.interrupted, out.Defect != "", slices.ContainsFunc(out.Exchanges, isRefusal):
	case out.late:
		b.mark(in, false, out.vain...)
	case out.unread:
		b.mark(in, false)
	case !out.expired, slices.ContainsFunc(out.Exchanges, func(x bundle.Exchange) bool { return x.Response != nil }):
		b.mark(in, true)
	}
}

// isOpen reports whether a way is open.
func (b *breaker) isOpen(w way) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tallies[w].open()
}

// answers reports whether any instance has ended well.
func (b *breaker) answers() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.tallies {
		if len(t.well) > 0 {
			return true
		}
	}
	return false
}

// open says why nothing new runs on some ways, or returns nil.
func (b *breaker) open(ways []way) *bundle.Skip {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range ways {
		if t := b.tallies[w]; t.open() {
			return unanswered(w, len(t.vain))
		}
	}
	return nil
}

// unanswered says why nothing runs on a way on which so many instances have waited in vain.
func unanswered(w way, vain int) *bundle.Skip {
	if feature, is := strings.CutPrefix(w.over, overFeature); is {
		return &bundle.Skip{
			Reason: bundle.SkipUnanswered,
			Detail: fmt.Sprintf("the probe for %s gave no answer, and %d scenarios waited in vain for %s", feature, vain, w.kind),
		}
	}
	return &bundle.Skip{Reason: bundle.SkipStalled, Detail: fmt.Sprintf("%d scenarios waited in vain for %s", vain, w)}
}

// overFeature precedes a feature in a way.
const overFeature = "feature "

// waysOf returns the ways on which an instance speaks to the target.
func (e *env) waysOf(i scenarios.Instance) []way {
	var over []string
	for _, id := range needed(i, e.http2()) {
		if e.run.Features[id].State == bundle.FeatureUnknown {
			over = append(over, overFeature+id)
		}
	}
	over = append(over, "", "protocol "+i.Axes.Protocol, "codec "+i.Axes.Codec, "HTTP "+i.Axes.HTTP)
	var ways []way
	for _, kind := range kindsOf(i.Scenario) {
		for _, o := range over {
			ways = append(ways, way{o, kind})
		}
	}
	return ways
}

// The kinds of requests. What precedes a service is one kind for each: one service may answer while another does not.
const (
	kindStream = "the end of a stream of "
	kindEvents = "events of a stream of "
	kindCall   = "the response to a unary call of "
	kindSocket = "a WebSocket"
	kindBytes  = "the answer to raw bytes"
	kindPlain  = "a plain HTTP response"
)

// serviceOf returns the service of a procedure.
func serviceOf(rpc string) string {
	service, _, _ := strings.Cut(rpc, "/")
	return service
}

// processService is the service of every step but send.
var processService = serviceOf(call.ProcessStart)

// kindsOf returns the kinds of the requests that a scenario makes.
func kindsOf(s *scenarios.Scenario) []string {
	var kinds []string
	add := func(kind string) {
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	services := map[string]string{} // by exchange, of the procedures that a script names
	s.EachStep(func(st *scenarios.Step) {
		c, calls := st.Call()
		if st.Send != nil && c.RPC {
			services[cmp.Or(c.As, c.Kind)] = serviceOf(st.Send.RPC)
		}
		switch {
		case st.Open != nil:
			add(kindBytes)
		case st.Await != nil && (st.Await.Output != "" || st.Await.Message != nil):
			add(kindEvents + cmp.Or(services[st.Await.On], processService))
		case !calls:
		case st.Start != nil && st.Start.Via == surface.Stdio:
			add(kindSocket)
		case !c.RPC:
			add(kindPlain)
		case st.Send != nil && call.ShapeOf(st.Send.RPC) == call.Stream:
			add(kindStream + serviceOf(st.Send.RPC))
		case st.Send != nil:
			add(kindCall + serviceOf(st.Send.RPC))
		case st.Start != nil:
			add(kindStream + processService)
		case st.Connect != nil:
			add(kindEvents + processService)
		case c.Target != nil:
			add(kindEvents + processService)
			add(kindCall + processService)
		default:
			add(kindCall + processService)
		}
	})
	return kinds
}

// kind returns the kind of a wait.
func (w *waiting) kind() string {
	h := w.handle
	switch {
	case h == nil, h.x == nil:
		return kindBytes
	case h.socket:
		return kindSocket
	case h.rpc == "":
		return kindPlain
	case call.ShapeOf(h.rpc) != call.Stream:
		return kindCall + serviceOf(h.rpc)
	case w.what == whatEnd:
		return kindStream + serviceOf(h.rpc)
	}
	return kindEvents + serviceOf(h.rpc)
}
