package fakes

import (
	"cmp"
	"slices"
)

// Fault is a gateway broken in one way.
type Fault struct {
	ID     string
	Title  string
	Breaks []string // ids of the rules that it breaks
	Source string   // the real bug
}

// faultDecorator is a fault and how it is put in; seed is the phase of a fault
// that strikes only sometimes.
type faultDecorator struct {
	Fault
	install func(s *seams, seed uint64)
}

// zooFaults are the faults by id.
func zooFaults() []faultDecorator {
	all := slices.Concat(startFaults(), requestFaults(), headFaults(), frameFaults(), eventFaults(), outputFaults(),
		readerFaults(), inputFaults(), exitFaults(), tableFaults(), deadlineFaults(), countFaults(), grpcFaults(), terminalFaults(), h2Faults())
	slices.SortFunc(all, func(a, b faultDecorator) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
