package tlsloop

import "encoding/binary"

// The sizes of TLS records (RFC 8446, section 5.2; RFC 5246, section 6.2.3).
const (
	recordHeader = 5
	// MaxRecord is the size of the largest record.
	MaxRecord = recordHeader + 16<<10 + 2048
	// The types of records are from changeCipherSpec to heartbeat.
	firstRecordType, lastRecordType = 20, 24
)

// recordSize returns the size of the first record in p, as far as p tells: that of its header
// until p has the header. The record is complete if p is that long. Bytes that cannot begin a
// record count as one, because tls.Conn then reports what is wrong.
func recordSize(p []byte) int {
	switch {
	case len(p) > 0 && (p[0] < firstRecordType || p[0] > lastRecordType):
		return len(p)
	case len(p) < recordHeader:
		return recordHeader
	}
	n := recordHeader + int(binary.BigEndian.Uint16(p[3:]))
	if n > MaxRecord {
		return len(p)
	}
	return n
}
