package transport

import (
	"errors"
	"fmt"
	"mime"
	"strings"

	"assay/internal/envd"
	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// choose selects the decoder of the body: that of the requested protocol and shape,
// unless the head shows something else (an error of a proxy, 415, 401 …).
func (x *Exchange) choose(headers []bundle.Header) answer {
	r := &bundle.Response{Headers: headers}
	kind := mediaType(r)
	rpc := (x.rec.Shape == bundle.ShapeStream || x.rec.Shape == bundle.ShapeUnary) && x.rec.Response.Status == 200
	protocol, _ := wire.ProtocolByName(x.rec.Protocol)
	switch {
	case x.switches(x.rec.Response.Status):
		return newSocket(x)
	case protocol != wire.Connect && rpc && isGRPC(protocol, kind):
		return newGRPCAnswer(x, protocol, kind, r)
	case protocol != wire.Connect:
	case x.rec.Shape == bundle.ShapeStream && rpc && strings.HasPrefix(kind, call.StreamType):
		return newStreamAnswer(x, codecOf(kind[len(call.StreamType):], x.rec.Codec), first(r.Get("Connect-Content-Encoding")))
	case x.rec.Shape == bundle.ShapeNDJSON && x.rec.Response.Status == 200:
		return newLineAnswer(x, first(r.Get("Content-Encoding")))
	case x.rec.Shape == bundle.ShapeExecute && x.rec.Response.Status == 200:
		return newCellAnswer(x, first(r.Get("Content-Encoding")))
	}
	return newBodyAnswer(x, kind, first(r.Get("Content-Encoding")))
}

// codecOf returns the codec that an answer declares, legal or not; if it declares none
// that we know, the requested one.
func codecOf(said, asked string) string {
	if said == call.JSON || said == call.Proto {
		return said
	}
	return asked
}

// mediaType returns the Content-Type without parameters, in lower case.
func mediaType(r *bundle.Response) string {
	value := first(r.Get("Content-Type"))
	kind, _, err := mime.ParseMediaType(value)
	if err != nil {
		kind, _, _ = strings.Cut(value, ";")
		kind = strings.ToLower(strings.TrimSpace(kind))
	}
	return kind
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return strings.ToLower(strings.TrimSpace(values[0]))
}

// messages decodes the enveloped messages of an answer in any protocol.
type messages struct {
	x        *Exchange
	protocol wire.Protocol
	codec    string
	encoding string // declared for messages, "" for identity
	field    string // the header that declares it
	events   bool
	dec      wire.EnvelopeDecoder
	buffered int // the longest message that came in several pieces
	gzip     gunzipper
}

const (
	// maxMessage is the longest message that is decoded. A daemon sends output in pieces of
	// 32 KiB.
	maxMessage = 8 << 20
	// maxDecoded is the longest error or end-of-stream message that is decoded.
	maxDecoded = 1 << 20
	// decodingCost is the memory for a message in relation to its length: the buffer that
	// grows, and the decoded copy.
	decodingCost = 3
)

// reserve asks for the memory of a message whose pieces have n bytes so far.
func (x *Exchange) reserve(n int) bool {
	if n > maxMessage {
		x.leaveUnread(fmt.Sprintf("it has a message of more than %d bytes", maxMessage))
		return false
	}
	return x.work(decodingCost * n)
}

// newMessages returns the decoder; the caller sets its OnFrame, and calls limit.
func newMessages(x *Exchange, p wire.Protocol, codec, field, encoding string) messages {
	if encoding == "identity" {
		encoding = ""
	}
	return messages{
		x: x, protocol: p, codec: codec, encoding: encoding, field: field,
		events: carriesEvents(x.rec.RPC),
		dec:    wire.EnvelopeDecoder{Protocol: p, OnViolation: func(v wire.Violation) { x.violate(inFrame, v) }},
	}
}

// limit bounds the memory of a message, before and after decompression.
func (a *messages) limit() {
	a.dec.Reserve = func(n int) bool {
		a.buffered = max(a.buffered, n)
		return a.x.reserve(n)
	}
	a.gzip.take = func(n int) bool { return a.x.reserve(a.buffered + n) }
}

func (a *messages) feed(p []byte, _ bundle.Stamp) { a.dec.Feed(p) }

// streamAnswer decodes a Connect stream.
type streamAnswer struct{ messages }

func newStreamAnswer(x *Exchange, codec, encoding string) *streamAnswer {
	a := &streamAnswer{newMessages(x, wire.Connect, codec, "Connect-Content-Encoding", encoding)}
	a.dec.OnFrame = a.frame
	a.limit()
	return a
}

func (a *streamAnswer) close() { a.dec.Close() }

// frame records one envelope and its content.
func (a *streamAnswer) frame(f wire.Frame) {
	rec, payload, ok := a.open(f)
	switch {
	case !ok:
	case f.Flags&wire.FlagEndStream != 0:
		a.endStream(f, payload, a.x.addFrame(rec, payload, true), rec.At)
	default:
		a.message(f, payload, rec)
	}
}

// open begins the record of an envelope and returns its decompressed payload. If the
// payload cannot be decompressed, open records it unchanged and ok is false.
func (a *messages) open(f wire.Frame) (rec bundle.Frame, payload []byte, ok bool) {
	rec = bundle.Frame{Flags: f.Flags, Off: f.Off, Len: int64(len(f.Payload)), At: a.x.recorder.clock.Stamp()}
	payload, ok = a.inflate(f)
	if !ok {
		plain, err := a.gzip.decode(f.Payload, maxMessage)
		if a.x.hideIn(plain, f.Payload, err) {
			f.Payload = stars(len(f.Payload))
		}
		a.x.addFrame(rec, f.Payload, true)
	}
	return rec, payload, ok
}

// message records an envelope that holds a message, and the process event in it, if any.
func (a *messages) message(f wire.Frame, payload []byte, rec bundle.Frame) {
	special := f.Flags&^wire.FlagCompressed != 0
	switch {
	case a.events:
	case a.x.rec.Shape == bundle.ShapeStream:
		a.x.addMessage(rec, payload, special)
		return
	default:
		a.x.addFrame(rec, payload, special)
		return
	}
	event, problems := envd.DecodeEvent(a.codec, payload)
	special = special || isSpecial(bundle.EventKind(event.Kind)) || len(problems) > 0
	if event.Kind == envd.KindKeepAlive {
		a.x.pings += wire.HeaderSize + int64(len(f.Payload))
	}
	a.x.linkEvent(event, a.x.addFrame(rec, payload, special), rec.At)
	base := f.Off + wire.HeaderSize
	for _, p := range problems {
		a.x.violate(inEvent, wire.Violation{Kind: wire.Kind(p.Kind), Off: a.place(f, base, p.Off), Detail: p.Detail})
	}
}

// carriesEvents reports whether the stream answer of an RPC holds process events. A raw
// connection, which has no RPC, counts as such.
func carriesEvents(rpc string) bool {
	return rpc == "" || rpc == call.ProcessStart || rpc == call.ProcessConnect
}

// place returns the body offset of a position inside a payload: that of the payload
// itself if it is compressed or the position is unknown.
func (a *messages) place(f wire.Frame, base, off int64) int64 {
	if off < 0 || f.Flags&wire.FlagCompressed != 0 {
		return base
	}
	return base + off
}

// inflate decompresses one message; an empty message is never compressed, whatever its
// flag. ok is false if it cannot be decompressed.
func (a *messages) inflate(f wire.Frame) (payload []byte, ok bool) {
	if f.Flags&wire.FlagCompressed == 0 {
		return f.Payload, true
	}
	violate := func(k wire.Kind, detail string) {
		a.x.violate(inFrame, wire.Violation{Kind: a.protocol.Kind(k), Off: f.Off, Detail: detail})
	}
	switch {
	case a.encoding == "":
		violate(wire.CompressedUnasked, "flag 0x01 without a declared "+a.field)
		return nil, false
	case len(f.Payload) == 0:
		return f.Payload, true
	case a.encoding != "gzip":
		said := first(a.x.rec.Response.Get(a.field)) // without secrets
		violate(wire.BadCompression, fmt.Sprintf("declared encoding %.64q was never offered", said))
		return nil, false
	}
	payload, err := a.gzip.decode(f.Payload, maxMessage)
	a.x.hideIn(payload, f.Payload, err)
	if errors.Is(err, errTooLarge) {
		a.x.leaveUnread(err.Error())
		return nil, false
	}
	if err != nil {
		violate(wire.BadCompression, err.Error())
		return nil, false
	}
	return payload, true
}

func (a *streamAnswer) endStream(f wire.Frame, payload []byte, frame int, at bundle.Stamp) {
	if len(payload) > maxDecoded {
		a.x.leaveUnread(fmt.Sprintf("it has an end-of-stream message of more than %d bytes", maxDecoded))
		return
	}
	end, violations := wire.DecodeEndStream(payload)
	for _, v := range violations {
		v.Off = a.place(f, f.Off+wire.HeaderSize, v.Off)
		a.x.violate(inFrame, v)
	}
	if a.x.rec.EndStream != nil {
		return // a second one has a violation of its own
	}
	metadata, size := a.x.recorder.redact.metadata(end.Metadata), 0
	for name, values := range metadata {
		for _, v := range values {
			size += fieldSize(name, v)
		}
	}
	if size > maxHeads || !a.x.keep(size) {
		a.x.leaveUnread(fmt.Sprintf("its trailing metadata takes more than %d bytes", maxHeads))
		return
	}
	a.x.rec.EndStream = &bundle.EndStream{At: at, Frame: frame, Metadata: metadata}
	a.x.rec.Error = a.x.rpcError(end.Error)
}

// linkEvent records an event and points its frame to it.
func (x *Exchange) linkEvent(e envd.Event, frame int, at bundle.Stamp) {
	before := len(x.rec.Events)
	x.addEvent(e, frame, at)
	if frame >= 0 && len(x.rec.Events) > before {
		x.frame(frame).Event = before
	}
}

// rpcError returns the record of an error, without secrets.
func (x *Exchange) rpcError(e *wire.Error) *bundle.RPCError {
	if e == nil {
		return nil
	}
	out := &bundle.RPCError{Code: x.text(e.Code), Message: x.text(e.Message)}
	for _, d := range e.Details {
		detail := bundle.ErrorDetail{Type: x.text(d.Type), Value: x.recorder.redact.Text(d.Value)}
		if !x.keep(fieldSize(detail.Type, detail.Value)) {
			break
		}
		out.Details = append(out.Details, detail)
	}
	return out
}
