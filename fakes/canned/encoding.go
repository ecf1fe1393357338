package canned

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"

	"assay/internal/wire"
	"assay/internal/wire/h2"
)

// unit is one encoded event: body is the event, chunk the same as an HTTP/1.1 chunk. They
// share memory.
type unit struct{ chunk, body []byte }

func newUnit(body []byte) unit {
	head := strconv.AppendInt(nil, int64(len(body)), 16)
	chunk := append(append(append(head, '\r', '\n'), body...), '\r', '\n')
	return unit{chunk: chunk, body: chunk[len(head)+2 : len(chunk)-2]}
}

// raw returns the bytes of the unit on an HTTP/1.1 connection, which has chunks unless it
// has switched protocols.
func (e *encoding) raw(u unit) []byte {
	if e.dialect.protocol == stdio {
		return u.body
	}
	return u.chunk
}

// lastChunk ends a chunked body without trailers.
const lastChunk = "0\r\n\r\n"

// maxKept limits how many encoded events of an endless stream are kept.
const maxKept = 4096

// encoding is a script in a dialect. It belongs to one loop.
type encoding struct {
	dialect dialect
	script  *script

	head1    []byte // HTTP/1.1: the head of the response; of stdio without the accept
	head2    []byte // HTTP/2: its header block
	trailers []byte // HTTP/2: the header block of its trailers, if any
	start    unit
	pidAt    int // the offset of the pid in start.body
	data     []unit
	end      unit
	killed   unit
	tail     unit // its body is nil if the end event is the last
}

func newEncoding(d dialect, s *script) (*encoding, error) {
	e := &encoding{dialect: d, script: s}
	e.head1 = []byte("HTTP/1.1 200 OK\r\nContent-Type: " + d.contentType() + "\r\nTransfer-Encoding: chunked\r\n\r\n")
	e.head2 = h2.EncodeFields(wire.Field{Name: ":status", Value: "200"}, wire.Field{Name: "content-type", Value: d.contentType()})
	if d.protocol == grpc {
		e.trailers = h2.EncodeFields(wire.Field{Name: "grpc-status", Value: "0"})
	}
	if d.protocol == stdio {
		e.head1 = []byte(switching)
	}
	start, err := d.start()
	if err != nil {
		return nil, err
	}
	e.start = newUnit(start)
	pid := d.pid(firstPID)
	if e.pidAt = bytes.LastIndex(start, pid); e.pidAt < 0 && d.protocol != stdio {
		return nil, fmt.Errorf("no pid in the start event %q", start)
	}
	end, err := d.end(s.file.ExitCode, false)
	if err != nil {
		return nil, err
	}
	killed, err := d.end(-1, true)
	if err != nil {
		return nil, err
	}
	e.end, e.killed = newUnit(end), newUnit(killed)
	if tail := d.tail(); tail != nil {
		e.tail = newUnit(tail)
	}
	for k := range s.steps {
		if _, err := e.event(k); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// pid encodes a pid as a start event does.
func (d dialect) pid(pid uint32) []byte {
	if d.proto {
		return binary.AppendUvarint(nil, uint64(pid))
	}
	return strconv.AppendUint(nil, uint64(pid), 10)
}

// event returns data event k, which must exist.
func (e *encoding) event(k int) (unit, error) {
	if k < len(e.data) {
		return e.data[k], nil
	}
	st, ok := e.script.at(k)
	if !ok {
		return unit{}, fmt.Errorf("there is no event %d", k)
	}
	body, err := e.dialect.data(st.appendData(nil))
	if err != nil {
		return unit{}, err
	}
	u := newUnit(body)
	if k == len(e.data) && k < len(e.script.steps)+maxKept {
		e.data = append(e.data, u)
	}
	return u, nil
}

// appendStart appends the start event of a pid, optionally as a chunk.
func (e *encoding) appendStart(dst []byte, pid uint32, chunk bool) []byte {
	at := len(dst) + e.pidAt
	if chunk {
		at += len(e.start.chunk) - len(e.start.body) - 2
		dst = append(dst, e.start.chunk...)
	} else {
		dst = append(dst, e.start.body...)
	}
	if e.dialect.proto {
		binary.PutUvarint(dst[at:], uint64(pid))
		return dst
	}
	strconv.AppendUint(dst[:at], uint64(pid), 10)
	return dst
}
