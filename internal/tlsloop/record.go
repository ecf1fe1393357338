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

// recordSize returns the size of the first record in p, 0 when it is incomplete. Bytes that
// cannot begin a record count as one, because tls.Conn then reports what is wrong.
func recordSize(p []byte) int {
	switch {
	case len(p) == 0:
		return 0
	case p[0] < firstRecordType || p[0] > lastRecordType:
		return len(p)
	case len(p) < recordHeader:
		return 0
	}
	n := recordHeader + int(binary.BigEndian.Uint16(p[3:]))
	switch {
	case n > MaxRecord:
		return len(p)
	case n > len(p):
		return 0
	}
	return n
}
