package zoo

import "sync/atomic"

// share is the rate of a rare fault: times strikes in every "of" opportunities,
// spread evenly. A nil share never strikes.
type share struct {
	times, of uint64
	count     atomic.Uint64
}

// newShare creates a share that begins at opportunity seed.
func newShare(times, of, seed uint64) *share {
	s := &share{times: times, of: of}
	s.count.Store(seed % of)
	return s
}

// strikes counts one opportunity and reports whether the fault strikes.
func (s *share) strikes() bool { return s != nil && s.count.Add(1)*s.times%s.of < s.times }
