package zoo

import "sync/atomic"

// share is how often something rare strikes: times in of, spread evenly, so that
// every run of of opportunities sees it. Nil never strikes.
type share struct {
	times, of uint64
	count     atomic.Uint64
}

// newShare makes a share; the seed is the opportunity that it begins at.
func newShare(times, of, seed uint64) *share {
	s := &share{times: times, of: of}
	s.count.Store(seed % of)
	return s
}

// strikes takes one opportunity.
func (s *share) strikes() bool { return s != nil && s.count.Add(1)*s.times%s.of < s.times }
