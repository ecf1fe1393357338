package wire

import (
	"bytes"
	"strconv"

	"golang.org/x/net/http/httpguts"
)

// chunkSize reads: 1*HEXDIG [ chunk-ext ] (RFC 9112, section 7.1).
func (d *ResponseDecoder) chunkSize(line []byte) {
	digits, ext, hasExt := bytes.Cut(line, []byte(";"))
	trimmed := trimOWS(digits)
	if len(trimmed) != len(digits) {
		d.violate(HTTPChunk, d.lineOff, "white space around a chunk size")
	}
	size, err := strconv.ParseUint(string(trimmed), 16, 63)
	if err != nil {
		d.lose(HTTPChunk, d.lineOff, "a chunk size is not a hexadecimal number below 2^63")
		return
	}
	if hasExt && (len(trimOWS(ext)) == 0 || !httpguts.ValidHeaderFieldValue(string(ext))) {
		d.violate(HTTPChunk, d.lineOff, "a chunk extension is empty or has control characters")
	}
	d.remain = int64(size)
	d.state, d.used = stateChunkData, 0
	if size == 0 {
		d.state = stateTrailers
	}
}

// endsChunk reports whether line is the line end after a chunk's data, or its beginning.
func endsChunk(line []byte) bool {
	return string(line) == "\r" || string(line) == "\r\n" || string(line) == "\n"
}
