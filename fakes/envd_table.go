package fakes

import "math/rand/v2"

// processPolicy is how the process table and the service behave. The zero value
// is the reference.
type processPolicy struct {
	// tagLookupStops ends the search for a tag at the first process with
	// another one.
	tagLookupStops bool
	// liveUntilDrained keeps a process that has exited among the live ones while
	// somebody holds its output.
	liveUntilDrained bool
	// sizesWrap takes the low 16 bits of a terminal's width and height.
	sizesWrap bool
}

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
