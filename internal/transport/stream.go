package transport

import (
	"fmt"
	"mime"
	"strings"

	"assay/internal/bundle"
	"assay/internal/envd"
	"assay/internal/wire"
)

const streamType = "application/connect+"

// choose picks how the body is decoded: by the shape that was asked for, unless
// the head says that the answer is something else (an error of a proxy, 415, 401 …).
func (x *Exchange) choose(headers []bundle.Header) answer {
	r := &bundle.Response{Headers: headers}
	kind := mediaType(r)
	switch {
	case x.rec.Shape == bundle.ShapeStream && x.rec.Response.Status == 200 && strings.HasPrefix(kind, streamType):
		codec := x.rec.Codec
		if c := strings.TrimPrefix(kind, streamType); c == "json" || c == "proto" {
			codec = c // what it says it is; whether it may be is for the judge
		}
		return newStreamAnswer(x, codec, first(r.Get("Connect-Content-Encoding")))
	case x.rec.Shape == bundle.ShapeNDJSON && x.rec.Response.Status == 200:
		return newLineAnswer(x, first(r.Get("Content-Encoding")))
	}
	return newBodyAnswer(x, kind, first(r.Get("Content-Encoding")))
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

// streamAnswer decodes Connect envelopes.
type streamAnswer struct {
	x        *Exchange
	codec    string
	encoding string // Connect-Content-Encoding, "" for identity
	events   bool
	dec      wire.EnvelopeDecoder
	gzip     gunzipper
}

func newStreamAnswer(x *Exchange, codec, encoding string) *streamAnswer {
	if encoding == "identity" {
		encoding = ""
	}
	a := &streamAnswer{x: x, codec: codec, encoding: encoding, events: carriesEvents(x.rec.RPC)}
	a.dec.OnFrame = a.frame
	a.dec.OnViolation = func(v wire.Violation) { x.violate(inFrame, v) }
	return a
}

func (a *streamAnswer) feed(p []byte, _ bundle.Stamp) { a.dec.Feed(p) }
func (a *streamAnswer) close()                        { a.dec.Close() }

// frame records one envelope and what it holds.
func (a *streamAnswer) frame(f wire.Frame) {
	at := a.x.recorder.clock.Stamp()
	rec := bundle.Frame{Flags: f.Flags, Off: f.Off, Len: int64(len(f.Payload)), At: at}
	payload, ok := a.inflate(f)
	if !ok {
		a.x.addFrame(rec, f.Payload, true)
		return
	}
	if f.Flags&wire.FlagEndStream != 0 {
		a.endStream(f, payload, a.x.addFrame(rec, payload, true), at)
		return
	}
	special := f.Flags&^wire.FlagCompressed != 0
	if !a.events {
		a.x.addFrame(rec, payload, special)
		return
	}
	event, problems := envd.DecodeEvent(a.codec, payload)
	special = special || isSpecial(bundle.EventKind(event.Kind)) || len(problems) > 0
	a.x.linkEvent(event, a.x.addFrame(rec, payload, special), at)
	base := f.Off + wire.HeaderSize
	for _, p := range problems {
		a.x.violate(inEvent, wire.Violation{Kind: wire.Kind(p.Kind), Off: a.place(f, base, p.Off), Detail: p.Detail})
	}
}

// place is the body offset of something inside a payload: the payload itself
// when it was compressed or the place is not known.
func (a *streamAnswer) place(f wire.Frame, base, off int64) int64 {
	if off < 0 || f.Flags&wire.FlagCompressed != 0 {
		return base
	}
	return base + off
}

// inflate removes the compression of one message; an empty one is never
// compressed, whatever its flag. ok is false when it could not be read.
func (a *streamAnswer) inflate(f wire.Frame) (payload []byte, ok bool) {
	if f.Flags&wire.FlagCompressed == 0 {
		return f.Payload, true
	}
	switch {
	case a.encoding == "":
		a.x.violate(inFrame, wire.Violation{Kind: wire.CompressedUnasked, Off: f.Off,
			Detail: "flag 0x01 without a declared Connect-Content-Encoding"})
		return nil, false
	case len(f.Payload) == 0:
		return f.Payload, true
	case a.encoding != "gzip":
		a.x.violate(inFrame, wire.Violation{Kind: wire.BadCompression, Off: f.Off,
			Detail: fmt.Sprintf("declared encoding %.64q was never offered", a.encoding)})
		return nil, false
	}
	payload, err := a.gzip.decode(f.Payload, wire.DefaultLimit)
	if err != nil {
		a.x.violate(inFrame, wire.Violation{Kind: wire.BadCompression, Off: f.Off, Detail: err.Error()})
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
