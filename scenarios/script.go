package scenarios

import (
	"time"

	"assay/internal/bundle"
)

// Scenario is one parsed script.
type Scenario struct {
	ID    string   `yaml:"id"`
	Title string   `yaml:"title"`
	Rules []string `yaml:"rules"`
	Needs []string `yaml:"needs"`
	// Axes lists the values to permute; an axis that is absent has its default
	// (connect, json, 1.1, identity).
	Axes AxesSpec `yaml:"axes"`

	Exclusive   bool `yaml:"exclusive"`   // runs alone
	Destructive bool `yaml:"destructive"` // may kill the target: only with --destructive, last
	Slow        Span `yaml:"slow"`        // waits this long: only with --slow
	Deadline    Span `yaml:"deadline"`    // for one iteration, from the last progress of an exchange; default 10s

	Repeat Repeat           `yaml:"repeat"`
	Sweep  map[string]Range `yaml:"sweep"`

	// Steps are the actions of one iteration. The shorthand `send` is parsed to a single step.
	Steps []Step `yaml:"steps"`
	// Expect are the clauses. A plain mapping is parsed to one clause without Rule.
	Expect []Clause `yaml:"expect"`

	// Area is the folder the script came from; File, Text and Digest (SHA-256, hex) are its source.
	Area   string `yaml:"-"`
	File   string `yaml:"-"`
	Text   []byte `yaml:"-"`
	Digest string `yaml:"-"`
}

// AxesSpec lists the values of each axis that the scenario is run on.
type AxesSpec struct {
	Protocol    []string `yaml:"protocol"`
	Codec       []string `yaml:"codec"`
	HTTP        []string `yaml:"http"`
	Compression []string `yaml:"compression"`
}

// Repeat runs the steps several times.
type Repeat struct {
	Times    int  `yaml:"times"`    // default 1; for a race the least
	Parallel int  `yaml:"parallel"` // default 1
	Budget   Span `yaml:"budget"`   // a race goes on until each order has its minimum or this is spent; default 15s
}

// Span is a time in the units of scripts: fixed ("500ms"), of the target's
// measured round trip ("2rtt") or spawn latency ("1.5spawn"), or a sum of them
// ("500ms+4rtt").
type Span struct {
	Fixed time.Duration
	RTT   float64
	Spawn float64
}

// IsZero reports whether s is not set.
func (s Span) IsZero() bool { return s == Span{} }

// Resolve is s on a target of that calibration. Fixed parts of a deadline are
// stretched by the time scale; see Deadline.
func (s Span) Resolve(c bundle.Calibration) time.Duration {
	return s.Fixed + time.Duration(s.RTT*float64(c.RTT)) + time.Duration(s.Spawn*float64(c.Spawn))
}

// commandSlack is how many times the length of the shortest command, beyond its spawn, is
// added to every upper bound: a login shell may take seconds before it runs anything.
const commandSlack = 4

// Deadline is s as an upper bound: Resolve, and what the target's shell takes, times the
// time scale. The zero span stays zero.
func (s Span) Deadline(c bundle.Calibration) time.Duration {
	if s.IsZero() {
		return 0
	}
	scale := c.TimeScale
	if scale <= 0 {
		scale = 1
	}
	slack := commandSlack * time.Duration(max(0, c.End-c.Spawn))
	return time.Duration(float64(s.Resolve(c)+slack) * scale)
}

// Range is a sweep: "-2rtt..+2rtt".
type Range struct{ From, To Span }

// Bytes is a byte string in one of the forms of a script; a plain scalar is Text.
type Bytes struct {
	Text   *string `yaml:"text"`
	Hex    *string `yaml:"hex"`
	JSON   any     `yaml:"json"` // compact JSON of the value
	Seq    *Seq    `yaml:"seq"`  // numbers, one per line
	Repeat *Copies `yaml:"repeat"`
	Gen    *Gen    `yaml:"gen"` // pseudo-random bytes of a seed
}

// Seq is the output of seq FROM TO.
type Seq struct {
	From int `yaml:"from"`
	To   int `yaml:"to"`
}

// Copies is a text, several times.
type Copies struct {
	Text  string `yaml:"text"`
	Times int    `yaml:"times"`
}

// Gen is Bytes pseudo-random bytes of the seed (PCG of math/rand/v2); with Lines,
// lower-case letters with a newline after every 63.
type Gen struct {
	Seed  uint64 `yaml:"seed"`
	Bytes int    `yaml:"bytes"`
	Lines bool   `yaml:"lines"`
}

// Step is one action: exactly one field is set. At is its place ("steps[1].race.a").
type Step struct {
	Send       *Send    `yaml:"send"`
	Open       *Open    `yaml:"open"`
	Write      *Write   `yaml:"write"`
	Await      *Await   `yaml:"await"`
	Close      *Close   `yaml:"close"`
	Start      *Start   `yaml:"start"`
	Connect    *Connect `yaml:"connect"`
	Signal     *Signal  `yaml:"signal"`
	Input      *Input   `yaml:"input"`
	CloseStdin *Target  `yaml:"close-stdin"`
	Update     *Update  `yaml:"update"`
	List       *List    `yaml:"list"`
	Read       *Read    `yaml:"read"`
	Scrape     *Scrape  `yaml:"scrape"`
	Pause      *Span    `yaml:"pause"`
	Parallel   []Step   `yaml:"parallel"`
	Race       *Race    `yaml:"race"`

	At   string `yaml:"-"`
	Line int    `yaml:"-"`
}

// Send makes one request of any form and, unless Wait says otherwise, waits for
// its whole answer. Strings in Path, Headers and JSON values may hold ${p.pid}
// (of a process that was started as p), ${p.tag}, ${run} and ${iteration}.
type Send struct {
	As string `yaml:"as"` // default "send"
	// RPC is "process.Process/Start"; the method, path, content type and shape follow from it.
	RPC string `yaml:"rpc"`
	// Shape is unary or stream. It says how a procedure that Assay does not know is called; those of
	// the process, filesystem and probe services have theirs.
	Shape string `yaml:"shape"`
	// Surface, Method and Path are for what is not an RPC: surface commands, metrics, health, or none.
	Surface string `yaml:"surface"`
	Method  string `yaml:"method"`
	Path    string `yaml:"path"`
	// Headers are added to, or replace, the default ones; null removes one.
	Headers map[string]*string `yaml:"headers"`

	// At most one of Message, JSON and Body.
	// Message is a request message, written as JSON, sent in the codec of the axis, enveloped where
	// the RPC streams. A process that it starts has the run's mark in its environment.
	Message any       `yaml:"message"`
	JSON    any       `yaml:"json"` // a plain JSON body
	Body    []Segment `yaml:"body"` // exactly these bytes

	Split *Split `yaml:"split"`
	// Framing is length (default), chunked, or none (no length is declared).
	Framing string `yaml:"framing"`
	// ContentLength overrides the declared length.
	ContentLength *int64 `yaml:"content-length"`
	// On sends on a connection opened before, or on that of an earlier exchange, instead of a new one.
	On string `yaml:"on"`
	// Finish half-closes (half), closes (fin) or resets (rst) after the request; default: left open.
	Finish string `yaml:"finish"`
	// Wait is end (default), head, start or none.
	Wait string `yaml:"wait"`
	// Within is how long the wait may last without progress; default the iteration's deadline.
	Within Span `yaml:"within"`
	// Protocol is connect, grpc or grpc-web instead of the axis's.
	Protocol string `yaml:"protocol"`
	// Timeout is the value of the protocol's timeout header, as it is sent: Connect-Timeout-Ms or Grpc-Timeout.
	Timeout *string `yaml:"timeout"`
}

// Segment is a piece of a body or of a raw write.
type Segment struct {
	Bytes    `yaml:",inline"`
	Envelope *Envelope `yaml:"envelope"`
	Chunk    *Chunk    `yaml:"chunk"` // one HTTP/1.1 chunk around the segments
	Frame    *Frame    `yaml:"frame"` // one HTTP/2 frame (in a write)
}

// Envelope is one Connect envelope, right or wrong. At most one payload.
type Envelope struct {
	Flags   int    `yaml:"flags"`
	Length  *int64 `yaml:"length"`  // declared instead of the true one
	Message any    `yaml:"message"` // in the codec of the axis
	JSON    any    `yaml:"json"`
	Text    string `yaml:"text"`
	Hex     string `yaml:"hex"`
	Gzip    bool   `yaml:"gzip"` // the payload is compressed (the flag is Flags' business)
}

// Chunk is one HTTP/1.1 chunk; Size overrides the declared size, Last makes it the last (with its CRLF).
type Chunk struct {
	Of        []Segment `yaml:"of"`
	Extension string    `yaml:"extension"`
	Size      *int64    `yaml:"size"`
	Last      bool      `yaml:"last"`
}

// Split cuts what is sent (the body of a send, the bytes of a write) into separate writes.
type Split struct {
	EveryByte bool  `yaml:"every-byte"` // the scalar "every-byte" sets it
	At        []int `yaml:"at"`
	Pause     Span  `yaml:"pause"` // between the writes; default none, with a flush for each
}

// Open opens a connection: by the HTTP version of the axis, or by the one named.
// With h2 the preface and our SETTINGS are sent and the peer's acknowledged unless Raw.
type Open struct {
	As   string `yaml:"as"`
	HTTP string `yaml:"http"` // 1.1, h2, or "" for the axis
	Raw  bool   `yaml:"raw"`  // h2: nothing is sent or acknowledged by itself
}

// Frame is one HTTP/2 frame by field.
type Frame struct {
	Type   string `yaml:"type"` // HEADERS, DATA, SETTINGS, WINDOW_UPDATE, RST_STREAM, GOAWAY, PING, PRIORITY, CONTINUATION, preface, or a number
	Flags  int    `yaml:"flags"`
	Stream uint32 `yaml:"stream"`
	// Fields are the header fields of HEADERS, in order, pseudo fields first.
	Fields []Field `yaml:"fields"`
	// Settings by number or name (MAX_CONCURRENT_STREAMS).
	Settings map[string]uint32 `yaml:"settings"`
	Code     uint32            `yaml:"code"`      // RST_STREAM, GOAWAY
	Last     uint32            `yaml:"last"`      // GOAWAY
	Add      uint32            `yaml:"increment"` // WINDOW_UPDATE
	Of       []Segment         `yaml:"of"`        // the payload of DATA, PING, or of a frame of unknown type
	Length   *int64            `yaml:"length"`    // declared instead of the true one
}

// Field is one header field.
type Field struct {
	Name  string `yaml:"name"`
	Value string `yaml:"value"`
}

// Write writes raw bytes on an open connection.
type Write struct {
	To    string    `yaml:"to"`
	Of    []Segment `yaml:"of"`
	Split *Split    `yaml:"split"`
	// Shape says how an answer on the connection is decoded from here on: stream, unary, ndjson or plain (default).
	Shape string `yaml:"shape"`
}

// Await waits until something was seen on an exchange or a connection (On). Exactly one
// condition is set; the tag `awaits` marks the conditions.
type Await struct {
	On string `yaml:"on"`

	Event  string `yaml:"event" awaits:"content"`  // an event of that kind: start, data, end, keepalive
	Output string `yaml:"output" awaits:"content"` // this text stands in what came so far (any stream)
	Status bool   `yaml:"status" awaits:"state"`   // the response head is complete
	Frames int    `yaml:"frames" awaits:"content"` // that many frames
	// Message waits for a message that fits, whatever its type.
	Message *BodyMatch `yaml:"message" awaits:"content"`

	Bytes   int64  `yaml:"bytes" awaits:"state"`   // that many bytes on the connection
	Done    bool   `yaml:"done" awaits:"state"`    // the exchange has returned
	Closed  bool   `yaml:"closed" awaits:"state"`  // the peer has closed the connection
	Silence Span   `yaml:"silence" awaits:"state"` // nothing came for that long
	H2      string `yaml:"h2" awaits:"state"`      // an HTTP/2 frame of that type came on the connection (RST_STREAM, GOAWAY, SETTINGS-ACK …)

	// Within is how long may pass without progress of what is waited for (content of an
	// exchange, bytes of a connection), six times over at most; for a silence it is the time for the
	// whole. Default the iteration's deadline.
	Within Span `yaml:"within"`
	// Idle takes the place of Within for what stands still in a wait for Done, where that is less.
	Idle Span `yaml:"idle"`
	// Proves names the rule that is broken when the wait is in vain. Without it the wait is a
	// precondition: what stands behind it is then not judged, and nobody is blamed.
	Proves string `yaml:"proves"`
	// Optional goes on with the steps when the wait is in vain.
	Optional bool `yaml:"optional"`
}

// Close ends a connection, or that of an exchange: fin, rst, half (FIN, reading goes on), silent (neither reads nor writes any more);
// cancel ends an exchange only: RST_STREAM(CANCEL) on HTTP/2, fin on HTTP/1.1.
type Close struct {
	On  string `yaml:"on"`
	How string `yaml:"how"`
}

// Start starts a process, and waits for its start event (or for its end) unless Wait says otherwise.
type Start struct {
	As  string `yaml:"as"`
	Via string `yaml:"via"` // process (default) or commands (the NDJSON alias; only Sh and TimeoutMS)
	// Sh is run by the profile's shell; or Cmd with Args.
	Sh        string             `yaml:"sh"`
	Cmd       string             `yaml:"cmd"`
	Args      []string           `yaml:"args"`
	Envs      map[string]string  `yaml:"envs"`
	Cwd       *string            `yaml:"cwd"`
	Stdin     *bool              `yaml:"stdin"`
	Tag       *string            `yaml:"tag"`
	PTY       *Size              `yaml:"pty"`
	TimeoutMS *int64             `yaml:"timeout-ms"` // Connect-Timeout-Ms, or timeout_ms
	Headers   map[string]*string `yaml:"headers"`
	// On starts it on a connection opened before, or on that of an earlier exchange, instead of a new one.
	On     string `yaml:"on"`
	Wait   string `yaml:"wait"` // start (default), end, none
	Within Span   `yaml:"within"`
	// Proves names the rule that is broken when a process that later steps need does not
	// start, or has ended before they come. Without it that is a precondition, as for Await.
	Proves string `yaml:"proves"`
}

// Size is a window in cells.
type Size struct {
	Cols uint32 `yaml:"cols"`
	Rows uint32 `yaml:"rows"`
}

// Connect attaches to a process; it waits for the start event (or the end of the answer).
type Connect struct {
	As     string `yaml:"as"`
	Target `yaml:",inline"`
	Wait   string `yaml:"wait"` // start (default), end, none
}

// Target names a process: one started before (To), or a selector as it is sent.
type Target struct {
	As  string  `yaml:"as"`
	To  string  `yaml:"to"`
	PID *int64  `yaml:"pid"`
	Tag *string `yaml:"tag"`
	Via string  `yaml:"via"` // process (default) or commands
}

// Signal sends a signal; via commands it is POST /commands/{pid}/kill.
type Signal struct {
	Target `yaml:",inline"`
	Name   string `yaml:"name"` // SIGKILL, SIGTERM, or any other name as it is sent
}

// Input sends bytes to stdin, or to the PTY.
type Input struct {
	Target `yaml:",inline"`
	Data   Bytes `yaml:"data"`
	PTY    bool  `yaml:"pty"`
}

// Update resizes a PTY.
type Update struct {
	Target `yaml:",inline"`
	Size   `yaml:",inline"`
}

// List asks for the live processes.
type List struct {
	As  string `yaml:"as"` // default "list"
	Via string `yaml:"via"`
}

// Read steers the reading of an exchange's connection: pause, resume or stop, or Rate bytes a second.
type Read struct {
	On   string `yaml:"on"`
	Mode string `yaml:"mode"`
	Rate int    `yaml:"rate"`
}

// Scrape reads the metrics in between.
type Scrape struct {
	As string `yaml:"as"`
}

// Race releases A and B from one barrier, B later than A by Offset (negative:
// earlier). At is "now" or an event of an exchange ("p.end", "p.data").
type Race struct {
	At     string `yaml:"at"`
	Offset string `yaml:"offset"` // "$d" or a span; default 0
	A      Step   `yaml:"a"`      // its exchange is named "a" unless it has an `as`
	B      Step   `yaml:"b"`
}
