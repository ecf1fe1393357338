package h2

import (
	"bytes"
	"slices"

	"golang.org/x/net/http2/hpack"

	"assay/internal/wire"
)

// EncodeFields encodes a header block that neither uses nor changes the dynamic
// table, so that the same bytes serve every stream of every connection, in any order.
func EncodeFields(fields ...wire.Field) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, f := range fields {
		// A sensitive field is never indexed: no hop stores its value in a table (RFC
		// 7541, section 7.1.3). Writing to a bytes.Buffer never fails.
		_ = e.WriteField(hpack.HeaderField{Name: f.Name, Value: f.Value, Sensitive: !static[f]})
	}
	return b.Bytes()
}

// static holds the fields of the static table (RFC 7541, appendix A) with which
// requests and responses begin.
var static = map[wire.Field]bool{
	{Name: ":method", Value: "GET"}: true, {Name: ":method", Value: "POST"}: true,
	{Name: ":scheme", Value: "http"}: true, {Name: ":scheme", Value: "https"}: true,
	{Name: ":status", Value: "200"}: true, {Name: ":status", Value: "404"}: true,
}

// FieldTable is the dynamic table that a peer keeps for our fields. EncodeFields adds
// nothing to it, but a peer that limits it to less than its initial 4,096 bytes expects
// a size update at the beginning of the next header block (RFC 7541, section 4.2), and
// ends the connection without one. The zero value is the table of a new connection.
type FieldTable struct {
	empty bool // reduced to zero, so that smaller limits do not matter
	owed  bool // the size update has not been sent yet
}

const (
	defaultTable = 4096
	updateToZero = 0x20 // a dynamic table size update to 0 (RFC 7541, section 6.3)
)

// Limit applies the peer's SETTINGS_HEADER_TABLE_SIZE.
func (t *FieldTable) Limit(size uint32) {
	if size < defaultTable && !t.empty {
		t.empty, t.owed = true, true
	}
}

// Block returns the header block with the size update that it must begin with, if any.
func (t *FieldTable) Block(block []byte) []byte {
	if !t.owed {
		return block
	}
	t.owed = false
	return slices.Concat([]byte{updateToZero}, block)
}
