//go:build linux && (amd64 || arm64)

package fast

// phase is how far a stream has come.
type phase uint8

const (
	phaseFree    phase = iota // the entry is in nobody's use
	phaseWaiting              // for a connection, or for room on one
	phaseSent                 // the request is on its way
	phaseLive                 // the start event came
	phaseEnding               // the end event came
	phaseOver                 // the answer is over; its kill may still be under way
)

// killState is how far the killing of a stream's process has come.
type killState uint8

const (
	killNone    killState = iota
	killQueued            // will be sent
	killSent              // is under way
	killDone              // was answered with success
	killGone              // was answered with not_found: it had ended by itself
	killSkipped           // had ended before the kill was sent
	killFailed            // no, or another answer
)

// flags are what is known of a stream.
type flags uint32

const (
	flagOpened    flags = 1 << iota // Sink.Opening was called
	flagAlive                       // something came on its connection
	flagEOS                         // the end of stream came
	flagHeaded                      // the head came
	flagExtra                       // there is an extra
	flagBad                         // an RPC error: the body is its text
	flagCall                        // it is no stream but a unary call; its extra says whose
	flagLost                        // the framing of envelopes is lost
	flagEnded                       // the last envelope came
	flagKillSent                    // Sink.Killing was called
	flagCareful                     // the output is compared by its extra
	flagCoalesced                   // the present read held more than one of its events
	flagUncertain                   // a process may exist that nobody knows
	flagHungUp                      // the driver hung up, because the stream's part asks for it
	flagPart                        // a time of its part is waited for
)

// stream is one call of Start: all that is kept of it while it runs as it should.
// Times are in ns since the begin of the run. What seldom is goes to an extra.
type stream struct {
	number   int64
	intended int64
	sent     int64
	since    int64  // when the phase began, or the last event came
	last     int64  // the last output event, 0 before it
	killedAt int64  // when the kill was sent
	doneAt   int64  // when it was answered
	next     uint64 // the number on the present line
	lines    uint32 // complete lines
	pid      uint32
	code     int32
	cut      int32 // the buffer of an envelope or line that a read has cut, or none
	conn     int32 // of HTTP/1.1: its connection, or none
	mux      int32 // of HTTP/2: its connection, or none
	id       uint32
	unacked  int32  // DATA that was not acknowledged
	read     uint32 // the last read with an output event
	flags    flags
	class    uint16
	head     [5]byte // of the present envelope
	have     uint8   // bytes of it
	at       uint8   // bytes of the present line
	ends     uint8
	parts    uint8 // the stream itself, and its kill
	phase    phase
	kill     killState
}

func (s *stream) has(f flags) bool { return s.flags&f != 0 }
func (s *stream) set(f flags)      { s.flags |= f }
func (s *stream) clear(f flags)    { s.flags &^= f }
