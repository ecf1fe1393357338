package transport

import (
	"strings"

	"assay/internal/envd"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// newCellAnswer decodes the lines of the code interpreter. Its last line need not end with a newline.
func newCellAnswer(x *Exchange, encoding string) *lineAnswer {
	a := newLineAnswer(x, encoding)
	a.dec.OnLine = a.cell
	a.dec.OnViolation = func(v wire.Violation) {
		kind := map[wire.Kind]envd.Kind{
			wire.LineJSON: envd.CellJSON, wire.LineOverLimit: envd.CellJSON, wire.LineEmpty: envd.CellEmpty, wire.LineUTF8: envd.CellUTF8,
		}[v.Kind]
		if kind == "" {
			return
		}
		v.Kind = wire.Kind(kind)
		x.violate(inFrame, v)
	}
	return a
}

// cell records one line. A short one is kept whole, so that its members can be judged.
func (a *lineAnswer) cell(l wire.Line) {
	at := a.x.recorder.clock.Stamp()
	event, problems := envd.DecodeCell(l.Data)
	kind := bundle.EventKind(event.Kind)
	if kind == bundle.EventKeepAlive {
		a.x.pings += int64(len(l.Data)) + 1 // its newline
	}
	frame := a.x.addMessage(bundle.Frame{Off: l.Off, Len: int64(len(l.Data)), At: at}, l.Data, isSpecial(kind) || len(problems) > 0)
	a.x.linkEvent(event, frame, at)
	for _, p := range problems {
		a.x.violate(inEvent, wire.Violation{Kind: wire.Kind(p.Kind), Off: l.Off + max(0, p.Off), Detail: strings.ToValidUTF8(p.Detail, "")})
	}
}
