package attach

import (
	"context"
	"slices"
	"strings"
	"time"
)

// dispatcher reacts to all that happens on one link.
type dispatcher struct {
	*session
	ctx      context.Context
	link     link
	controls chan<- func() error

	later   <-chan time.Time // when the remarks are due
	remarks []string
	quiet   <-chan time.Time // when stdin has been over for a while
	shown   int64            // pieces of output when stdin ended
	noEnd   bool             // the gateway has refused to end stdin
}

func (d *dispatcher) loop(arrivals <-chan arrival) verdict {
	left, lost := (<-chan struct{})(nil), (<-chan struct{})(nil)
	if d.keys != nil {
		left, lost = d.keys.left, d.keys.lost
	}
	for {
		select {
		case a := <-arrivals:
			if v, over := d.arrived(a); over {
				return v
			}
		case <-left:
			return verdict{left: true}
		case <-lost:
			d.note("input was dropped: the command takes none")
		case sig := <-d.o.Local.Signals:
			if v, over := d.signalled(sig); over {
				return v
			}
		case <-d.o.Local.Resized:
			d.resize()
		case <-d.later:
			d.tell()
		case <-d.quiet:
			d.quiet = nil
			if d.pieces.Load() != d.shown {
				continue // it does what it wants to do
			}
			d.note("stdin has ended; the command still runs. Not every gateway can tell it that stdin has ended")
		case <-d.ctx.Done():
			return verdict{left: true, err: d.ctx.Err()}
		}
	}
}

func (d *dispatcher) arrived(a arrival) (v verdict, over bool) {
	switch {
	case a.lost != nil:
		return verdict{lost: a.lost}, true
	case a.gone != nil:
		return verdict{err: &OutputError{a.gone}}, true
	case a.event.kind == eventExit:
		return verdict{code: a.event.code}, true
	case a.event.kind == eventRefusal && strings.Contains(a.event.text, "eof"):
		d.quiet, d.noEnd = nil, true
		d.remark(noEnd(a.event.text))
	case a.event.kind == eventRefusal:
		d.remark("the gateway: " + oneLine(a.event.text))
	case a.eof && d.route.socket && !d.noEnd:
		d.quiet, d.shown = d.o.Clock.After(stillWaits), d.pieces.Load()
	case a.later != "":
		d.remark(a.later)
	}
	return verdict{}, false
}

// remark tells a sentence in a moment, unless the command ends.
func (d *dispatcher) remark(text string) {
	if d.later == nil {
		d.later = d.o.Clock.After(afterthought)
	}
	if len(d.remarks) < mostRemarks && !slices.Contains(d.remarks, text) {
		d.remarks = append(d.remarks, text)
	}
}

// tell tells the remarks that are due. One that was the last already is not repeated.
func (d *dispatcher) tell() {
	for _, text := range d.remarks {
		if text != d.said {
			d.said = text
			d.note("%s", text)
		}
	}
	d.later, d.remarks = nil, nil
}

// signalled sends a signal on. The third in a row leaves, and so does the hangup of the local terminal.
func (d *dispatcher) signalled(sig Signal) (v verdict, over bool) {
	now := d.o.Clock.Now()
	if now.Sub(d.signal) > inARow {
		d.signals = 0
	}
	d.signals++
	d.signal = now
	hangup := sig.Name == "SIGHUP" && d.o.Local.Typed
	if d.signals >= insistent || hangup && d.o.Session != "" {
		return verdict{left: true, code: codeOfSignal + sig.Number}, true
	}
	if d.o.Role == RoleViewer {
		d.note("a viewer sends no signals: %d more leave", insistent-d.signals)
		return verdict{}, false
	}
	if !d.control(func() error { return d.link.signal(d.ctx, sig) }) {
		d.note("the gateway takes nothing; a further signal leaves")
	}
	if hangup {
		return verdict{left: true, code: codeOfSignal + sig.Number}, true
	}
	return verdict{}, false
}

// resize sends the size of the terminal.
func (d *dispatcher) resize() {
	size := d.size()
	if size.Cols <= 0 || size.Rows <= 0 {
		return
	}
	d.o.Record.Resized(size)
	if d.o.Role != RoleViewer {
		d.control(func() error { return d.link.resize(d.ctx, size) })
	}
}

// control sends in the background. It returns false if too much waits.
func (d *dispatcher) control(send func() error) bool {
	select {
	case d.controls <- send:
		return true
	default:
		return false
	}
}
