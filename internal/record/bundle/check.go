package bundle

import "fmt"

// check validates the numbers of an observation that was read back: lengths are not
// negative and match the bytes, and indices are inside their tables. Afterwards code may
// index without checks.
func (o *Observation) check() error {
	for i := range o.Iterations {
		it := &o.Iterations[i]
		for j := range it.Conns {
			if err := it.Conns[j].check(); err != nil {
				return fmt.Errorf("iterations[%d].conns[%d].%w", i, j, err)
			}
		}
		for j := range it.Exchanges {
			if err := it.Exchanges[j].check(); err != nil {
				return fmt.Errorf("iterations[%d].exchanges[%d].%w", i, j, err)
			}
		}
	}
	return nil
}

func (c *Conn) check() error {
	if err := c.Sent.check(); err != nil {
		return fmt.Errorf("sent%w", err)
	}
	if err := c.Received.check(); err != nil {
		return fmt.Errorf("received%w", err)
	}
	if err := checkChunks(c.Writes, c.Sent.Len); err != nil {
		return fmt.Errorf("writes%w", err)
	}
	if err := checkChunks(c.Reads, c.Received.Len); err != nil {
		return fmt.Errorf("reads%w", err)
	}
	return nil
}

func (e *Exchange) check() error {
	if err := e.Request.Body.check(); err != nil {
		return fmt.Errorf("request.body%w", err)
	}
	if err := e.Body.check(); err != nil {
		return fmt.Errorf("body%w", err)
	}
	for name, b := range e.Outputs {
		if err := b.check(); err != nil {
			return fmt.Errorf("outputs.%s%w", name, err)
		}
	}
	for i, f := range e.Frames {
		switch {
		case f.Len < 0 || f.Off < 0: // Head may be longer than Len: it is kept decompressed
			return fmt.Errorf("frames[%d]: length %d at offset %d", i, f.Len, f.Off)
		case f.Event < -1 || f.Event >= len(e.Events):
			return fmt.Errorf("frames[%d].event is %d, there are %d events", i, f.Event, len(e.Events))
		}
	}
	for i, ev := range e.Events {
		switch {
		case ev.Len < 0 || ev.Off < 0:
			return fmt.Errorf("events[%d]: length %d at offset %d", i, ev.Len, ev.Off)
		case ev.Frame < -1 || ev.Frame >= len(e.Frames):
			return fmt.Errorf("events[%d].frame is %d, there are %d frames", i, ev.Frame, len(e.Frames))
		}
	}
	if e.EndStream != nil && (e.EndStream.Frame < -1 || e.EndStream.Frame >= len(e.Frames)) {
		return fmt.Errorf("end_stream.frame is %d, there are %d frames", e.EndStream.Frame, len(e.Frames))
	}
	return nil
}

func (b *Blob) check() error {
	switch {
	case b == nil:
		return nil
	case b.Len < 0:
		return fmt.Errorf(".len is %d", b.Len)
	case len(b.Data) > 0 && int64(len(b.Data)) != b.Len:
		return fmt.Errorf(".len is %d, but %d bytes are there", b.Len, len(b.Data))
	case int64(len(b.Head)) > b.Len || int64(len(b.Tail)) > b.Len:
		return fmt.Errorf(".len is %d, but head and tail have %d and %d bytes", b.Len, len(b.Head), len(b.Tail))
	}
	return checkChunks(b.Chunks, b.Len)
}

func checkChunks(chunks []Chunk, total int64) error {
	for i, c := range chunks {
		if c.Off < 0 || c.Len < 0 || c.Off > total || int64(c.Len) > total-c.Off {
			return fmt.Errorf("[%d]: %d bytes at offset %d, of %d in all", i, c.Len, c.Off, total)
		}
	}
	return nil
}
