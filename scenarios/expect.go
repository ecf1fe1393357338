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
	// Says tells in words what a breach of the clause means; it stands before what was seen.
	Says string `yaml:"says"`

	Line int `yaml:"-"`
}

// Order is one interleaving of a race: its name, what it looks like, and how often it must be seen.
type Order struct {
	Name     string
	Subjects map[string]*Match
	Min      int
}

// Match describes an exchange; every field that is set must hold. A scalar is a
// shorthand: "ok" for OK, else the name of an error code. The tag `about` says on which part
// of the exchange a field depends, see About.
type Match struct {
	// OK: the answer is complete, has the success form of its shape, and carries no error.
	OK *bool `yaml:"ok" about:"end"`
	// Outcome is the legal set of transport outcomes; default {complete} when any other field is set,
	// except where Error allows a cut.
	Outcome []string `yaml:"outcome" about:"outcome"`
	Status  []int    `yaml:"status" about:"head"` // legal set; a scalar is a set of one
	// Headers: a value to equal, "*" for present, null for absent.
	Headers map[string]*string `yaml:"headers" about:"head"`
	Error   *ErrorMatch        `yaml:"error" about:"end"`
	// Trailers are HTTP trailers, like Headers.
	Trailers map[string]*string `yaml:"trailers" about:"end"`
	// GRPC is the status of a gRPC or gRPC-Web answer.
	GRPC *GRPCMatch `yaml:"grpc" about:"end"`
	// H2 lists HTTP/2 frames that must have come from the peer, H2Never frames that must
	// not: a type, with -ACK behind SETTINGS and PING, then words that stand in the frame's
	// content ("RST_STREAM CANCEL"). For an exchange, frames of its own stream and of stream 0 count;
	// for a connection, frames of all streams.
	H2      []string `yaml:"h2" about:"frames"`
	H2Never []string `yaml:"h2-never" about:"frames"`
	// Metadata is trailing metadata, wherever the protocol puts it: a text is one of the values,
	// "*" is any, a list is all of them in order, null is none.
	Metadata map[string]any `yaml:"metadata" about:"end"`
	// Messages are the messages of an answer, whatever their type; an end-of-stream or trailer
	// frame is none.
	Messages *MessagesMatch `yaml:"messages" about:"progress"`

	Start *bool     `yaml:"start" about:"progress"` // a start event came (first)
	End   *EndMatch `yaml:"end" about:"end"`
	// Ends is once, at-most-once or never.
	Ends string `yaml:"ends" about:"progress"`
	// Events is a pattern over event kinds: "start (data|keepalive)* end". Keepalives are ignored unless the pattern names them.
	Events string `yaml:"events" about:"end"`
	// Never lists events that must not have come.
	Never []EventMatch `yaml:"never" about:"progress"`

	Stdout *OutputMatch `yaml:"stdout" about:"progress"`
	Stderr *OutputMatch `yaml:"stderr" about:"progress"`
	PTY    *OutputMatch `yaml:"pty" about:"progress"`
	Body   *BodyMatch   `yaml:"body" about:"end"`

	// Lists and NotLists are the processes (by script name) that a list answer must hold, and must not hold.
	Lists    []string `yaml:"lists" about:"end"`
	NotLists []string `yaml:"not-lists" about:"end"`

	// Compressed: at least one frame (or the unary body) was compressed, or none was.
	Compressed *bool `yaml:"compressed" about:"end"`
	// Spread is the least time between the first data event and the end event, so that output that was held back shows.
	Spread Span `yaml:"spread" about:"end"`
	// Within bounds the time from the request to the return; NotBefore is its lower bound.
	Within    Span `yaml:"within" about:"end"`
	NotBefore Span `yaml:"not-before" about:"end"`
	// Gap bounds the time from the end-of-stream message to the end of the body.
	Gap Span `yaml:"gap" about:"end"`
	// Conn is reusable (open, nothing left over) or closed-by-peer.
	Conn string `yaml:"conn" about:"end"`

	// Any is a legal set of whole answers; the name of the first that fits is recorded.
	Any []NamedMatch `yaml:"any" about:"any"`
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
	// Details are details that it must hold, among others.
	Details []DetailMatch `yaml:"details"`
}

// DetailMatch is a detail of an error: the full name of its type, and its bytes in
// unpadded base64 ("" for any).
type DetailMatch struct {
	Type  string `yaml:"type"`
	Value string `yaml:"value"`
}

// GRPCMatch is a gRPC status.
type GRPCMatch struct {
	Status  []int    `yaml:"status"`  // legal set of numbers
	In      []string `yaml:"in"`      // trailers, headers, frame
	Message string   `yaml:"message"` // a part of it
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

// MessagesMatch describes the messages of an answer. A number is Count, a list is All.
type MessagesMatch struct {
	Count *int `yaml:"count"`
	// All describes each message, in order.
	All []BodyMatch `yaml:"all"`
	// Some describes messages that must be among them, in this order; others may stand between.
	Some []BodyMatch `yaml:"some"`
}

// BodyMatch describes a body that is not enveloped, or one message. A scalar is the exact text.
type BodyMatch struct {
	Text     *string `yaml:"text"`
	Hex      *string `yaml:"hex"` // the exact bytes
	Contains *string `yaml:"contains"`
	Empty    *bool   `yaml:"empty"`
	Matches  string  `yaml:"matches"` // a regular expression that must be found in it
	// JSON must equal the body as a value; JSONHas must be contained in it (objects by their keys, arrays by an element).
	// Strings may hold ${p.pid}.
	JSON    any `yaml:"json"`
	JSONHas any `yaml:"json-has"`
}
