package fakes

import "math/rand/v2"

// shuffled lists processes in no order.
func shuffled(next processTable) processTable { return unordered{next} }

type unordered struct{ processTable }

func (u unordered) list() []*process {
	all := u.processTable.list()
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// termChunk is what the daemon reads at a time, and lossyTerms after how many
// SIGTERMs it loses that.
const (
	termChunk  = 32 << 10
	lossyTerms = 5
)

// loseAfterTerm does not wait for the output of what was terminated, and stops
// reading at the exit of some.
func loseAfterTerm(s *seams, seed uint64) {
	s.processes.termChunk = termChunk
	lossy := newShare(1, lossyTerms, seed)
	s.table = around(s.table, func(next processTable) processTable { return hasty{next, lossy} })
}

// hasty does not wait for the output of what was terminated.
type hasty struct {
	processTable
	lossy *share
}

func (h hasty) terminate(s selector) error {
	p, err := h.find(s)
	if err != nil {
		return err
	}
	if h.lossy.strikes() {
		p.reader.begin() // before the signal, for its trap may write at once
	}
	if err := h.processTable.terminate(s); err != nil {
		return err
	}
	p.abandonOutput()
	return nil
}
