package h2

// TableUse is how a header block uses the dynamic table of its decoder.
type TableUse uint8

// The uses, each including those before it.
const (
	NoTable      TableUse = iota // the block means the same on every connection
	ReadsTable                   // the block means the same until the table changes
	ChangesTable                 // the block adds a field, sets the size, or cannot be read
)

// staticTable is the size of the static table (RFC 7541, appendix A).
const staticTable = 61

// UseOfTable determines how a header block uses the dynamic table. It skips names and
// values without decoding them.
func UseOfTable(block []byte) TableUse {
	use := NoTable
	for p := block; len(p) > 0; {
		prefix := uint(7) // an indexed field
		if p[0] < 0x80 {
			prefix = 4 // a literal that is never indexed (0x10), or not this time (0x00)
		}
		if p[0] >= 0x20 && p[0] < 0x80 { // a literal that is added, or a new size
			return ChangesTable
		}
		literal := prefix == 4
		index, rest, ok := readInt(p, prefix)
		if index > staticTable {
			use = ReadsTable
		}
		if ok && literal && index == 0 {
			rest, ok = skipString(rest)
		}
		if ok && literal {
			rest, ok = skipString(rest)
		}
		if !ok {
			return ChangesTable
		}
		p = rest
	}
	return use
}

func skipString(p []byte) (rest []byte, ok bool) {
	n, p, ok := readInt(p, 7)
	if !ok || n > uint64(len(p)) {
		return nil, false
	}
	return p[n:], true
}

// readInt reads an integer with a prefix of that many bits, and at most 28 bits beyond
// it (RFC 7541, section 5.1).
func readInt(p []byte, prefix uint) (v uint64, rest []byte, ok bool) {
	if len(p) == 0 {
		return 0, nil, false
	}
	most := uint64(1)<<prefix - 1
	if v = uint64(p[0]) & most; v < most {
		return v, p[1:], true
	}
	for i, shift := 1, 0; i < len(p) && shift < 28; i, shift = i+1, shift+7 {
		v += uint64(p[i]&0x7f) << shift
		if p[i] < 0x80 {
			return v, p[i+1:], true
		}
	}
	return 0, nil, false
}
