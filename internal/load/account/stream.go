package account

// phase is the progress of a stream.
type phase uint8

const (
	phaseFree    phase = iota // the entry is unused
	phaseWaiting              // the stream waits for a connection, or for room on one
	phaseSent                 // the request was sent
	phaseLive                 // the start event came
	phaseEnding               // the end event came
	phaseOver                 // the response is over; the kill may still be under way
)

// killState is the progress of the kill of a stream's process.
type killState uint8

const (
	killNone    killState = iota
	killQueued            // to be sent
	killSent              // in flight
	killDone              // answered with success
	killGone              // answered with not_found: the process ended by itself
	killSkipped           // not sent: the process ended before
	killFailed            // not answered, or answered with another error
)

// flags are facts about a stream.
type flags uint32

const (
	flagOpened    flags = 1 << iota // Sink.Opening was called
	flagHeard                       // bytes arrived on its connection
	flagEOS                         // the end of stream came; of a WebSocket the Close frame
	flagHeaded                      // the response head came
	flagExtra                       // an extra exists
	flagBad                         // an RPC error: the body is its text
	flagCall                        // a unary call; its extra has the call
	flagLost                        // the framing of envelopes is lost
	flagEnded                       // the last envelope came
	flagKillSent                    // Sink.Killing was called
	flagCareful                     // its extra checks the output
	flagCoalesced                   // the present read has more than one of its events
	flagUncertain                   // the gateway may have started a process without our knowing
	flagHungUp                      // the driver hung up, as the plan asks
	flagStrict                      // its extra decodes the frames of a WebSocket
	flagStarted                     // the start event came
)

// Stream is the state of one call of Start. Times are in ns since the beginning of the run.
// Rare facts are in an extra. Entries have no pointers, so that the garbage collector does
// not scan them.
type Stream struct {
	// Number is the number of the stream; that of a unary call is negative.
	Number int64
	// Conn, ID and Unacked belong to the driver: the connection of the request, or None,
	// and on HTTP/2 the stream id and the number of unacknowledged bytes of DATA.
	Conn    int32
	ID      uint32
	Unacked int32

	cut      int32 // the buffer of an incomplete envelope or line, or None
	intended int64
	sent     int64
	since    int64  // when the phase began, or the last event came
	last     int64  // when the last output event came; 0 is never
	killedAt int64  // when the kill was sent
	doneAt   int64  // when the kill was answered
	next     uint64 // the number on the present line
	lines    uint32 // complete lines
	pid      uint32
	code     int32
	read     uint32 // the last read with an output event
	flags    flags
	request  int32 // its index in Run.Requests
	class    uint16
	head     [5]byte // the header of the present envelope
	have     uint8   // bytes of head that came
	at       uint8   // bytes of the present line that came
	ends     uint8
	parts    uint8 // of the stream itself, its kill, its input: how many are not over
	phase    phase
	kill     killState
	fails    uint8 // how many streams before it, in a row at its place, failed before their start event
}

func (s *Stream) has(f flags) bool { return s.flags&f != 0 }
func (s *Stream) set(f flags)      { s.flags |= f }
func (s *Stream) clear(f flags)    { s.flags &^= f }

// Class returns the index of the stream's class in Plan.Classes.
func (s *Stream) Class() int { return int(s.class) }

// Request returns the index of the stream's request in [Run.Requests].
func (s *Stream) Request() int { return int(s.request) }

// IsCall reports whether the entry is a unary call.
func (s *Stream) IsCall() bool { return s.has(flagCall) }

// Headed reports whether the response head came.
func (s *Stream) Headed() bool { return s.has(flagHeaded) }

// Heard notes that bytes arrived on the stream's connection.
func (s *Stream) Heard() { s.set(flagHeard) }
