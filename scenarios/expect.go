package scenarios

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// Clause is a set of expectations that prove one rule.
type Clause struct {
	// Rule is the rule that it proves; default the scenario's only rule.
	Rule string `yaml:"rule"`
	// Subjects are matchers by exchange name; every iteration must match. The
	// name "stream" stands for the exchange "send"; "each p" is the same as "p".
	Subjects map[string]*Match `yaml:"-"`
	// Orders are the interleavings of a race, tried in the order of the script.
	Orders []Order `yaml:"-"`
	// Metrics are the expected changes of started, finished, ok, error, killed and active:
	// "+200", "+0", or "+n" for one per iteration.
	Metrics map[string]string `yaml:"metrics"`
	// Parity names exchanges whose outputs, exit and event kinds must agree.
	Parity []string `yaml:"parity"`
	// Sequence names instants that must come in this order: "p.invoked", "k.returned", "p.start", "p.end", "p.data", "p.end-stream".
	Sequence []string `yaml:"sequence"`
	// Says explains a breach of the clause in words, in front of the generated message.
	Says string `yaml:"says"`

	Line int `yaml:"-"`
}

// Order is one interleaving of a race: its name, its matches, and how often it must be seen.
type Order struct {
	Name     string
	Subjects map[string]*Match
	Min      int
}

// Match describes an exchange; every field that is set must match. A scalar is a
// shorthand: "ok" for OK, otherwise the name of an error code. The tag `about` is the part
// of the exchange on which the field depends, see About.
type Match struct {
	// OK: the response is complete, has the success form of its shape, and has no error.
	OK *bool `yaml:"ok" about:"end"`
	// Outcome is the legal set of transport outcomes; default {complete} when any other field is set,
	// except where Error allows a cut.
	Outcome Many[string] `yaml:"outcome" about:"outcome"`
	Status  Many[int]    `yaml:"status" about:"head"` // legal set; a scalar is a set of one
	// Headers: the exact value, "*" for present, null for absent.
	Headers map[string]*string `yaml:"headers" about:"head"`
	// HeaderMatches are regular expressions, each of which must match the header field in part.
	HeaderMatches map[string]string `yaml:"header-matches" about:"head"`
	Error         *ErrorMatch       `yaml:"error" about:"end"`
	// Trailers are HTTP trailers, like Headers.
	Trailers map[string]*string `yaml:"trailers" about:"end"`
	// GRPC is the status of a gRPC or gRPC-Web response.
	GRPC *GRPCMatch `yaml:"grpc" about:"end"`
	// H2 lists HTTP/2 frames that the peer must have sent, H2Never frames that it must not
	// have sent: a type, with -ACK after SETTINGS and PING, then words of the frame's
	// content ("RST_STREAM CANCEL"). For an exchange, frames of its own stream and of stream 0 count;
	// for a connection, frames of all streams.
	H2      Many[string] `yaml:"h2" about:"frames"`
	H2Never Many[string] `yaml:"h2-never" about:"frames"`
	// WS lists WebSocket frames that the peer must have sent, WSNever frames that it must not
	// have sent.
	WS      Many[WSMatch] `yaml:"ws" about:"progress"`
	WSNever Many[WSMatch] `yaml:"ws-never" about:"progress"`
	// Close is the legal set of codes of the peer's WebSocket close frame: 1005 is a frame
	// without a code, 1006 the end of the connection without a frame.
	Close Many[int] `yaml:"close" about:"end"`
	// Metadata is trailing metadata, wherever the protocol puts it: a text is one of the values,
	// "*" is any value, a list is all values in order, null is absence.
	Metadata map[string]any `yaml:"metadata" about:"end"`
	// Messages are the messages of a response, of any type, without end-of-stream and trailer
	// frames.
	Messages *MessagesMatch `yaml:"messages" about:"progress"`

	Start *bool     `yaml:"start" about:"progress"` // a start event is present
	End   *EndMatch `yaml:"end" about:"end"`
	// Ends is once, at-most-once or never.
	Ends string `yaml:"ends" about:"progress"`
	// Events is a pattern over event kinds: "start (data|keepalive)* end". Keepalives are ignored unless the pattern names them.
	Events string `yaml:"events" about:"end"`
	// Never lists events that must not be in the response.
	Never Many[EventMatch] `yaml:"never" about:"progress"`

	Stdout *OutputMatch `yaml:"stdout" about:"progress"`
	Stderr *OutputMatch `yaml:"stderr" about:"progress"`
	PTY    *OutputMatch `yaml:"pty" about:"progress"`
	Body   *BodyMatch   `yaml:"body" about:"end"`

	// Lists and NotLists are the processes (by script name) that the response of a list must and must not contain. That of
	// a WebSocket is found by its last argument.
	Lists    Many[string] `yaml:"lists" about:"end"`
	NotLists Many[string] `yaml:"not-lists" about:"end"`

	// Compressed: at least one frame (or the unary body) was compressed, or none was.
	Compressed *bool `yaml:"compressed" about:"end"`
	// Spread is the least time between the first data event and the end event, to detect output that was held back.
	Spread Span `yaml:"spread" about:"end"`
	// Within bounds the time from the request to the return; NotBefore is its lower bound.
	Within    Span `yaml:"within" about:"end"`
	NotBefore Span `yaml:"not-before" about:"end"`
	// Gap bounds the time from the end-of-stream message to the end of the body.
	Gap Span `yaml:"gap" about:"end"`
	// Conn is reusable (open, nothing left over) or closed-by-peer.
	Conn string `yaml:"conn" about:"end"`

	// Any is a legal set of whole responses; the name of the first that matches is recorded.
	Any []NamedMatch `yaml:"any" about:"any"`
}

// NamedMatch is one of several legal responses.
type NamedMatch struct {
	Name  string `yaml:"name"`
	Match `yaml:",inline"`
}

// ErrorMatch is an RPC error. A scalar or a list is the legal set of codes.
type ErrorMatch struct {
	// Code is the legal set; "*" for any of the 16.
	Code    Many[string] `yaml:"code"`
	Message string       `yaml:"message"` // a part of the message
	// Details are details that it must have, among others.
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
	Status  Many[int]    `yaml:"status"`  // legal set of numbers
	In      Many[string] `yaml:"in"`      // trailers, headers, frame
	Message string       `yaml:"message"` // a part of it
}

// EndMatch is an end event.
type EndMatch struct {
	Code   Many[int]    `yaml:"code"`
	Exited *bool        `yaml:"exited"`
	Signal Many[string] `yaml:"signal"` // legal set; implies a code that is not 0
	Error  *bool        `yaml:"error"`  // error text present or absent
	Status string       `yaml:"status"` // exactly
}

// EventMatch is an event, by its kind.
type EventMatch struct {
	Event string `yaml:"event"`
}

// OutputMatch describes the concatenated bytes of a stream. A scalar is the exact text.
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

// WSMatch describes a WebSocket frame. A scalar is its type.
type WSMatch struct {
	Type string `yaml:"type"` // text, binary, continuation, ping, pong, close
	// Text or Hex is the exact payload; without both, any payload matches.
	Text *string `yaml:"text"`
	Hex  *string `yaml:"hex"`
}

// Fits reports whether a frame of that type and payload fits; the payload counts only if it is whole.
func (m WSMatch) Fits(kind string, payload []byte, whole bool) bool {
	switch {
	case kind != m.Type:
		return false
	case m.Text != nil:
		return whole && string(payload) == *m.Text
	case m.Hex != nil:
		return whole && hex.EncodeToString(payload) == strings.ToLower(*m.Hex)
	}
	return true
}

// String describes the match in messages.
func (m WSMatch) String() string {
	switch {
	case m.Text != nil:
		return m.Type + " " + strconv.Quote(*m.Text)
	case m.Hex != nil:
		return m.Type + " " + *m.Hex
	}
	return m.Type
}

// MessagesMatch describes the messages of a response. A number is Count, a list is All.
type MessagesMatch struct {
	Count *int `yaml:"count"`
	// All describes each message, in order.
	All []BodyMatch `yaml:"all"`
	// Some describes messages that must be among them, in this order; others may come between.
	Some Many[BodyMatch] `yaml:"some"`
	// None describes messages that must not be among them.
	None Many[BodyMatch] `yaml:"none"`
}

// BodyMatch describes a body that is not enveloped, or one message. A scalar is the exact text.
type BodyMatch struct {
	Text     *string `yaml:"text"`
	Hex      *string `yaml:"hex"` // the exact bytes
	Contains *string `yaml:"contains"`
	Empty    *bool   `yaml:"empty"`
	Matches  string  `yaml:"matches"` // a regular expression that must match a part of it
	// JSON must equal the body as a value; JSONHas must be contained in it (objects by their keys, arrays by an element).
	// Strings may contain ${p.pid}.
	JSON    any `yaml:"json"`
	JSONHas any `yaml:"json-has"`
	// JSONList is contained in the body like JSONHas, but its arrays have the same length and order.
	JSONList any `yaml:"json-list"`
	// Fields are regular expressions for scalars of the body, by their dotted names (numbers for list
	// items); null for an absent field. An absent field matches what matches the empty text.
	Fields map[string]*string `yaml:"fields"`
	Of     *Bytes             `yaml:"of"`     // exactly these bytes
	Length *int64             `yaml:"length"` // in bytes
	Digest string             `yaml:"digest"` // sha256 in hex
}
