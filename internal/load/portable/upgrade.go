package portable

import (
	"io"
	"maps"
	"net/http"

	"assay/internal/load"
	"assay/internal/load/account"
)

// outgoing is the bytes that an exchange writes after its response has switched protocols.
// A goroutine writes them, so that a peer that does not read blocks nobody.
type outgoing struct {
	to      io.Writer
	bytes   []byte
	writing bool
}

// Write sends bytes on the connection of an exchange whose response has switched protocols.
func (d *driver) Write(i int32, _ *account.Stream, p []byte, skip bool) {
	x := d.exchanges[i]
	if x == nil || x.out.to == nil || skip && len(x.out.bytes) > account.PongRoom {
		return
	}
	x.out.bytes = append(x.out.bytes, p...)
	if !x.out.writing {
		x.out.writing = true
		d.spawn(func() { d.write(x) })
	}
}

// write writes the outgoing bytes of an exchange. An error shows when the driver reads.
func (d *driver) write(x *exchange) {
	for {
		d.mu.Lock()
		p := x.out.bytes
		x.out.bytes = nil
		if x.over || len(p) == 0 {
			x.out.writing = false
			d.mu.Unlock()
			return
		}
		d.mu.Unlock()
		_, _ = x.out.to.Write(p)
	}
}

// withKey sets the Sec-WebSocket-Key of a request.
func withKey(r *http.Request, key string) {
	r.Header = maps.Clone(r.Header)
	r.Header.Set("Sec-WebSocket-Key", key)
}

// switched reports the bytes of a connection that has switched protocols, until it ends.
func (d *driver) switched(x *exchange, c *conn, resp *http.Response) {
	d.mu.Lock()
	if !x.over {
		d.streams.Reading(d.now())
		x.s.Heard()
		x.out.to, _ = resp.Body.(io.Writer)
		d.streams.Head(x.i, x.s, resp.StatusCode, load.Fields(resp.Header))
	}
	d.unlock()
	buf := d.buffer()
	defer d.bodies.Put(buf)
	for {
		n, err := resp.Body.Read(buf[:])
		d.mu.Lock()
		if n > 0 && !x.over {
			d.streams.Reading(d.now())
			d.streams.Body(x.i, x.s, buf[:n])
			d.streams.EndRead(false)
		}
		if err == nil {
			d.unlock()
			continue
		}
		c.end()
		c.close()
		if !x.over {
			d.fail(x, c.failure(err))
		}
		d.serveH1()
		d.unlock()
		return
	}
}
