package wire

import (
	"bytes"

	"assay/internal/strictjson"
)

// chunkSize reads: 1*HEXDIG [ chunk-ext ] (RFC 9112, section 7.1).
func (d *ResponseDecoder) chunkSize(line []byte) {
	digits, ext, hasExt := bytes.Cut(line, []byte(";"))
	trimmed := trimOWS(digits)
	if len(trimmed) != len(digits) {
		d.violate(HTTPChunk, d.lineOff, "white space around a chunk size")
	}
	size, ok := parseHex(trimmed)
	if !ok {
		d.lose(HTTPChunk, d.lineOff, "a chunk size is not a hexadecimal number below 2^63")
		return
	}
	if hasExt && (len(trimOWS(ext)) == 0 || !isFieldValue(ext)) {
		d.violate(HTTPChunk, d.lineOff, "a chunk extension is empty or has control characters")
	}
	d.remain = size
	d.state, d.used = stateChunkData, 0
	if size == 0 {
		d.state = stateTrailers
	}
}

// endsChunk reports whether line is the line end after a chunk's data, or its beginning.
func endsChunk(line []byte) bool {
	return string(line) == "\r" || string(line) == "\r\n" || string(line) == "\n"
}

// parseHex reads 1*HEXDIG of at most 63 bits; leading zeros are legal.
func parseHex(s []byte) (int64, bool) {
	const maxInt64 = 1<<63 - 1
	var n int64
	for _, c := range s {
		v := strictjson.HexDigit(c)
		if v < 0 || n > maxInt64>>4 {
			return 0, false
		}
		n = n<<4 | int64(v)
	}
	return n, len(s) > 0
}
