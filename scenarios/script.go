package scenarios

import (
	"strconv"
	"strings"
	"time"

	"assay/internal/record/bundle"
)

// Scenario is one parsed script.
type Scenario struct {
	ID    string       `yaml:"id"`
	Title string       `yaml:"title"`
	Rules Many[string] `yaml:"rules"`
	Needs Many[string] `yaml:"needs"`
	// Axes lists the values to permute; the default of an absent axis is connect, json,
	// 1.1 or identity.
	Axes AxesSpec `yaml:"axes"`

	First       bool `yaml:"first"`       // shows whether a surface answers at all: it runs, and is confirmed, before others
	Exclusive   bool `yaml:"exclusive"`   // runs alone
	Destructive bool `yaml:"destructive"` // may kill the target: only with --destructive, last
	Slow        Span `yaml:"slow"`        // takes this long: only with --slow
	Deadline    Span `yaml:"deadline"`    // for one iteration, from the last progress of an exchange; default 10s

	Repeat Repeat           `yaml:"repeat"`
	Sweep  map[string]Range `yaml:"sweep"`

	// Steps are the actions of one iteration. The shorthand `send` is parsed to a single step.
	Steps []Step `yaml:"steps"`
	// Expect are the clauses. A plain mapping is parsed to one clause without Rule.
	Expect Many[Clause] `yaml:"expect"`

	// Area is the folder of the script; File, Text and Digest (SHA-256, hex) are its source.
	Area   string `yaml:"-"`
	File   string `yaml:"-"`
	Text   []byte `yaml:"-"`
	Digest string `yaml:"-"`
	// GeneratedEach is how many bytes the byte strings of one iteration take at most.
	GeneratedEach int64 `yaml:"-"`
}

// Generated returns how many bytes the byte strings of all iterations take at most at one time.
func (s *Scenario) Generated() int64 { return times(s.GeneratedEach, int64(max(1, s.Repeat.Parallel))) }

// AxesSpec lists the values of each axis on which the scenario runs.
type AxesSpec struct {
	Protocol    Many[string] `yaml:"protocol"`
	Codec       Many[string] `yaml:"codec"`
	HTTP        Many[string] `yaml:"http"`
	Compression Many[string] `yaml:"compression"`
}

// Repeat runs the steps several times.
type Repeat struct {
	Times    int  `yaml:"times"`    // default 1; for a race, the minimum
	Parallel int  `yaml:"parallel"` // default 1
	Budget   Span `yaml:"budget"`   // a race repeats until each order has its minimum, this time is over, or more would prove nothing; default 15s
}

// Span is a time in the units of scripts: fixed ("500ms"), in the target's measured
// round trips ("2rtt") or spawn latencies ("1.5spawn"), or a sum of them ("500ms+4rtt").
type Span struct {
	Fixed time.Duration
	RTT   float64
	Spawn float64
}

// IsZero reports whether s is not set.
func (s Span) IsZero() bool { return s == Span{} }

// Resolve returns the length of s on a target with the calibration. It does not apply the
// time scale; see Deadline.
func (s Span) Resolve(c bundle.Calibration) time.Duration {
	return s.Fixed + time.Duration(s.RTT*float64(c.RTT)) + time.Duration(s.Spawn*float64(c.Spawn))
}

// commandSlack is the factor of the time that the shortest command takes beyond its spawn,
// which is added to every upper bound: a login shell may take seconds before it runs a command.
const commandSlack = 4

// maxDeadline is the longest Deadline: more than a year, and so little that the engine can multiply it.
const maxDeadline = 10_000 * time.Hour

// Deadline returns s as an upper bound: Resolve plus the time of the target's shell, times
// the time scale, but at most 10,000 hours. The deadline of the zero span is zero.
func (s Span) Deadline(c bundle.Calibration) time.Duration {
	if s.IsZero() {
		return 0
	}
	scale := c.TimeScale
	if scale <= 0 {
		scale = 1
	}
	slack := commandSlack * time.Duration(max(0, c.End-c.Spawn))
	scaled := float64(s.Resolve(c)+slack) * scale
	return time.Duration(max(-float64(maxDeadline), min(scaled, float64(maxDeadline))))
}

// Range is a sweep: "-2rtt..+2rtt".
type Range struct{ From, To Span }

// Bytes is a byte string in one of the forms of a script; a scalar is Text.
type Bytes struct {
	Text   *string `yaml:"text"`
	Hex    *string `yaml:"hex"`
	JSON   any     `yaml:"json"` // compact JSON of the value
	Seq    *Seq    `yaml:"seq"`  // numbers, one per line
	Repeat *Copies `yaml:"repeat"`
	Gen    *Gen    `yaml:"gen"` // pseudo-random bytes from a seed
}

// Seq is the output of seq FROM TO.
type Seq struct {
	From int `yaml:"from"`
	To   int `yaml:"to"`
}

// Copies is a repeated text.
type Copies struct {
	Text  string `yaml:"text"`
	Times int    `yaml:"times"`
}

// Gen is Bytes pseudo-random bytes from the seed (PCG of math/rand/v2); with Lines,
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

// Send makes one request of any form and, unless Wait says otherwise, waits for the end of
// its response. Strings in Path, Headers and JSON values may contain ${p.pid}
// (of a process started as p), ${p.tag}, ${run}, ${iteration}, ${dir}, ${name}, and values of an
// earlier response: ${x.json.FIELD} (dotted, numbers for list items; of a stream its first
// message) and ${x.header.NAME}.
//
// ${dir} is an absolute path that no other iteration has, and ${name} its last element. Nothing
// exists there before the iteration; what is there afterwards, or at ${name} below the home
// directory, is removed.
type Send struct {
	As string `yaml:"as"` // default "send"
	// In names the exchange with the control plane whose sandbox gets the request, instead of the target.
	In string `yaml:"in"`
	// RPC is "process.Process/Start"; the method, path, content type and shape follow from it.
	RPC string `yaml:"rpc"`
	// Shape is unary or stream, for a procedure that Assay does not know. The shapes of
	// the process, filesystem and probe services are known.
	Shape string `yaml:"shape"`
	// Surface, Method, Path and Query are for requests without an RPC: surface commands, metrics, health,
	// files, execute, control, or none.
	Surface string `yaml:"surface"`
	Method  string `yaml:"method"`
	Path    string `yaml:"path"`
	Query   *Query `yaml:"query"`
	// Sign signs the query, for the files surface.
	Sign *Sign `yaml:"sign"`
	// Headers are added to, or replace, the default ones; null removes one.
	Headers map[string]*string `yaml:"headers"`

	// At most one of Message, JSON, Body and Multipart.
	// Message is a request message, written as JSON, sent in the codec of the axis, enveloped if
	// the RPC streams. A process that it starts has the run id in its environment.
	Message any           `yaml:"message"`
	JSON    any           `yaml:"json"` // a plain JSON body
	Body    Many[Segment] `yaml:"body"` // exactly these bytes
	// Multipart is a multipart/form-data body.
	Multipart *Multipart `yaml:"multipart"`

	Split *Split `yaml:"split"`
	// Framing is length (default), chunked, or none (no length is declared).
	Framing string `yaml:"framing"`
	// ContentLength overrides the declared length.
	ContentLength *int64 `yaml:"content-length"`
	// On names an open connection, or an earlier exchange whose connection is used, instead of a new one.
	On string `yaml:"on"`
	// Finish half-closes (half), closes (fin) or resets (rst) after the request; by default the connection stays open.
	Finish string `yaml:"finish"`
	// Wait is end (default), head, start or none.
	Wait string `yaml:"wait"`
	// Within is the longest time without progress; default the iteration's deadline.
	Within Span `yaml:"within"`
	// Poll repeats the request until the response is what the clauses expect, for at most that long. It is then
	// made once more, and only this exchange is recorded and judged: what has come must stay.
	Poll Span `yaml:"poll"`
	// Protocol is connect, grpc or grpc-web instead of the axis's.
	Protocol string `yaml:"protocol"`
	// Timeout is the exact value of the protocol's timeout header: Connect-Timeout-Ms or Grpc-Timeout.
	Timeout *string `yaml:"timeout"`
}

// Segment is a piece of a body or of a raw write.
type Segment struct {
	Bytes    `yaml:",inline"`
	Envelope *Envelope `yaml:"envelope"`
	Chunk    *Chunk    `yaml:"chunk"` // one HTTP/1.1 chunk around the segments
	Frame    *Frame    `yaml:"frame"` // one HTTP/2 frame (in a write)
	WS       *WSFrame  `yaml:"ws"`    // one WebSocket frame (in a write)
	Gzip     *Packed   `yaml:"gzip"`
}

// WSFrame is one WebSocket frame by field. By default it is a valid frame of a client: final,
// masked, and with the shortest form of its length.
type WSFrame struct {
	Type string        `yaml:"type"` // text, binary, continuation, ping, pong, close, or a number (0x3)
	Of   Many[Segment] `yaml:"of"`   // the payload; of a close, the reason
	Code *int          `yaml:"code"` // of a close
	Fin  *bool         `yaml:"fin"`  // default true
	RSV  int           `yaml:"rsv"`  // the reserved bits: 4 is RSV1, 2 is RSV2, 1 is RSV3
	Mask *bool         `yaml:"mask"` // default true
	// Length is declared instead of the actual length. LengthBytes is 2 or 8 for an extended
	// length that is longer than necessary.
	Length      *uint64 `yaml:"length"`
	LengthBytes int     `yaml:"length-bytes"`
}

// Envelope is one Connect envelope, valid or not. It has at most one payload.
type Envelope struct {
	Flags   int    `yaml:"flags"`
	Length  *int64 `yaml:"length"`  // declared instead of the actual length
	Message any    `yaml:"message"` // in the codec of the axis
	JSON    any    `yaml:"json"`
	Text    string `yaml:"text"`
	Hex     string `yaml:"hex"`
	Gzip    bool   `yaml:"gzip"` // the payload is compressed; Flags sets the bit
}

// Chunk is one HTTP/1.1 chunk; Size overrides the declared size, Last makes it the last chunk (with its CRLF).
type Chunk struct {
	Of        Many[Segment] `yaml:"of"`
	Extension string        `yaml:"extension"`
	Size      *int64        `yaml:"size"`
	Last      bool          `yaml:"last"`
}

// Split divides the body of a send, or the bytes of a write, into separate writes.
type Split struct {
	EveryByte bool  `yaml:"every-byte"` // the scalar "every-byte" sets it
	At        []int `yaml:"at"`
	Pause     Span  `yaml:"pause"` // between the writes; default none. Each write is flushed
}

// Open opens a connection, in the HTTP version of the axis or in another. Over h2 it sends
// the preface and SETTINGS, and acknowledges those of the peer, unless Raw.
type Open struct {
	As   string `yaml:"as"`
	HTTP string `yaml:"http"` // 1.1, h2, or "" for the axis
	Raw  bool   `yaml:"raw"`  // h2: nothing is sent or acknowledged automatically
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
	Of       Many[Segment]     `yaml:"of"`        // the payload of DATA, PING, or of a frame of unknown type
	Length   *int64            `yaml:"length"`    // declared instead of the actual length
}

// Field is one header field.
type Field struct {
	Name  string `yaml:"name"`
	Value string `yaml:"value"`
}

// Write writes raw bytes on an open connection.
type Write struct {
	To    string        `yaml:"to"`
	Of    Many[Segment] `yaml:"of"`
	Split *Split        `yaml:"split"`
	// Shape says how further responses on the connection are decoded: stream, unary, ndjson or plain (default).
	Shape string `yaml:"shape"`
}

// Await waits until a condition holds for an exchange or a connection (On). Exactly one
// condition is set; the tag `awaits` marks the conditions.
type Await struct {
	On string `yaml:"on"`

	Event  string `yaml:"event" awaits:"content"`  // an event of that kind: start, data, end, keepalive
	Output string `yaml:"output" awaits:"content"` // the output so far contains this text (any stream)
	Status bool   `yaml:"status" awaits:"state"`   // the response head is complete
	Frames int    `yaml:"frames" awaits:"content"` // that many frames
	// Message waits for a matching message of any type.
	Message *BodyMatch `yaml:"message" awaits:"content"`

	Bytes   int64 `yaml:"bytes" awaits:"state"`   // that many bytes on the connection
	Done    bool  `yaml:"done" awaits:"state"`    // the exchange has returned
	Closed  bool  `yaml:"closed" awaits:"state"`  // the peer has closed the connection
	Silence Span  `yaml:"silence" awaits:"state"` // nothing arrived for that long
	// WS waits for a WebSocket frame: text, binary, ping, pong or close, of any payload or of that one.
	WS *WSMatch `yaml:"ws" awaits:"content"`
	H2 string   `yaml:"h2" awaits:"state"` // an HTTP/2 frame of that type arrived on the connection (RST_STREAM, GOAWAY, SETTINGS-ACK …)

	// Within is the longest time without progress (content of an exchange, bytes of a
	// connection); the whole wait takes at most six times as long. For a silence, it limits
	// the whole wait. Default the iteration's deadline.
	Within Span `yaml:"within"`
	// Idle is the longest time without progress in a wait for Done, if it is shorter than Within.
	Idle Span `yaml:"idle"`
	// Proves names the rule that fails if the condition is not met. Without it, the await is
	// a precondition: if it is not met, the expectations behind it are not judged.
	Proves string `yaml:"proves"`
	// Optional continues with the next step if the condition is not met.
	Optional bool `yaml:"optional"`
}

// Close ends a connection, or the connection of an exchange: fin, rst, half (FIN, reading continues), silent (no more reads
// and writes). cancel ends only an exchange: RST_STREAM(CANCEL) on HTTP/2, fin on HTTP/1.1.
type Close struct {
	On  string `yaml:"on"`
	How string `yaml:"how"`
}

// Start starts a process and waits for its start event (or its end), unless Wait says otherwise.
type Start struct {
	As string `yaml:"as"`
	In string `yaml:"in"` // as in Send
	// Via is process (default), commands (the NDJSON alias; only Sh and TimeoutMS), or stdio (a
	// WebSocket; no environment, directory, tag or timeout), which waits for the upgrade.
	Via string `yaml:"via"`
	// Sh is a command for the profile's shell. Cmd and Args run a program directly.
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
	// Query are further parameters of a start via stdio, or replace one of cmd; null removes it. Its
	// values, and those of Headers, may contain ${token}, the access token.
	Query map[string]*string `yaml:"query"`
	// Method and HTTP are those of the request line of a start via stdio; default GET and 1.1.
	Method string `yaml:"method"`
	HTTP   string `yaml:"http"`
	// On names an open connection, or an earlier exchange whose connection is used, instead of a new one.
	On     string `yaml:"on"`
	Wait   string `yaml:"wait"` // start (default; via stdio: the upgrade), end, none
	Within Span   `yaml:"within"`
	// Proves names the rule that fails if a process that later steps need does not start, or
	// ends before those steps. Without it, the start is a precondition, as for Await.
	Proves string `yaml:"proves"`
}

// Size is the size of a terminal in cells.
type Size struct {
	Cols uint32 `yaml:"cols"`
	Rows uint32 `yaml:"rows"`
}

// Connect attaches to a process and waits for the start event (or the end of the response), unless Wait says otherwise.
type Connect struct {
	Target `yaml:",inline"`
	Wait   string `yaml:"wait"` // start (default), end, none
}

// Target names a process: To names an earlier start, PID and Tag are sent as they are.
type Target struct {
	As  string  `yaml:"as"`
	To  string  `yaml:"to"`
	PID *int64  `yaml:"pid"`
	Tag *string `yaml:"tag"`
	In  string  `yaml:"in"` // as in Send
	// Via is process (default), commands, or stdio: a message on the WebSocket that To names,
	// which has no response.
	Via string `yaml:"via"`
}

// Signal sends a signal; via commands it is POST /commands/{pid}/kill.
type Signal struct {
	Target `yaml:",inline"`
	Name   string `yaml:"name"` // SIGKILL, SIGTERM, or any other name, sent as it is
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
	As   string `yaml:"as"` // default "list"
	In   string `yaml:"in"` // as in Send
	Via  string `yaml:"via"`
	Poll Span   `yaml:"poll"` // as in Send
}

// Read controls the reading of an exchange's connection: pause, resume or stop, or Rate bytes per second.
type Read struct {
	On   string `yaml:"on"`
	Mode string `yaml:"mode"`
	Rate int    `yaml:"rate"`
}

// Scrape reads the metrics between other steps.
type Scrape struct {
	As string `yaml:"as"`
}

// Race releases A and B from one barrier, B later than A by Offset (earlier if it is
// negative). At is "now" or an event of an exchange ("p.end", "p.data").
type Race struct {
	At     string `yaml:"at"`
	Offset string `yaml:"offset"` // "$d" or a span; default 0
	A      Step   `yaml:"a"`      // its exchange is named "a" unless it has an `as`
	B      Step   `yaml:"b"`
}

// CountsOnce reports whether a clause expects the counters to change by a number that does not grow with the number of
// iterations, as "+n" does. Such a script runs once, whatever --repeat says.
func (s *Scenario) CountsOnce() bool {
	for i := range s.Expect {
		for _, want := range s.Expect[i].Metrics {
			n, err := strconv.Atoi(want)
			if (err != nil || n != 0) && !strings.HasSuffix(want, "n") {
				return true
			}
		}
	}
	return false
}
