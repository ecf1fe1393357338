package engine

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"assay/internal/bundle"
	"assay/internal/envd/call"
	"assay/scenarios"
)

// Later waits of a kind get less time after waits of that kind have lasted until their deadline
// in vain in so many scenarios, or in so many instances.
const (
	stallsToHurry    = 3
	instancesToHurry = 8
)

// vainWaits bounds the time that a run spends on one kind of stall: further waits would last as
// long and show the same. The zero value is ready.
type vainWaits struct {
	mu   sync.Mutex
	vain map[string]*vainKind
}

// vainKind holds where waits of one kind lasted in vain.
type vainKind struct {
	scenarios map[string]struct{}
	instances map[*instance]struct{}
}

// put records that a wait of an instance lasted until its deadline in vain.
func (s *vainWaits) put(kind string, in *instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.vain == nil {
		s.vain = map[string]*vainKind{}
	}
	k := s.vain[kind]
	if k == nil {
		k = &vainKind{map[string]struct{}{}, map[*instance]struct{}{}}
		s.vain[kind] = k
	}
	k.scenarios[in.s.ID] = struct{}{}
	k.instances[in] = struct{}{}
}

func (k *vainKind) established() bool {
	return k != nil && (len(k.scenarios) >= stallsToHurry || len(k.instances) >= instancesToHurry)
}

// established reports whether waits of a kind get less time.
func (s *vainWaits) established(kind string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.vain[kind].established()
}

// any reports whether waits of any kind get less time.
func (s *vainWaits) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.vain {
		if k.established() {
			return true
		}
	}
	return false
}

// tooLong says why an instance no longer runs after the time that a run has for what waits in
// vain, or returns nil. Instances that wait for what other instances get run on.
func (in *instance) tooLong() *bundle.Skip {
	if !in.lateOver() || !in.fuse.hurries(in) && !in.waitsInVain() {
		return nil
	}
	return &bundle.Skip{Reason: bundle.SkipStalled, Detail: "scenarios like it had waited in vain until the time for them was over"}
}

// lateOver reports whether the target is late, and the time of the run for that is over. Then
// every wait gets less time.
func (e *env) lateOver() bool {
	return !e.lateUntil.IsZero() && !time.Now().Before(e.lateUntil) && (e.fuse.hurriesAny() || e.stalls.any())
}

// waitsInVain reports whether a step of an instance waits for what others waited for in vain.
func (in *instance) waitsInVain() bool {
	vain := false
	in.s.EachStep(func(st *scenarios.Step) {
		kind := kindOfCall(st)
		vain = vain || kind != "" && in.stalls.established(kind)
	})
	return vain
}

// inVain reports whether a wait gets less time, because others waited for the same in vain.
func (it *iteration) inVain(w *waiting) bool {
	return it.in.stalls.established(kindOf(w)) || it.in.lateOver()
}

// patience returns the time for a wait: that of the script, or less once others
// waited for the same in vain. A limit that the step itself sets stays.
func (it *iteration) patience(w *waiting) time.Duration {
	if w.within > 0 || w.optional || !it.inVain(w) {
		return cmp.Or(w.within, it.limit)
	}
	return min(it.limit, it.in.brief(it.limit))
}

// The kinds of waits for a part of a response, whatever the part.
const (
	kindStream = "a stream of events"
	kindCall   = "a unary call"
	kindSocket = "a WebSocket"
)

// kindOf returns the kind of a wait: the shape of the response for which it waits, or what it
// waits for on a connection.
func kindOf(w *waiting) string {
	switch {
	case w.handle != nil && w.handle.socket:
		return kindSocket
	case w.handle == nil || w.handle.rpc == "":
		what, _, _ := strings.Cut(w.what, ` "`)
		return what
	case call.ShapeOf(w.handle.rpc) == call.Stream:
		return kindStream
	}
	return kindCall
}

// kindOfCall returns the kind of the wait for the response to the request of a step, "" if it
// makes none.
func kindOfCall(st *scenarios.Step) string {
	c, calls := st.Call()
	switch {
	case calls && st.Start != nil && st.Start.Via == scenarios.ViaStdio:
		return kindSocket
	case !calls || !c.RPC:
		return ""
	case st.Start != nil, st.Connect != nil, st.Send != nil && call.ShapeOf(st.Send.RPC) == call.Stream:
		return kindStream
	}
	return kindCall
}
