package bundle

import (
	"iter"
	"strings"
)

// ObservationSchema names the version of the observation's JSON form.
const ObservationSchema = "assay.observation/v1"

// Stamp is an instant of a run: T is in nanoseconds after its start, N is the number of
// the step in the sequence of the run. N orders steps with equal T.
type Stamp struct {
	T int64 `json:"t"`
	N int64 `json:"n"`
}

// Before reports whether s was recorded before o.
func (s Stamp) Before(o Stamp) bool { return s.N < o.N }

// Axes is the permutation that a scenario ran on.
type Axes struct {
	Protocol    string `json:"protocol"`    // connect
	Codec       string `json:"codec"`       // json, proto
	HTTP        string `json:"http"`        // 1.1
	Compression string `json:"compression"` // identity, gzip
}

// String returns the axes as on the command line: "connect/json/1.1/identity".
func (a Axes) String() string {
	return a.Protocol + "/" + a.Codec + "/" + a.HTTP + "/" + a.Compression
}

// Observation is the record of one scenario on one set of axes. It is never judged during
// the run.
type Observation struct {
	Schema   string `json:"schema"`
	Run      string `json:"run"`
	Scenario string `json:"scenario"`
	Axes     Axes   `json:"axes"`
	// Script is the SHA-256 (hex) of the script's text; the bundle holds the text.
	Script string `json:"script"`
	Seed   uint64 `json:"seed"`

	Started Stamp `json:"started"`
	Ended   Stamp `json:"ended"`
	// Beside lists the scenarios that ran at the same time.
	Beside []string `json:"beside,omitempty"`

	// Lag is the maximum delay of the driver's own timers meanwhile, in nanoseconds: rules
	// about time cannot be judged more precisely.
	Lag int64 `json:"driver_lag_ns,omitempty"`
	// Shortage is the error of the last resource that the driver's machine lacked meanwhile, such
	// as file descriptors; "" for none. No failure is then the target's.
	Shortage string `json:"driver_shortage,omitempty"`

	// Refused is set if requests were refused, and again whenever the scenario was repeated.
	Refused *Unsettled `json:"refused,omitempty"`

	// Died is set if the target died while the scenario ran, and it could not run again: what is missing says nothing.
	Died bool `json:"died,omitempty"`

	// Skip is set if the scenario did not run; everything below is empty then.
	Skip *Skip `json:"skip,omitempty"`
	// Omitted is set if the evidence was not kept; everything below except Defect is empty then.
	Omitted *Omission `json:"omitted,omitempty"`
	// Interrupted is set if the run was interrupted (Ctrl-C, run budget); the observation is partial.
	Interrupted bool `json:"interrupted,omitempty"`
	// CutByBudget is set with Interrupted if the run's time budget was the reason.
	CutByBudget bool `json:"cut_by_budget,omitempty"`
	// Defect is an error in Assay itself, never in the target.
	Defect string `json:"defect,omitempty"`

	Iterations []Iteration `json:"iterations,omitempty"`
	// Scrapes are the metric expositions read before, during and after.
	Scrapes []Scrape `json:"scrapes,omitempty"`
	// BudgetSpent is set if a race ended with its time budget.
	BudgetSpent bool `json:"budget_spent,omitempty"`
	// Stopped says why fewer iterations ran than the script requires; "" if all ran, or if the
	// run was interrupted.
	Stopped string `json:"stopped,omitempty"`
	// Dropped describes data omitted to limit the size of the observation.
	Dropped []string `json:"dropped,omitempty"`

	// Confirm is set if something did not come in time: the second pass looks for it again.
	Confirm *Confirmation `json:"confirm,omitempty"`
}

// Confirmation is what the second pass of a run found where something did not come in time. One of Alone, Like
// and Untried is set.
type Confirmation struct {
	// Alone is the same scenario again, with nothing beside it: the first try that showed the same, or the last one.
	Alone *Observation `json:"alone,omitempty"`
	Tries int          `json:"tries,omitempty"` // how often it was tried alone
	// Like is the scenario that showed the same symptom alone, in the same protocol and version of HTTP. This one was
	// not tried by itself.
	Like string `json:"like,omitempty"`
	// Untried says why it was not tried.
	Untried string `json:"untried,omitempty"`
}

// SkipReason is the reason why a scenario did not run.
type SkipReason string

// The reasons. SkipFeature gives the verdict unsupported, SkipUnanswered inconclusive, the others not-run.
const (
	SkipFeature     SkipReason = "feature"
	SkipDestructive SkipReason = "destructive"
	SkipSlow        SkipReason = "slow"
	SkipInterrupted SkipReason = "interrupted"
	SkipTargetGone  SkipReason = "target-gone"
	SkipKiller      SkipReason = "killer"  // the target has died of it
	SkipStalled     SkipReason = "stalled" // most earlier scenarios that called the target in the same way had waited in vain
	SkipBudget      SkipReason = "budget"  // the time budget of the run was spent
	// SkipUnanswered: the probe of a required feature was inconclusive, and most earlier
	// scenarios that used it had waited in vain.
	SkipUnanswered SkipReason = "unanswered"
)

// Skip says why a scenario did not run.
type Skip struct {
	Reason SkipReason `json:"reason"`
	// Detail names the missing features, or the flag that runs the scenario.
	Detail string `json:"detail,omitempty"`
}

// Iteration is one run of the scenario's steps; most scenarios have one.
type Iteration struct {
	Index int `json:"index"`
	// Vars are the resolved variables: sweep values in nanoseconds, captured
	// pids, generated tags.
	Vars      map[string]string `json:"vars,omitempty"`
	Started   Stamp             `json:"started"`
	Ended     Stamp             `json:"ended"`
	Conns     []Conn            `json:"conns,omitempty"`
	Exchanges []Exchange        `json:"exchanges,omitempty"`
	Awaits    []Await           `json:"awaits,omitempty"`
	Processes []Process         `json:"processes,omitempty"`
	// Defect is an error in Assay in this iteration.
	Defect string `json:"defect,omitempty"`
}

// Exchange returns the first exchange with this name, or nil.
func (it *Iteration) Exchange(name string) *Exchange {
	return Find(it.Exchanges, func(x *Exchange) bool { return x.Name == name })
}

// Exchanges yields the exchanges of all iterations.
func (o *Observation) Exchanges() iter.Seq2[*Iteration, *Exchange] {
	return func(yield func(*Iteration, *Exchange) bool) {
		for it := range Each(o.Iterations) {
			for x := range Each(it.Exchanges) {
				if !yield(it, x) {
					return
				}
			}
		}
	}
}

// Each yields the elements of a list in place: parts of an observation are large, and not copied.
func Each[T any](list []T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
}

// Find returns the first element of a list for which is is true, in place, or nil.
func Find[T any](list []T, is func(*T) bool) *T {
	for e := range Each(list) {
		if is(e) {
			return e
		}
	}
	return nil
}

// Conn is one connection: the bytes written and read, and its end.
type Conn struct {
	ID     int    `json:"id"` // unique in the iteration, from 0
	Name   string `json:"name,omitempty"`
	Local  string `json:"local,omitempty"`
	Remote string `json:"remote,omitempty"`

	Dialed    Stamp  `json:"dialed"`
	Connected *Stamp `json:"connected,omitempty"`
	DialError string `json:"dial_error,omitempty"`
	// DialTimeout is set with DialError if nobody refused the connection: the time was over, or Assay gave up.
	DialTimeout bool `json:"dial_timeout,omitempty"`

	// Writes and Reads are the chunk tables of Sent and Received.
	Writes   []Chunk `json:"writes,omitempty"`
	Reads    []Chunk `json:"reads,omitempty"`
	Sent     Blob    `json:"sent"`
	Received Blob    `json:"received"`

	// HTTP is the HTTP version: 1.1, h2c or h2-tls.
	HTTP string `json:"http,omitempty"`
	// TLS is the result of the handshake, nil on a plain connection. Sent and Received are the decrypted bytes.
	TLS *TLS `json:"tls,omitempty"`
	// H2 are the HTTP/2 frames of both directions in order, at most 4,096.
	H2 []H2Frame `json:"h2,omitempty"`

	// Ended is nil if the connection was still open when the iteration ended.
	Ended *ConnEnd `json:"ended,omitempty"`
}

// TLS is the result of a TLS handshake.
type TLS struct {
	Version string `json:"version"` // "TLS 1.3"
	ALPN    string `json:"alpn,omitempty"`
	Subject string `json:"subject,omitempty"`
}

// H2Frame is one HTTP/2 frame.
type H2Frame struct {
	Dir    string `json:"dir"`  // sent, received
	Type   string `json:"type"` // HEADERS, DATA, SETTINGS, WINDOW_UPDATE, RST_STREAM, GOAWAY, PING, PRIORITY, CONTINUATION, PUSH_PROMISE or a number
	Flags  byte   `json:"flags,omitempty"`
	Stream uint32 `json:"stream,omitempty"`
	Len    int    `json:"len"`
	At     Stamp  `json:"at"`
	// Detail describes the content of the frame: settings, the error code, the increment, decoded fields.
	Detail string `json:"detail,omitempty"`
}

// flagACK is the flag of a SETTINGS or PING frame that acknowledges another (RFC 9113, 6.5 and 6.7).
const flagACK = 1

// Name returns the type, with -ACK for an acknowledging SETTINGS or PING.
func (f *H2Frame) Name() string {
	if (f.Type == "SETTINGS" || f.Type == "PING") && f.Flags&flagACK != 0 {
		return f.Type + "-ACK"
	}
	return f.Type
}

// Fits reports whether the frame has a name, followed by words of its content if that is more: "RST_STREAM CANCEL".
func (f *H2Frame) Fits(want string) bool {
	name, words, _ := strings.Cut(want, " ")
	return f.Name() == name && strings.Contains(f.Detail, words)
}

// Concerns reports whether the frame is of a stream or of the whole connection; every frame concerns stream 0.
func (f *H2Frame) Concerns(stream uint32) bool {
	return stream == 0 || f.Stream == 0 || f.Stream == stream
}

// GRPCStatus is the status of a gRPC or gRPC-Web call as sent by the target.
type GRPCStatus struct {
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"` // percent-decoded
	Details []byte `json:"details,omitempty"` // grpc-status-details-bin, decoded
	// In is its location: trailers, headers (trailers-only) or frame (gRPC-Web).
	In string `json:"in"`
	// Metadata are the other trailing fields.
	Metadata []Header `json:"metadata,omitempty"`
}

// ConnEnd is how a connection ended and who ended it.
type ConnEnd struct {
	At  Stamp  `json:"at"`
	By  string `json:"by"`  // peer, us
	How string `json:"how"` // fin, rst, half, silent, error
	Err string `json:"err,omitempty"`
}

// Chunk is one write or read of a byte stream.
type Chunk struct {
	Off int64 `json:"off"`
	Len int   `json:"len"`
	At  Stamp `json:"at"`
}

// The operations of exchanges: what a step did, or what Assay did beside the script.
const (
	OpSend       = "send"
	OpStart      = "start"
	OpConnect    = "connect"
	OpSignal     = "signal"
	OpInput      = "input"
	OpCloseStdin = "close-stdin"
	OpUpdate     = "update"
	OpList       = "list"
	OpRaw        = "raw"     // bytes that no exchange announced
	OpProbe      = "probe"   // a look whether, and how, the target answers
	OpCleanup    = "cleanup" // after the steps
)

// Housekeeping reports whether Assay made the exchange beside the script.
func (e *Exchange) Housekeeping() bool { return e.Op == OpProbe || e.Op == OpCleanup }

// Exchange is one request and its response. It records a call made by a step (start,
// signal, send …) or a response on a raw connection.
type Exchange struct {
	ID   int    `json:"id"`   // index in the iteration
	Name string `json:"name"` // the script's `as`, else the step's kind, or a race's a/b
	Step string `json:"step"` // "steps[1].race.a"
	Op   string `json:"op"`   // OpSend and the others
	Conn int    `json:"conn"` // Conn.ID, -1 without a connection

	RPC      string `json:"rpc,omitempty"`      // "process.Process/Start"
	Protocol string `json:"protocol,omitempty"` // of an RPC: connect, grpc, grpc-web
	// Stream is the HTTP/2 stream, 0 on HTTP/1.1.
	Stream uint32 `json:"stream,omitempty"`
	// Surface is process, commands, metrics, health, stdio, files, execute, control, or "" for a bare path.
	Surface string `json:"surface,omitempty"`
	// Sandbox names the exchange of the script that made the sandbox to which the request went, "" for
	// the target.
	Sandbox string `json:"sandbox,omitempty"`
	Shape   Shape  `json:"shape"`           // how to decode the response
	Codec   string `json:"codec,omitempty"` // json, proto

	Invoked  Stamp  `json:"invoked"`            // before the first byte of the request
	Sent     *Stamp `json:"sent,omitempty"`     // after its last byte was written
	Returned *Stamp `json:"returned,omitempty"` // when the response was complete or given up

	Request  Request   `json:"request"`
	Response *Response `json:"response,omitempty"`

	// Frames are envelopes, NDJSON lines (Flags 0), or WebSocket frames (Flags is their first byte), in order.
	Frames []Frame `json:"frames,omitempty"`
	Events []Event `json:"events,omitempty"`
	// Closing is the close frame of a WebSocket, nil without one.
	Closing *Closing `json:"closing,omitempty"`
	// EndStream is the decoded end-of-stream message of a Connect stream.
	EndStream *EndStream `json:"end_stream,omitempty"`
	// GRPC is the status of a gRPC or gRPC-Web response, nil without one.
	GRPC *GRPCStatus `json:"grpc,omitempty"`
	// Error is the RPC error of the response, from a unary error body or the end of stream.
	Error *RPCError `json:"error,omitempty"`
	// Body is the entity body of a response without envelopes (unary message, text), after Content-Encoding.
	Body *Blob `json:"body,omitempty"`
	// Outputs are the concatenated bytes per stream: stdout, stderr, pty.
	Outputs map[string]*Blob `json:"outputs,omitempty"`

	Violations []Violation `json:"violations,omitempty"`
	Outcome    Outcome     `json:"outcome"`
	// Detail is the error text of an outcome other than complete.
	Detail string `json:"detail,omitempty"`
	// Aborted is set if a step of the script ended the exchange.
	Aborted bool `json:"aborted,omitempty"`
	// Unread says why Assay stopped reading the response before its end, and so ended the exchange; "" if
	// it did not. The unread part decides nothing.
	Unread string `json:"unread,omitempty"`
}

// Switched reports whether the exchange became a WebSocket, open or ended.
func (e *Exchange) Switched() bool {
	return e.Shape == ShapeStdio && e.Response != nil && e.Response.Status == 101
}

// First returns the first event of a kind, or nil.
func (e *Exchange) First(kind EventKind) *Event {
	return Find(e.Events, func(ev *Event) bool { return ev.Kind == kind })
}

// Shape is the encoding of a response.
type Shape string

// The shapes.
const (
	ShapeStream Shape = "stream" // Connect envelopes
	ShapeUnary  Shape = "unary"  // one message or one error
	ShapeNDJSON Shape = "ndjson" // one JSON event per line
	ShapeStdio  Shape = "stdio"  // messages of a WebSocket, after an upgrade
	// ShapeExecute is one JSON object of the code interpreter per line.
	ShapeExecute Shape = "execute"
	ShapePlain   Shape = "plain" // an undecoded body
)

// Lines reports whether a response is one JSON object per line.
func (s Shape) Lines() bool { return s == ShapeNDJSON || s == ShapeExecute }

// Closing is the close frame with which the peer ended a WebSocket.
type Closing struct {
	At Stamp `json:"at"`
	// Code is 1005 for a frame without a code.
	Code   int    `json:"code"`
	Reason string `json:"reason,omitempty"`
	// Answer is set if we had sent a close before.
	Answer bool `json:"answer,omitempty"`
}

// Outcome is how an exchange ended on the transport, regardless of its content.
type Outcome string

// The outcomes.
const (
	OutcomeComplete  Outcome = "complete"   // the response ended correctly by its HTTP framing
	OutcomeNoConnect Outcome = "no-connect" // the connection was refused or could not be opened
	OutcomeNoAnswer  Outcome = "no-answer"  // nothing before the deadline
	OutcomeStalled   Outcome = "stalled"    // the response began but did not end before the deadline
	OutcomeClosed    Outcome = "closed"     // FIN before the response was complete
	OutcomeReset     Outcome = "reset"      // RST before the response was complete
	OutcomeGarbage   Outcome = "garbage"    // not HTTP; see Violations
	OutcomeAborted   Outcome = "aborted"    // we ended it: by script, clean-up or Ctrl-C
)

// Header is one field line as on the wire.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Request is the head of a request as sent, and its body.
type Request struct {
	Method  string   `json:"method,omitempty"`
	Path    string   `json:"path,omitempty"`
	Headers []Header `json:"headers,omitempty"`
	Body    Blob     `json:"body"`
}

// Response is the head of a response and the times of its parts.
type Response struct {
	Proto   string   `json:"proto"` // HTTP/1.1
	Status  int      `json:"status"`
	Reason  string   `json:"reason,omitempty"`
	Headers []Header `json:"headers,omitempty"`
	// Trailers are HTTP trailers (chunked).
	Trailers []Header `json:"trailers,omitempty"`
	// Informational lists earlier 1xx statuses.
	Informational []int `json:"informational,omitempty"`
	// Framing is chunked, length, close or none, and upgrade for a WebSocket.
	Framing string `json:"framing"`

	Head Stamp `json:"head"` // the head was complete
	// Ended is when the body was complete by its framing.
	Ended *Stamp `json:"ended,omitempty"`
	// Body is the number of received entity bytes, before any decoding.
	Body int64 `json:"body"`
}

// Get returns the values of a header field; name is case-insensitive.
func (r *Response) Get(name string) []string {
	if r == nil {
		return nil
	}
	return headerValues(r.Headers, name)
}

// Frame is one envelope or one NDJSON line of a response.
type Frame struct {
	Flags byte  `json:"flags"`
	Off   int64 `json:"off"` // offset of its first byte in the body
	Len   int64 `json:"len"` // length of its payload
	At    Stamp `json:"at"`  // when its last byte was read
	// Head is its payload, decompressed if possible, truncated at 1 KiB; a message of a stream
	// without process events is truncated at 16 KiB.
	Head []byte `json:"head,omitempty"`
	// Whole is set on a message of such a stream if Head is the complete payload.
	Whole bool `json:"whole,omitempty"`
	// Event is the index in Events, or -1.
	Event int `json:"event"`
}

// EventKind is the kind of a process event.
type EventKind string

// The kinds. EventData covers stdout, stderr and pty.
const (
	EventStart     EventKind = "start"
	EventData      EventKind = "data"
	EventEnd       EventKind = "end"
	EventKeepAlive EventKind = "keepalive"
	EventUnknown   EventKind = "unknown" // an unknown or empty event
	EventCount     EventKind = "count"   // of the code interpreter: the number of executions
	EventResult    EventKind = "result"  // of the code interpreter: a value, or what the code displays
	EventError     EventKind = "error"   // of the code interpreter: an error of the code
)

// Event is one decoded process event.
type Event struct {
	Kind  EventKind `json:"kind"`
	At    Stamp     `json:"at"`
	Frame int       `json:"frame"`
	PID   uint32    `json:"pid,omitempty"` // start
	// Stream, Off and Len place a data event in its Outputs entry.
	Stream string `json:"stream,omitempty"`
	Off    int64  `json:"off,omitempty"`
	Len    int    `json:"len,omitempty"`
	Exit   *Exit  `json:"exit,omitempty"` // end
}

// Exit is the content of an end event.
type Exit struct {
	Code   int32   `json:"code"`
	Exited bool    `json:"exited"`
	Status string  `json:"status"`
	Error  *string `json:"error,omitempty"`
	// Signal is the signal that Status names ("signal: killed" is SIGKILL), or "".
	Signal string `json:"signal,omitempty"`
}

// EndStream is the last message of a Connect stream.
type EndStream struct {
	At       Stamp               `json:"at"`
	Frame    int                 `json:"frame"`
	Metadata map[string][]string `json:"metadata,omitempty"`
}

// RPCError is an error as sent by the target.
type RPCError struct {
	Code    string        `json:"code"`
	Message string        `json:"message,omitempty"`
	Details []ErrorDetail `json:"details,omitempty"`
}

// ErrorDetail is one entry of an error's details.
type ErrorDetail struct {
	Type  string `json:"type"`
	Value string `json:"value"` // base64 as sent
}

// Violation is a breach found by a decoder, with its location. Kinds are the constants of
// internal/wire and internal/envd; the judge maps them to rules.
type Violation struct {
	Kind   string `json:"kind"`
	In     string `json:"in"`  // http, body, frame, event
	Off    int64  `json:"off"` // byte offset in the connection for http, else in the body
	Detail string `json:"detail"`
	At     Stamp  `json:"at"`
}

// Await is one await step, its deadline, and whether it was met.
type Await struct {
	Step string `json:"step"`
	On   string `json:"on"`
	// What is the kind of the wait, and what it is for: "done", "event end".
	What     Wait  `json:"what"`
	Began    Stamp `json:"began"`
	Ended    Stamp `json:"ended"`
	Deadline int64 `json:"deadline_ns"`
	Met      bool  `json:"met"`
	// Short is set if the remaining time of the steps was less than half of its own timeout.
	Short bool `json:"short,omitempty"`
}

// Process is a process started by the scenario, with its clean-up.
type Process struct {
	Name    string `json:"name"`
	PID     uint32 `json:"pid"`
	Started Stamp  `json:"started"`
	// Ended is the time of its end event on any stream.
	Ended *Stamp `json:"ended,omitempty"`
	// Cleanup is "" if it ended by itself or by a step, else the result of the clean-up: killed,
	// gone, failed: …
	Cleanup string `json:"cleanup,omitempty"`
}

// Scrape is one read of a metric exposition, raw.
type Scrape struct {
	Name      string `json:"name"`      // before, after, or the script's `as`
	Iteration int    `json:"iteration"` // -1: before or after all iterations
	Sent      Stamp  `json:"sent"`
	Received  Stamp  `json:"received"`
	Status    int    `json:"status"`
	Type      string `json:"type"` // Content-Type
	Body      []byte `json:"body"`
	Err       string `json:"err,omitempty"`
}
