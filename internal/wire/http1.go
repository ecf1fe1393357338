package wire

// Field is one header or trailer line.
type Field struct{ Name, Value string }

// The framings of a response's body (RFC 9112, section 6.3).
const (
	FramingChunked = "chunked" // Transfer-Encoding
	FramingLength  = "length"  // Content-Length
	FramingClose   = "close"   // until the connection ends
	FramingNone    = "none"    // 1xx, 204, 304, and responses to HEAD
)

// DefaultHeadLimit is the default for the longest head a decoder accepts: 64 KiB.
const DefaultHeadLimit = 64 << 10

// chunkLineLimit is the longest chunk-size line with its extensions. RFC 9112,
// section 7.1.1, demands a limit and does not specify it.
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
// A malformed line is reported, and read leniently where its meaning is
// clear: a bare newline ends a line, a field without a colon is ignored. After
// the framing is lost (no status line, a head over the limit, a broken chunk,
// unrequested bytes) the rest is counted and not decoded, and OnEnd is not called any
// more.
type ResponseDecoder struct {
	// HeadLimit is the longest accepted head, in bytes; 0 means
	// DefaultHeadLimit. It also limits the trailers.
	HeadLimit int
	// Method returns the method of the request that the next final response
	// answers, or "" without a request: further bytes are HTTPExtra. nil always means POST.
	// It is called at the first byte of every head, also of 1xx.
	Method func() string
	// OnHead is called for each head, also for 1xx (which have no body).
	OnHead func(Head)
	// OnBody is called with bytes of the body (chunked framing removed), valid during the call.
	OnBody func(p []byte)
	// OnEnd is called when a final response is complete, with its trailers.
	OnEnd func(trailers []Field)
	// Upgrade reports whether the request that is being answered asked for another protocol. It is
	// called after the head of a 101 response, which then is the last one (RFC 9110, section
	// 7.8): OnEnd is not called for it. If it returns false, or is nil, 101 is a 1xx response
	// like any other.
	Upgrade func() bool
	// OnSwitched is called with the bytes after such a 101 response, which belong to the other
	// protocol, valid during the call.
	OnSwitched func(p []byte)
	// OnViolation is called for every violation, in the order of offsets.
	OnViolation func(Violation)

	state   httpState
	off     int64 // of the next byte
	lineOff int64 // of the current line
	line    []byte
	used    int // bytes of the current head or trailer section
	method  string
	interim bool // after a 1xx, before the final response
	head    Head
	trailer []Field
	remain  int64 // missing bytes of the current chunk or body
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
	stateSwitched
	stateLost
	stateClosed
)

// Feed decodes p, the continuation of the previous input.
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
		case stateSwitched:
			if d.OnSwitched != nil {
				d.OnSwitched(p)
			}
			return
		case stateLost, stateClosed:
			d.off += int64(len(p))
			return
		}
	}
}

// begin finds the request of the response that begins.
func (d *ResponseDecoder) begin() {
	d.method = "POST"
	if d.Method != nil {
		d.method = d.Method()
	}
	if d.method == "" {
		d.lose(HTTPExtra, d.off, "unrequested bytes")
		return
	}
	d.state = stateStatusLine
	d.startLine()
	d.used = 0
	d.trailer = nil
	d.head = Head{Off: d.off}
}

// feedCounted takes body bytes whose number is known.
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

// Close ends the input. It completes a response with framing close (calling OnEnd), and
// reports HTTPTruncated, at the end of the input, for any other incomplete one. The
// decoder must not be fed again.
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
		d.violate(HTTPTruncated, d.off, "the connection ended %d bytes before the declared Content-Length of %d", d.remain, d.head.Length)
	case stateChunkSize, stateChunkData, stateChunkEnd, stateTrailers:
		d.violate(HTTPTruncated, d.off, "the connection ended before the last chunk was complete")
	case stateUntilClose, stateSwitched, stateLost, stateClosed:
	}
}

// Idle reports whether no response is under way (the connection could be used
// again). It is false after Close, and when the framing is lost.
func (d *ResponseDecoder) Idle() bool { return d.state == stateIdle && !d.interim }

// Lost reports whether the framing is lost: no response can be completed any more.
func (d *ResponseDecoder) Lost() bool { return d.state == stateLost }
