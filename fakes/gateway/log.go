package gateway

// maxLog limits the memory of the log of one process. Older output is dropped in whole
// pieces, so that a log starts at the start of a line.
const maxLog = 256 << 10

// logBuffer keeps the last maxLog bytes of output. The zero value is ready.
type logBuffer struct {
	pieces [][]byte
	size   int
}

// add keeps p, which must not be changed afterwards.
func (b *logBuffer) add(p []byte) {
	b.pieces = append(b.pieces, p)
	b.size += len(p) + pieceMemory
	drop := 0
	for b.size > maxLog {
		b.size -= len(b.pieces[drop]) + pieceMemory
		b.pieces[drop] = nil
		drop++
	}
	b.pieces = b.pieces[drop:]
}

// bytes returns a copy of the whole log.
func (b *logBuffer) bytes() []byte {
	out := make([]byte, 0, b.size)
	for _, p := range b.pieces {
		out = append(out, p...)
	}
	return out
}
