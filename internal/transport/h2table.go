package transport

import "slices"

// FieldTable is the dynamic table of HPACK that a peer keeps for what we send. Nothing
// that we send is put into it; but a peer that wants it smaller than the 4,096 bytes
// that it begins with must be told, at the beginning of the next header block, that
// it is (RFC 7541, section 4.2), and ends the connection when it is not. The zero
// value is the table of a new connection.
type FieldTable struct {
	none bool // it was made empty, and cannot get smaller
	owed bool // the peer has not been told
}

// Limit takes a SETTINGS_HEADER_TABLE_SIZE of the peer.
func (t *FieldTable) Limit(size uint32) {
	if size < defaultTable && !t.none {
		t.none, t.owed = true, true
	}
}

// Block is a header block as it is sent next.
func (t *FieldTable) Block(block []byte) []byte {
	if !t.owed {
		return block
	}
	t.owed = false
	return slices.Concat([]byte{tableOfNone}, block)
}

const (
	defaultTable = 4096
	tableOfNone  = 0x20 // a dynamic table size update to 0 (RFC 7541, section 6.3)
)
