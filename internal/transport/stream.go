package transport

import (
	"fmt"
	"mime"
	"strings"

	"assay/internal/bundle"
	"assay/internal/envd"
	"assay/internal/envd/call"
	"assay/internal/wire"
)

// choose picks how the body is decoded: by protocol and shape that were asked for,
// unless the head says that the answer is something else (an error of a proxy, 415, 401 …).
func (x *Exchange) choose(headers []bundle.Header) answer {
	r := &bundle.Response{Headers: headers}
	kind := mediaType(r)
	rpc := (x.rec.Shape == bundle.ShapeStream || x.rec.Shape == bundle.ShapeUnary) && x.rec.Response.Status == 200
	protocol, _ := wire.ProtocolByName(x.rec.Protocol)
	switch {
	case protocol != wire.Connect && rpc && isGRPC(protocol, kind):
		return newGRPCAnswer(x, protocol, kind, r)
	case protocol != wire.Connect:
	case x.rec.Shape == bundle.ShapeStream && rpc && strings.HasPrefix(kind, call.StreamType):
		return newStreamAnswer(x, codecOf(kind[len(call.StreamType):], x.rec.Codec), first(r.Get("Connect-Content-Encoding")))
	case x.rec.Shape == bundle.ShapeNDJSON && x.rec.Response.Status == 200:
		return newLineAnswer(x, first(r.Get("Content-Encoding")))
	}
	return newBodyAnswer(x, kind, first(r.Get("Content-Encoding")))
}

// codecOf is what an answer says its codec is, whether it may be or not, or the
// one that was asked for where it names none that we know.
func codecOf(said, asked string) string {
	if said == call.JSON || said == call.Proto {
		return said
	}
	return asked
}

// mediaType is the Content-Type without parameters, in lower case.
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

// messages decodes the enveloped messages of an answer, whatever the protocol.
type messages struct {
	x        *Exchange
	protocol wire.Protocol
	codec    string
	encoding string // that is declared for messages, "" for identity
	field    string // where it is declared
	events   bool
	dec      wire.EnvelopeDecoder
	gzip     gunzipper
}

// newMessages makes the decoder; what to do with a frame is for the caller to set.
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

func (a *messages) feed(p []byte, _ bundle.Stamp) { a.dec.Feed(p) }

// streamAnswer decodes a Connect stream.
type streamAnswer struct{ messages }

func newStreamAnswer(x *Exchange, codec, encoding string) *streamAnswer {
	a := &streamAnswer{newMessages(x, wire.Connect, codec, "Connect-Content-Encoding", encoding)}
	a.dec.OnFrame = a.frame
	return a
}

func (a *streamAnswer) close() { a.dec.Close() }

// frame records one envelope and what it holds.
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

// open begins the record of an envelope and gives its payload without
// compression. What cannot be read is recorded as it is; ok is false then.
func (a *messages) open(f wire.Frame) (rec bundle.Frame, payload []byte, ok bool) {
	rec = bundle.Frame{Flags: f.Flags, Off: f.Off, Len: int64(len(f.Payload)), At: a.x.recorder.clock.Stamp()}
	payload, ok = a.inflate(f)
	if !ok {
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

// carriesEvents reports whether the stream answer of an RPC holds process events. The
// answer on a raw connection, which has no RPC, is taken to hold them.
func carriesEvents(rpc string) bool {
	return rpc == "" || rpc == call.ProcessStart || rpc == call.ProcessConnect
}

// place is the body offset of something inside a payload: the payload itself
// when it was compressed or the place is not known.
func (a *messages) place(f wire.Frame, base, off int64) int64 {
	if off < 0 || f.Flags&wire.FlagCompressed != 0 {
		return base
	}
	return base + off
}

// inflate removes the compression of one message; an empty one is never
// compressed, whatever its flag. ok is false when it could not be read.
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
		violate(wire.BadCompression, fmt.Sprintf("declared encoding %.64q was never offered", a.encoding))
		return nil, false
	}
	payload, err := a.gzip.decode(f.Payload, wire.DefaultLimit)
	if err != nil {
		violate(wire.BadCompression, err.Error())
		return nil, false
	}
	return payload, true
}

func (a *streamAnswer) endStream(f wire.Frame, payload []byte, frame int, at bundle.Stamp) {
	end, violations := wire.DecodeEndStream(payload)
	for _, v := range violations {
		v.Off = a.place(f, f.Off+wire.HeaderSize, v.Off)
		a.x.violate(inFrame, v)
	}
	if a.x.rec.EndStream != nil {
		return // a second one is a violation of its own
	}
	redact := a.x.recorder.redact
	for _, values := range end.Metadata {
		for i := range values {
			values[i] = redact.text(values[i])
		}
	}
	a.x.rec.EndStream = &bundle.EndStream{At: at, Frame: frame, Metadata: end.Metadata}
	a.x.rec.Error = redact.rpcError(end.Error)
}

// linkEvent records an event and points its frame to it.
func (x *Exchange) linkEvent(e envd.Event, frame int, at bundle.Stamp) {
	before := len(x.rec.Events)
	x.addEvent(e, frame, at)
	if frame >= 0 && len(x.rec.Events) > before {
		x.rec.Frames[frame].Event = before
	}
}

// rpcError is the record of an error, without secrets.
func (r *redactor) rpcError(e *wire.Error) *bundle.RPCError {
	if e == nil {
		return nil
	}
	out := &bundle.RPCError{Code: r.text(e.Code), Message: r.text(e.Message)}
	for _, d := range e.Details {
		out.Details = append(out.Details, bundle.ErrorDetail{Type: r.text(d.Type), Value: r.text(d.Value)})
	}
	return out
}
