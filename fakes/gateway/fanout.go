package gateway

import "iter"

// Reader describes one subscriber to a Fanout.
type Reader struct {
	// ID is unique among the readers of one process.
	ID uint64
	// Late reports that another reader joined before.
	Late bool
	// AfterEnd reports that the process had ended when the reader joined.
	AfterEnd bool
	// Backlog is the memory that waits for the reader: the bytes, and a little for each piece.
	Backlog int
}

// Fanout decides which chunks the readers of one process get, and when the process
// waits for them. Its calls are serialized.
type Fanout interface {
	// Join returns the chunks that a new reader gets before new output.
	Join(r Reader) []Chunk
	// Publish sees every chunk once, before the readers get it.
	Publish(c Chunk)
	// Copies returns how often a reader gets a chunk.
	Copies(r Reader, c Chunk) int
	// Leave reports whether the fan-out forgets a reader that has gone.
	Leave(r Reader) bool
	// Waits reports whether a writing process waits for its readers; there is at
	// least one. stalled means that no reader has taken anything for a while.
	Waits(readers iter.Seq[Reader], stalled bool) bool
	// Ends reports whether a reader learns that the process has ended.
	Ends(r Reader) bool
}

// HighWater is the backlog at which a reader counts as behind. A process waits
// while all of its readers are behind: it runs at the pace of the fastest, so a
// single slow reader gets every byte.
const HighWater = 1 << 20

// fair is the Fanout of the reference: each reader gets all new output once.
type fair struct{}

var _ Fanout = fair{}

func (fair) Join(Reader) []Chunk      { return nil }
func (fair) Publish(Chunk)            {}
func (fair) Copies(Reader, Chunk) int { return 1 }
func (fair) Leave(Reader) bool        { return true }
func (fair) Ends(Reader) bool         { return true }

func (fair) Waits(readers iter.Seq[Reader], stalled bool) bool {
	return !stalled && AllBehind(readers, HighWater)
}

// AllBehind reports whether the backlog of every reader has reached a mark.
func AllBehind(readers iter.Seq[Reader], mark int) bool {
	for r := range readers {
		if r.Backlog < mark {
			return false
		}
	}
	return true
}
