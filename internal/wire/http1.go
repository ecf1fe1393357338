package wire

// Field is one header or trailer line.
type Field struct{ Name, Value string }

// The framings of a response's body (RFC 9112, section 6.3).
const (
	FramingChunked = "chunked" // Transfer-Encoding
	FramingLength  = "length"  // Content-Length
	FramingClose   = "close"   // until the connection ends
	FramingNone    = "none"    // 1xx, 204, 304, and the answer to HEAD
)

// DefaultHeadLimit is the longest head a decoder accepts when not told otherwise: 64 KiB.
const DefaultHeadLimit = 64 << 10

// chunkLineLimit is the longest chunk-size line with its extensions. RFC 9112,
// section 7.1.1, asks recipients for a limit and leaves its size open.
const chunkLineLimit = 4 << 10

// Head is the head of an HTTP/1.1 response.
type Head struct {
	Proto   string // "HTTP/1.1"
	Status  int
	Reason  string
	Fields  []Field
	Framing string // chunked, length, close, none
	Length  int64  // with framing length
	Off     int64  // of the status line in the connection's bytes
}

// ResponseDecoder is an incremental, strict decoder of a sequence of HTTP/1.1
// responses on one connection (RFC 9112). The zero value is ready.
//
// A malformed line is reported, and read as leniently as its meaning stays
// clear: a bare newline ends a line, a field without a colon is left out. Where
// the framing is lost (no status line, a head over the limit, a broken chunk,
// bytes that nobody asked for) the rest is counted and not decoded, and OnEnd
// is not called any more.
type ResponseDecoder struct {
	// HeadLimit is the longest head that is accepted, in bytes; 0 means
	// DefaultHeadLimit. It also bounds the trailers.
	HeadLimit int
	// Method returns the method of the request that the next final response
	// answers ("" when none is waiting: what comes then is HTTPExtra). nil means POST always.
	// It is asked at the first byte of every head, also of 1xx.
	Method func() string
	// OnHead is called for each head, also for 1xx (which have no body).
	OnHead func(Head)
	// OnBody is called with entity bytes (chunked framing removed); valid during the call.
	OnBody func(p []byte)
	// OnEnd is called when a final response is complete, with its trailers.
	OnEnd func(trailers []Field)
	// OnViolation is called for every breach, in the order of offsets.
	OnViolation func(Violation)

	state   httpState
	off     int64 // of the next byte to be fed
	lineOff int64 // of the present line
	line    []byte
	used    int // bytes of the present head or trailer section
	method  string
	interim bool // a 1xx came, the final response has not
	head    Head
	trailer []Field
	remain  int64 // bytes of the present chunk or body that are missing
	lostOff int64 // where the framing was lost
}

type httpState uint8

const (
	stateIdle httpState = iota
	stateStatusLine
	stateFields
	stateLength
	stateUntilClose
	stateChunkSize
	stateChunkData
	stateChunkEnd
	stateTrailers
	stateLost
	stateClosed
)

// Feed decodes p, which continues what was fed before.
func (d *ResponseDecoder) Feed(p []byte) {
	for len(p) > 0 {
		switch d.state {
		case stateIdle:
			d.begin()
		case stateStatusLine, stateFields, stateChunkSize, stateChunkEnd, stateTrailers:
			p = d.feedLine(p)
		case stateLength, stateChunkData:
			p = d.feedCounted(p)
		case stateUntilClose:
			d.body(p)
			d.off += int64(len(p))
			return
		case stateLost, stateClosed:
			d.off += int64(len(p))
			return
		}
	}
}

// begin looks at who asked for the head whose first byte has come.
func (d *ResponseDecoder) begin() {
	d.method = "POST"
	if d.Method != nil {
		d.method = d.Method()
	}
	if d.method == "" {
		d.lose(HTTPExtra, d.off, "bytes that no request asked for")
		return
	}
	d.state = stateStatusLine
	d.startLine()
	d.used = 0
	d.trailer = nil
	d.head = Head{Off: d.off}
}

// feedCounted passes on body bytes whose number is known.
func (d *ResponseDecoder) feedCounted(p []byte) []byte {
	n := int(min(d.remain, int64(len(p))))
	d.body(p[:n])
	d.off += int64(n)
	d.remain -= int64(n)
	if d.remain > 0 {
		return nil
	}
	if d.state == stateChunkData {
		d.state = stateChunkEnd
		d.startLine()
	} else {
		d.end()
	}
	return p[n:]
}

func (d *ResponseDecoder) body(p []byte) {
	if d.OnBody != nil && len(p) > 0 {
		d.OnBody(p)
	}
}

// end completes a final response.
func (d *ResponseDecoder) end() {
	d.state = stateIdle
	d.interim = false
	if d.OnEnd != nil {
		d.OnEnd(d.trailer)
	}
}

// Close says that the connection has ended. It ends a response with framing
// close (calling OnEnd), and reports HTTPTruncated, at the end of the input,
// for one that was cut. The decoder must not be fed again.
func (d *ResponseDecoder) Close() {
	state := d.state
	if state == stateUntilClose {
		d.end()
	}
	if state != stateLost {
		d.state = stateClosed
	}
	switch state {
	case stateIdle:
		if d.interim {
			d.violate(HTTPTruncated, d.off, "the connection ended between a 1xx response and the final one")
		}
	case stateStatusLine, stateFields:
		d.violate(HTTPTruncated, d.off, "the connection ended inside a response's head")
	case stateLength:
		d.violatef(HTTPTruncated, d.off, "the connection ended %d bytes before the declared Content-Length of %d", d.remain, d.head.Length)
	case stateChunkSize, stateChunkData, stateChunkEnd, stateTrailers:
		d.violate(HTTPTruncated, d.off, "the connection ended before the last chunk was complete")
	case stateUntilClose, stateLost, stateClosed:
	}
}

// Idle reports whether no response is under way (the connection could be used
// again). It is false after Close, and when the framing is lost.
func (d *ResponseDecoder) Idle() bool { return d.state == stateIdle && !d.interim }

// Lost reports whether the framing is lost: no response will complete any more.
func (d *ResponseDecoder) Lost() bool { return d.state == stateLost }

// Skipped is how many bytes were counted without being decoded.
func (d *ResponseDecoder) Skipped() int64 {
	if d.state != stateLost {
		return 0
	}
	return d.off - d.lostOff
}
