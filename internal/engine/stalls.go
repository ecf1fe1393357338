package engine

import (
	"cmp"
	"strings"
	"sync"
	"time"
)

// stallsToHurry is the number of scenarios in which a kind of wait must have lasted until its
// deadline in vain for later waits of that kind to get less time.
const stallsToHurry = 3

// vainWaits bounds the time that a run spends on one kind of stall: after three scenarios,
// further ones would wait as long and show the same. The zero value is ready.
type vainWaits struct {
	mu   sync.Mutex
	vain map[string]map[string]struct{} // kind of wait → scenarios
}

// put records that a wait in a scenario lasted until its deadline in vain.
func (s *vainWaits) put(kind, scenario string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.vain == nil {
		s.vain = map[string]map[string]struct{}{}
	}
	if s.vain[kind] == nil {
		s.vain[kind] = map[string]struct{}{}
	}
	s.vain[kind][scenario] = struct{}{}
}

// established reports whether waits of a kind get less time.
func (s *vainWaits) established(kind string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.vain[kind]) >= stallsToHurry
}

// any reports whether waits of any kind get less time.
func (s *vainWaits) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, scenarios := range s.vain {
		if len(scenarios) >= stallsToHurry {
			return true
		}
	}
	return false
}

// patience returns the time for a wait: that of the script, or less once three scenarios
// waited for the same in vain. A limit that the step itself sets stays.
func (it *iteration) patience(w *waiting) time.Duration {
	if w.within > 0 || w.optional || !it.in.stalls.established(kindOf(w)) {
		return cmp.Or(w.within, it.limit)
	}
	return min(it.limit, it.in.paced(200, leastPatience, it.limit))
}

// kindOf returns the kind of a wait: what it waits for, without the details of the script,
// and the method of the exchange.
func kindOf(w *waiting) string {
	what, _, _ := strings.Cut(w.what, ` "`)
	if w.handle == nil {
		return what
	}
	return what + " of " + w.handle.rpc
}
