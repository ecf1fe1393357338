package engine

import (
	"context"
	"fmt"
	"slices"

	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/scenarios"
)

// The ways in which a script can end a connection.
const (
	closeFIN    = "fin"
	closeRST    = "rst"
	closeHalf   = "half"
	closeSilent = "silent"
	closeCancel = "cancel" // only for an exchange
)

// prepareOpen opens the connection when the action fires, since the step is about
// opening. A refused connection makes the remaining steps pointless.
func (it *iteration) prepareOpen(o *scenarios.Open) (action, error) {
	http, err := it.in.openVersion(o.HTTP)
	if err != nil {
		return action{}, err
	}
	return fires(func(ctx context.Context) error {
		conn, err := it.in.open(ctx, it.rec, o.As, opening{http: http, raw: o.Raw})
		if err != nil {
			it.rec.Failed(transport.Call{Name: o.As, Step: stepOf(ctx), Op: bundle.OpRaw, Shape: bundle.ShapePlain}, failedConn(err), err)
			it.put(&handle{name: o.As})
			if err := interrupted(ctx); err != nil {
				return err
			}
			return errUnconnected
		}
		it.put(&handle{name: o.As, conn: conn})
		return nil
	})
}

// openVersion returns the version of HTTP that an open step requests.
func (in *instance) openVersion(word string) (string, error) {
	switch word {
	case "":
		return in.axes.HTTP, nil
	case "h2":
		if in.form().HTTP2() {
			return in.axes.HTTP, nil
		}
		return in.http2(), nil
	case transport.HTTP1, transport.H2C, transport.H2TLS:
		return word, nil
	}
	return "", fmt.Errorf("open http %q is not one of 1.1, h2", word)
}

// prepareClose ends a connection, or with cancel an exchange. Except for half, the
// script thereby ends the exchanges under way, and they are recorded as such.
func (it *iteration) prepareClose(c *scenarios.Close) (action, error) {
	if !slices.Contains([]string{closeFIN, closeRST, closeHalf, closeSilent, closeCancel}, c.How) {
		return action{}, fmt.Errorf("close %q is not one of fin, rst, half, silent, cancel", c.How)
	}
	h, err := it.connection(c.On)
	if err != nil {
		return action{}, err
	}
	if c.How == closeCancel && h.x == nil {
		return action{}, fmt.Errorf("%q is a connection, and only an exchange can be cancelled", c.On)
	}
	return fires(func(ctx context.Context) error {
		switch c.How {
		case closeHalf:
			it.halfClose(ctx, h)
		case closeCancel:
			h.cancel(ctx)
		default:
			it.abortOn(h.conn)
			h.conn.Close(c.How)
		}
		return nil
	})
}

// abortOn marks every exchange under way on a connection as ended by the script.
func (it *iteration) abortOn(conn *transport.Conn) {
	for _, h := range it.all() {
		if h.conn == conn && h.x != nil && !returned(h.x) {
			h.x.Abort()
		}
	}
}

// prepareRead controls the reading of a connection; stop is a pause that the script
// does not end.
func (it *iteration) prepareRead(r *scenarios.Read) (action, error) {
	h, err := it.connection(r.On)
	if err != nil {
		return action{}, err
	}
	return fires(func(context.Context) error {
		switch r.Mode {
		case "pause":
			it.notePause(h.conn, true)
			h.conn.Pause()
		case "stop":
			it.notePause(h.conn, false)
			h.conn.Pause()
		case "resume":
			it.notePause(h.conn, false)
			h.conn.Resume()
		case "", "rate":
			h.conn.Rate(r.Rate)
		default:
			return fmt.Errorf("read mode %q is not one of pause, resume, stop", r.Mode)
		}
		return nil
	})
}

// notePause records whether reading of a connection is paused, so that it can be
// resumed later.
func (it *iteration) notePause(conn *transport.Conn, paused bool) {
	it.mu.Lock()
	defer it.mu.Unlock()
	it.paused[conn] = paused
}

func (it *iteration) isPaused(conn *transport.Conn) bool {
	it.mu.Lock()
	defer it.mu.Unlock()
	return it.paused[conn]
}

// resume resumes the reading that the steps had paused when they stopped, and gives the
// exchanges a moment to end by themselves.
func (it *iteration) resume(ctx context.Context) {
	var held []*handle
	for _, h := range it.all() {
		if h.underWay() != nil && it.isPaused(h.conn) {
			held = append(held, h)
			h.conn.Resume()
		}
	}
	if len(held) == 0 {
		return
	}
	short, cancel := it.in.aside(ctx, it.in.resumeBound(), afterInterrupt/6)
	defer cancel()
	for _, h := range held {
		_ = waitFor(short, it.onAnswer(h, bundle.Wait{}, returned), lasting(it.in.readOn())) // the exchange ends now in any case
	}
}
