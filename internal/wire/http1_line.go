package wire

import "bytes"

// startLine begins a new line at the current offset.
func (d *ResponseDecoder) startLine() {
	d.line = d.line[:0]
	d.lineOff = d.off
}

// feedLine takes bytes up to the next newline, handles the line when it is
// complete, and returns the rest of p.
func (d *ResponseDecoder) feedLine(p []byte) []byte {
	room := d.lineLimit() - len(d.line)
	end := bytes.IndexByte(p, '\n')
	take := p
	if end >= 0 {
		take = p[:end+1]
	}
	if len(take) > room {
		take, end = take[:room+1], -1
	}
	d.line = append(d.line, take...)
	d.off += int64(len(take))
	switch {
	case d.state == stateStatusLine && foreign(d.line) > 0:
		d.lose(HTTPStatusLine, d.lineOff, "%q is not the beginning of an HTTP/1 response", d.line[:foreign(d.line)])
	case d.state == stateChunkEnd && !endsChunk(d.line):
		d.lose(HTTPChunk, d.lineOff, "a chunk's data is not followed by CRLF")
	case len(take) > room:
		d.lineTooLong()
	case end >= 0:
		d.endLine()
	}
	return p[len(take):]
}

// lineLimit is how long the current line may be, with its newline.
func (d *ResponseDecoder) lineLimit() int {
	switch d.state {
	case stateChunkSize:
		return chunkLineLimit
	case stateChunkEnd:
		return len("\r\n")
	default: // the lines of a head or trailer section share one limit
		return d.headLimit() - d.used
	}
}

func (d *ResponseDecoder) headLimit() int {
	if d.HeadLimit <= 0 {
		return DefaultHeadLimit
	}
	return d.HeadLimit
}

// lineTooLong is called when the line holds the first byte over its limit.
func (d *ResponseDecoder) lineTooLong() {
	if d.state == stateChunkSize {
		d.lose(HTTPChunk, d.lineOff, "a chunk-size line is longer than %d bytes", chunkLineLimit)
		return
	}
	d.lose(HTTPHeadOverLimit, d.off-1, "the head or trailer section is longer than %d bytes", d.headLimit())
}

// endLine handles a complete line.
func (d *ResponseDecoder) endLine() {
	d.used += len(d.line)
	text := d.line[:len(d.line)-1]
	kind := d.lineKind()
	if n := len(text); n > 0 && text[n-1] == '\r' {
		text = text[:n-1]
	} else {
		d.violate(kind, d.lineOff, "a line ends in a bare newline, not in CRLF")
	}
	switch d.state {
	case stateStatusLine:
		d.statusLine(text)
	case stateFields:
		d.fieldLine(text, &d.head.Fields, d.endHead)
	case stateTrailers:
		d.fieldLine(text, &d.trailer, d.end)
	case stateChunkSize:
		d.chunkSize(text)
	default: // stateChunkEnd
		d.state = stateChunkSize
	}
	if d.state != stateLost {
		d.startLine()
	}
}

func (d *ResponseDecoder) lineKind() Kind {
	switch d.state {
	case stateStatusLine:
		return HTTPStatusLine
	case stateChunkSize, stateChunkEnd:
		return HTTPChunk
	default:
		return HTTPHeader
	}
}

func (d *ResponseDecoder) violate(k Kind, off int64, format string, args ...any) {
	report(d.OnViolation, k, off, format, args...)
}

// lose reports a violation after which nothing can be decoded.
func (d *ResponseDecoder) lose(k Kind, off int64, format string, args ...any) {
	d.state, d.lostOff = stateLost, off
	d.violate(k, off, format, args...)
}
