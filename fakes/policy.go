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
	// updatesAnything takes the size of a terminal for a process without one, and
	// does nothing.
	updatesAnything bool
	// stdinClosed takes a request that does not say whether there is to be stdin
	// for one without.
	stdinClosed bool
	// termChunk is the size of the last chunk that a process may lose after
	// SIGTERM; 0: nothing is lost.
	termChunk int
	// orphansWedge waits for the end of an output that somebody else holds at the
	// exit, and does not see it.
	orphansWedge bool
	// before is what runs before every command, and ends by becoming it.
	before []string
}
