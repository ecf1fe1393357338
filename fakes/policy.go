package fakes

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
	// neverResizes takes a new size of a terminal and forgets it.
	neverResizes bool
	// pipesForTerminals runs a process that is to have a terminal on pipes, and
	// says of its output that it came from one.
	pipesForTerminals bool
}
