package transport

import (
	"errors"
	"fmt"

	"assay/internal/envd"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// bodyAnswer stores a body without envelopes, and decodes an RPC error from it where
// one is allowed.
type bodyAnswer struct {
	x        *Exchange
	kind     string // media type
	encoding string
}

func newBodyAnswer(x *Exchange, kind, encoding string) *bodyAnswer {
	x.body = newStore(dataLimit, x.recorder.redact, x.keep)
	return &bodyAnswer{x: x, kind: kind, encoding: encoding}
}

func (a *bodyAnswer) feed(p []byte, at bundle.Stamp) { a.x.body.add(p, at) }

func (a *bodyAnswer) close() {
	x := a.x
	if a.encoding == "gzip" && x.body.n > 0 {
		plain, ok := x.gunzip(x.body)
		if !ok {
			return
		}
		x.plain, x.decoded = plain, true
	}
	a.readError()
	if !x.speaksConnect() {
		x.strayStatus()
	}
}

// readError decodes the error of a response other than 200. Violations are reported only
// for a unary Connect RPC: for any other such response a client uses the status alone.
func (a *bodyAnswer) readError() {
	x := a.x
	if x.rec.Shape == bundle.ShapePlain || x.rec.Response.Status == 200 {
		return
	}
	body := x.body.kept
	if x.decoded {
		body = x.plain
	}
	if len(body) > maxDecoded || x.body.digest != nil {
		x.leaveUnread(fmt.Sprintf("an error of more than %d bytes", maxDecoded))
		return
	}
	e, violations := wire.DecodeError(body)
	if a.kind != "application/json" {
		// A valid error under a wrong type is kept, so that the type can be judged.
		if e == nil || len(violations) > 0 {
			return
		}
	}
	if x.rec.Shape == bundle.ShapeUnary && x.rec.RPC != "" && x.speaksConnect() {
		for _, v := range violations {
			x.violate(inBody, v)
		}
	} else if e != nil {
		if _, ok := wire.CodeByName(e.Code); !ok {
			return
		}
	}
	x.rec.Error = x.rpcError(e)
}

// gunzip decompresses a complete body. If it cannot, it records why and returns false.
func (x *Exchange) gunzip(s *store) (plain []byte, ok bool) {
	err := errTooLarge
	if s.digest == nil {
		g := gunzipper{take: x.work}
		plain, err = g.decode(s.kept, dataLimit)
	}
	switch {
	case err == nil:
		return plain, x.keep(len(plain)) // beyond the end of the decoder
	case errors.Is(err, errTooLarge):
		x.leaveUnread(err.Error())
	default:
		x.violate(inBody, wire.Violation{Kind: wire.BadCompression, Detail: err.Error()})
	}
	return nil, false
}

// lineAnswer decodes NDJSON. A compressed body is decoded when it is complete.
type lineAnswer struct {
	x      *Exchange
	packed *store // the compressed body, nil without Content-Encoding
	dec    wire.LineDecoder
}

func newLineAnswer(x *Exchange, encoding string) *lineAnswer {
	a := &lineAnswer{x: x}
	if encoding == "gzip" {
		a.packed = newStore(dataLimit, x.recorder.redact, x.keep)
	}
	a.dec.Reserve = x.reserve
	a.dec.OnLine = a.line
	a.dec.OnViolation = func(v wire.Violation) { x.violate(inFrame, v) }
	return a
}

func (a *lineAnswer) feed(p []byte, at bundle.Stamp) {
	if a.packed != nil {
		a.packed.add(p, at)
		return
	}
	a.dec.Feed(p)
}

func (a *lineAnswer) close() {
	if a.packed != nil {
		plain, ok := a.x.gunzip(a.packed)
		if !ok {
			return
		}
		a.dec.Feed(plain)
	}
	a.dec.Close()
}

func (a *lineAnswer) line(l wire.Line) {
	at := a.x.recorder.clock.Stamp()
	event, problems := envd.DecodeLine(l.Data)
	special := isSpecial(bundle.EventKind(event.Kind)) || len(problems) > 0
	if event.Kind == envd.KindKeepAlive {
		a.x.pings += int64(len(l.Data)) + 1 // its newline
	}
	frame := a.x.addFrame(bundle.Frame{Off: l.Off, Len: int64(len(l.Data)), At: at}, l.Data, special)
	a.x.linkEvent(event, frame, at)
	for _, p := range problems {
		a.x.violate(inEvent, wire.Violation{Kind: wire.Kind(p.Kind), Off: l.Off + max(0, p.Off), Detail: p.Detail})
	}
}
