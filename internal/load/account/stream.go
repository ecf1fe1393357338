package account

// phase is how far a stream has come.
type phase uint8

const (
	phaseFree    phase = iota // the entry is unused
	phaseWaiting              // for a connection, or for room on one
	phaseSent                 // the request was sent
	phaseLive                 // the start event came
	phaseEnding               // the end event came
	phaseOver                 // the response is over; the kill may still be under way
)

// killState is how far the killing of a stream's process has come.
type killState uint8

const (
	killNone    killState = iota
	killQueued            // to be sent
	killSent              // under way
	killDone              // answered with success
	killGone              // answered with not_found: the process had ended by itself
	killSkipped           // the process had ended before the kill was sent
	killFailed            // not answered, or with another error
)

// flags are facts about a stream.
type flags uint32

const (
	flagOpened    flags = 1 << iota // Sink.Opening was called
	flagHeard                       // bytes came on its connection
	flagEOS                         // the end of stream came
	flagHeaded                      // the response head came
	flagExtra                       // an extra exists
	flagBad                         // an RPC error: the body is its text
	flagCall                        // a unary call; its extra has the call
	flagLost                        // the framing of envelopes is lost
	flagEnded                       // the last envelope came
	flagKillSent                    // Sink.Killing was called
	flagCareful                     // the output is compared by its extra
	flagCoalesced                   // the present read held more than one of its events
	flagUncertain                   // the gateway may have started a process without our knowing
	flagHungUp                      // the driver hung up, because the stream's part asks for it
)

// Stream is one call of Start: everything that is kept of it while it runs as it should.
// Times are in ns since the begin of the run. Rare facts are in an extra. Entries hold no
// pointers, so that the garbage collector does not scan them.
type Stream struct {
	// Number is the number of the stream; that of a unary call is negative.
	Number int64
	// Conn, ID and Unacked belong to the driver: the connection of the request, or None,
	// and on HTTP/2 the stream id and the DATA that was not acknowledged.
	Conn    int32
	ID      uint32
	Unacked int32

	cut      int32 // the buffer of an envelope or line that a read has cut, or None
	intended int64
	sent     int64
	since    int64  // when the phase began, or the last event came
	last     int64  // the last output event, 0 before it
	killedAt int64  // when the kill was sent
	doneAt   int64  // when the kill was answered
	next     uint64 // the number on the present line
	lines    uint32 // complete lines
	pid      uint32
	code     int32
	read     uint32 // the last read with an output event
	flags    flags
	class    uint16
	head     [5]byte // of the present envelope
	have     uint8   // bytes of it
	at       uint8   // bytes of the present line
	ends     uint8
	parts    uint8 // the stream itself, its kill, its input
	phase    phase
	kill     killState
}

func (s *Stream) has(f flags) bool { return s.flags&f != 0 }
func (s *Stream) set(f flags)      { s.flags |= f }
func (s *Stream) clear(f flags)    { s.flags &^= f }

// Class is the index of the stream's class in Plan.Mix.
func (s *Stream) Class() int { return int(s.class) }

// IsCall reports whether the entry is a unary call, and no stream.
func (s *Stream) IsCall() bool { return s.has(flagCall) }

// Headed reports whether the response head came.
func (s *Stream) Headed() bool { return s.has(flagHeaded) }

// Heard notes that bytes came on the stream's connection.
func (s *Stream) Heard() { s.set(flagHeard) }
