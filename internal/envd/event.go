package envd

// Kind names a breach of an event's encoding. The judge maps kinds to rules.
type Kind string

// The breaches that DecodeEvent and DecodeLine report.
const (
	EventJSON   Kind = "event.json"   // not one JSON object, or a field of the wrong type
	EventProto  Kind = "event.proto"  // does not parse as protobuf
	EventBase64 Kind = "event.base64" // bytes that are not (standard, padded) base64
	EventShape  Kind = "event.shape"  // no event, two events of the oneof, an empty data event, a start without pid
	EventUTF8   Kind = "event.utf-8"  // text that is not UTF-8
)

// Problem is one breach; Off is relative to the payload, -1 if it has no place.
type Problem struct {
	Kind   Kind
	Off    int64
	Detail string
}

// The kinds of an event. Unknown is an event of a later version of the protocol, or one
// that could not be read.
const (
	KindStart     = "start"
	KindData      = "data"
	KindEnd       = "end"
	KindKeepAlive = "keepalive"
	KindUnknown   = "unknown"
)

// The streams that a data event can carry.
const (
	Stdout = "stdout"
	Stderr = "stderr"
	PTY    = "pty"
)

// Event is one decoded process event. Kind determines which other fields are set: PID
// for start; Stream and Data for data; Exit for end.
type Event struct {
	Kind   string // start, data, end, keepalive, unknown
	PID    uint32
	Stream string // stdout, stderr, pty
	Data   []byte
	Exit   Exit
}

// Exit is the content of an end event. Signal is derived from Status. The NDJSON alias
// has only a Code.
type Exit struct {
	Code   int32
	Exited bool
	Status string
	Error  *string
	Signal string // SIGKILL, SIGTERM, … or ""
}

// DecodeEvent decodes the payload of a StartResponse or ConnectResponse in the codec
// (json, proto). Unknown fields are legal; both spellings of a JSON field are read;
// zero values may be omitted, and null means absent (the JSON mapping of protobuf). The
// readable parts are returned even when there are problems: base64 of another alphabet
// or without padding is reported and decoded. If one message has two events, JSON
// returns the first in field order and proto the last on the wire.
func DecodeEvent(codec string, payload []byte) (Event, []Problem) {
	switch codec {
	case "json":
		return decodeJSON(payload)
	case "proto":
		return decodeProto(payload)
	}
	return Event{Kind: KindUnknown}, []Problem{{Kind: EventShape, Off: -1, Detail: "unknown codec " + codec + "; known are json and proto"}}
}
