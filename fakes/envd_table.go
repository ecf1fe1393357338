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

// hastyTerm does not wait for the output of what was terminated.
func hastyTerm(next processTable) processTable { return hasty{next} }

type hasty struct{ processTable }

func (h hasty) terminate(s selector) error {
	p, err := h.find(s)
	if err == nil {
		err = h.processTable.terminate(s)
	}
	if err == nil {
		p.abandonOutput()
	}
	return err
}
