package engine

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"assay/internal/bundle"
	"assay/internal/transport"
	"assay/scenarios"
)

// How a script ends a connection.
const (
	closeFIN    = "fin"
	closeRST    = "rst"
	closeHalf   = "half"
	closeSilent = "silent"
)

// rawRPC is the request type of messages in raw writes, where no RPC is named.
const rawRPC = "process.Process/Start"

// prepareOpen opens a connection when it fires: that is what the step is about.
// One that is refused leaves the rest of the steps without meaning.
func (it *iteration) prepareOpen(o *scenarios.Open) (action, error) {
	return fires(func(ctx context.Context) error {
		conn, err := transport.Dial(ctx, it.rec, o.As, it.in.target.Addr())
		if err != nil {
			it.rec.Failed(transport.Call{Name: o.As, Step: stepOf(ctx), Op: "raw", Shape: bundle.ShapePlain}, failedConn(err), err)
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

// prepareWrite renders the bytes of a raw write.
func (it *iteration) prepareWrite(ctx context.Context, st *scenarios.Step) (action, error) {
	w := st.Write
	h, err := it.connection(w.To)
	if err != nil {
		return action{}, err
	}
	body, err := rendering{it: it, rpc: rawRPC}.segments(ctx, w.Of)
	if err != nil {
		return action{}, err
	}
	pieces := cut(body.wire, w.Split)
	if bytes.Contains(body.wire, []byte(rpcConnect)) {
		it.mu.Lock()
		it.attached[h.conn.ID()] = true
		it.mu.Unlock()
	}
	var split scenarios.Split
	if w.Split != nil {
		split = *w.Split
	}
	return fires(func(ctx context.Context) error {
		if w.Shape != "" {
			h.conn.SetShape(bundle.Shape(w.Shape), it.in.axes.Codec)
		}
		return it.writeAll(ctx, h.conn, pieces, split.Pause.Resolve(it.in.cal))
	})
}

// prepareClose ends a connection. Except for half, what is under way on it is
// ended by the script and recorded as that.
func (it *iteration) prepareClose(c *scenarios.Close) (action, error) {
	if !slices.Contains([]string{closeFIN, closeRST, closeHalf, closeSilent}, c.How) {
		return action{}, fmt.Errorf("close %q is not one of fin, rst, half, silent", c.How)
	}
	h, err := it.connection(c.On)
	if err != nil {
		return action{}, err
	}
	return fires(func(context.Context) error {
		if c.How != closeHalf {
			it.abortOn(h.conn)
		}
		h.conn.Close(c.How)
		return nil
	})
}

// abortOn marks every exchange that is under way on a connection as ended by the script.
func (it *iteration) abortOn(conn *transport.Conn) {
	for _, h := range it.all() {
		if h.conn == conn && h.x != nil && !returned(h.x) {
			h.x.Abort()
		}
	}
}

// prepareRead steers the reading of a connection; stop is a pause that the script does not end.
func (it *iteration) prepareRead(r *scenarios.Read) (action, error) {
	h, err := it.connection(r.On)
	if err != nil {
		return action{}, err
	}
	return fires(func(context.Context) error {
		switch r.Mode {
		case "pause", "stop":
			h.conn.Pause()
		case "resume":
			h.conn.Resume()
		case "", "rate":
			h.conn.Rate(r.Rate)
		default:
			return fmt.Errorf("read mode %q is not one of pause, resume, stop", r.Mode)
		}
		return nil
	})
}
