package scenarios

// Clause is a set of expectations that prove one rule.
type Clause struct {
	// Rule is the rule it proves; default the scenario's only rule.
	Rule string `yaml:"rule"`
	// Subjects are matchers by exchange name; every iteration must match. The
	// name "stream" stands for the exchange "send"; "each p" is the same as "p".
	Subjects map[string]*Match `yaml:"-"`
	// Orders are the interleavings of a race, tried in the order of their names' place in the script.
	Orders []Order `yaml:"-"`
	// Metrics are the expected differences of after and before: started, finished,
	// ok, error, killed, active; "+200", or "+n" for one per iteration, "+0".
	Metrics map[string]string `yaml:"metrics"`
	// Parity names exchanges whose outputs, exit and event kinds must agree.
	Parity []string `yaml:"parity"`
	// Sequence names instants that must come in this order: "p.invoked", "k.returned", "p.start", "p.end", "p.data", "p.end-stream".
	Sequence []string `yaml:"sequence"`

	Line int `yaml:"-"`
}

// Order is one interleaving of a race: its name, what it looks like, and how often it must be seen.
type Order struct {
	Name     string
	Subjects map[string]*Match
	Min      int
}

// Match is what an exchange must look like; every field that is set must hold.
// A scalar is a shorthand: "ok" for OK, else the name of an error code.
type Match struct {
	// OK: the answer is complete, has the success form of its shape, and carries no error.
	OK *bool `yaml:"ok"`
	// Outcome is the legal set of transport outcomes; default {complete} once any other field is set,
	// except where Error allows a cut.
	Outcome []string `yaml:"outcome"`
	Status  []int    `yaml:"status"` // legal set; a scalar is a set of one
	// Headers: a value to equal, "*" for present, null for absent.
	Headers map[string]*string `yaml:"headers"`
	Error   *ErrorMatch        `yaml:"error"`

	Start *bool     `yaml:"start"` // a start event came (first)
	End   *EndMatch `yaml:"end"`
	// Ends is once, at-most-once or never.
	Ends string `yaml:"ends"`
	// Events is a pattern over event kinds: "start (data|keepalive)* end". Keepalives are dropped first unless it names them.
	Events string `yaml:"events"`
	// Never lists what must not have come.
	Never []EventMatch `yaml:"never"`

	Stdout *OutputMatch `yaml:"stdout"`
	Stderr *OutputMatch `yaml:"stderr"`
	PTY    *OutputMatch `yaml:"pty"`
	Body   *BodyMatch   `yaml:"body"`

	// Lists: the processes (by script name) that a list answer must hold, and must not hold.
	Lists    []string `yaml:"lists"`
	NotLists []string `yaml:"not-lists"`

	// Compressed: at least one frame (or the unary body) was compressed, or none was.
	Compressed *bool `yaml:"compressed"`
	// Flushed: events came apart by at least this much between the first data and the end (they were not held back).
	Spread Span `yaml:"spread"`
	// Within bounds the time from the request to the return; NotBefore is its lower bound.
	Within    Span `yaml:"within"`
	NotBefore Span `yaml:"not-before"`
	// Gap bounds the time from the end-of-stream message to the end of the body.
	Gap Span `yaml:"gap"`
	// Conn is reusable (open, nothing left over) or closed-by-peer.
	Conn string `yaml:"conn"`

	// Any is a legal set of whole answers; the one that was seen is recorded by its name.
	Any []NamedMatch `yaml:"any"`
}

// NamedMatch is one legal answer of several.
type NamedMatch struct {
	Name  string `yaml:"name"`
	Match `yaml:",inline"`
}

// ErrorMatch is an RPC error. A scalar or a list is the legal set of codes.
type ErrorMatch struct {
	// Code is the legal set; "*" for any of the 16.
	Code    []string `yaml:"code"`
	Message string   `yaml:"message"` // a part that the message must hold
}

// EndMatch is an end event.
type EndMatch struct {
	Code   []int    `yaml:"code"`
	Exited *bool    `yaml:"exited"`
	Signal []string `yaml:"signal"` // legal set; implies a code that is not 0
	Error  *bool    `yaml:"error"`  // error text present or absent
	Status string   `yaml:"status"` // exactly
}

// EventMatch is an event, by its kind.
type EventMatch struct {
	Event string `yaml:"event"`
}

// OutputMatch is what a stream's concatenated bytes must be. A scalar is the exact text.
type OutputMatch struct {
	Bytes    `yaml:",inline"`
	PrefixOf *Bytes  `yaml:"prefix-of"`
	SuffixOf *Bytes  `yaml:"suffix-of"`
	Contains *string `yaml:"contains"`
	Digest   string  `yaml:"digest"` // sha256 in hex
	Length   *int64  `yaml:"length"`
	// Matches is a regular expression over the whole output.
	Matches string `yaml:"matches"`
}

// BodyMatch is a body that is not enveloped. A scalar is the exact text.
type BodyMatch struct {
	Text     *string `yaml:"text"`
	Contains *string `yaml:"contains"`
	Empty    *bool   `yaml:"empty"`
	// JSON must equal the body as a value; JSONHas must be contained in it (objects by their keys, arrays by an element).
	// Strings may hold ${p.pid}.
	JSON    any `yaml:"json"`
	JSONHas any `yaml:"json-has"`
}
