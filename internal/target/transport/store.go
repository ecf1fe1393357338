package transport

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"unsafe"

	"assay/internal/record/bundle"
)

const (
	maxChunks = 2048      // entries of a chunk table
	rawLimit  = 256 << 10 // raw bytes kept per direction of a connection
	dataLimit = 16 << 20  // bytes kept per output or body during the run
)

// store keeps a byte stream of any length in bounded memory: completely up to limit,
// beyond that its first limit bytes, its tail, its length and its digest.
// Contents are append-only, so that a prefix can be shared while the store grows.
type store struct {
	limit  int
	take   func(n int) bool // asks for n bytes; nil allows all
	kept   []byte
	n      int64
	chunks []bundle.Chunk
	secret []section // pieces that the record must not have, by their place
	hidden [][]byte  // the same, by what they are, each once
	framed bool      // the stream has the framing of a connection

	covered bool // the record has only asterisks

	// Set once the stream exceeds limit.
	digest hash.Hash
	tail   []byte
	edge   int // length of tail
}

// section is a part of a byte stream: from an offset up to another.
type section struct{ from, to int64 }

// newStore makes a store. Once take returns false, only the tail is still kept.
func newStore(limit int, r redactor, take func(n int) bool) *store {
	return &store{limit: limit, take: take, edge: bundle.BlobEdge + r.Margin()}
}

// mayKeep asks for n bytes. After a refusal the store keeps no more than it has.
func (s *store) mayKeep(n int) bool {
	if s.take == nil || s.take(n) {
		return true
	}
	s.limit, s.take = len(s.kept), func(int) bool { return false }
	return false
}

// add appends p, which arrived at that time.
func (s *store) add(p []byte, at bundle.Stamp) {
	if len(p) == 0 {
		return
	}
	s.chunk(bundle.Chunk{Off: s.n, Len: len(p), At: at})
	s.n += int64(len(p))
	if s.digest == nil && len(s.kept)+len(p) <= s.limit && s.mayKeep(len(p)) {
		s.kept = append(s.kept, p...)
		return
	}
	s.overflow(p)
}

// chunkSize is the memory of one entry of a chunk table.
const chunkSize = int(unsafe.Sizeof(bundle.Chunk{}))

// chunk notes one piece. When the table is full, its last entry grows, so that
// the table always covers the whole stream.
func (s *store) chunk(c bundle.Chunk) {
	if n := len(s.chunks); n == 0 || n < maxChunks && s.mayKeep(chunkSize) {
		s.chunks = append(s.chunks, c)
		return
	}
	last := &s.chunks[len(s.chunks)-1]
	last.Len += c.Len
	last.At = c.At
}

func (s *store) overflow(p []byte) {
	if s.digest == nil {
		s.digest = sha256.New()
		s.digest.Write(s.kept)
		s.tail = bytes.Clone(s.kept[max(0, len(s.kept)-s.edge):])
		if room := s.limit - len(s.kept); room > 0 && s.mayKeep(room) {
			s.kept = append(s.kept, p[:room]...)
		}
	}
	s.digest.Write(p)
	if len(p) >= s.edge {
		s.tail = append(s.tail[:0], p[len(p)-s.edge:]...)
		return
	}
	s.tail = append(s.tail, p...)
	if extra := len(s.tail) - s.edge; extra > 0 {
		s.tail = append(s.tail[:0], s.tail[extra:]...)
	}
}

// blob returns the record of the stream without secrets. want, if not nil, is the expected stream. Only what the record
// shows is searched for secrets, so the digest of a stream that it does not show whole is that of the received bytes.
func (s *store) blob(r redactor, want []byte) bundle.Blob {
	clean := r.Bytes
	if s.framed {
		clean = r.received
	}
	kept, tail := s.hide(s.blind(s.kept, 0), s.blind(s.tail, s.n-int64(len(s.tail))))
	b := bundle.Blob{Len: s.n, Chunks: s.chunks}
	switch {
	case s.digest != nil:
		b.SHA256 = hex.EncodeToString(s.digest.Sum(nil))
		// A secret at the end goes on behind it, so that its beginning may not be found.
		b.Head = s.head(clean, kept, len(kept)-s.margin())
		b.Tail = s.last(clean, tail)
	case len(kept) > bundle.BlobWhole:
		sum := sha256.Sum256(s.kept)
		b.SHA256 = hex.EncodeToString(sum[:])
		b.Head, b.Tail = s.head(clean, kept, len(kept)), s.last(clean, kept)
	default:
		b = bundle.NewBlob(clean(kept), s.chunks)
	}
	if want != nil {
		b.Diff = s.difference(r, kept, want)
	}
	return b
}

// blob returns the record of p, as that of a stream.
func (r redactor) blob(p, want []byte) bundle.Blob {
	return (&store{kept: p, n: int64(len(p)), edge: bundle.BlobEdge + r.Margin()}).blob(r, want)
}

// head returns the head of a record: the beginning of p, and of its first n bytes.
func (s *store) head(clean func([]byte) []byte, p []byte, n int) []byte {
	return bytes.Clone(clean(p[:min(len(p), s.edge)])[:max(0, min(n, bundle.BlobEdge))])
}

// last returns the tail of a record.
func (s *store) last(clean func([]byte) []byte, p []byte) []byte {
	p = clean(p[max(0, len(p)-s.edge):])
	return bytes.Clone(p[max(0, len(p)-bundle.BlobEdge):])
}

// margin is the number of bytes beyond a cut that are needed to find a secret.
func (s *store) margin() int { return s.edge - bundle.BlobEdge }

// difference compares the kept bytes only. It searches for secrets around the first difference.
func (s *store) difference(r redactor, kept, want []byte) *bundle.Window {
	if s.digest != nil {
		kept = kept[:max(0, len(kept)-s.margin())]
		want = want[:min(len(want), len(kept))]
	}
	d := bundle.FirstDifference(kept, want)
	if d == nil {
		return nil
	}
	from, to := max(0, int(d.Off)-s.edge), int(d.Off)+s.edge
	part := func(p []byte) []byte { return r.Bytes(p[from:min(len(p), to)]) }
	if d = bundle.FirstDifference(part(kept), part(want)); d != nil {
		d.Off, d.From = d.Off+int64(from), d.From+int64(from)
	}
	return d
}
