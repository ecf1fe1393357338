package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// The limits of a Blob: longer data is kept as head, tail and digest.
const (
	BlobWhole  = 16 << 10 // kept whole up to this length
	BlobEdge   = 4 << 10  // head and tail of longer data
	blobWindow = 256      // bytes on each side of the first difference
	maxChunks  = 2048
)

// Blob is a recorded byte string: whole up to BlobWhole bytes, else its length, digest,
// head, tail and chunk table.
type Blob struct {
	Len    int64  `json:"len"`
	SHA256 string `json:"sha256,omitempty"`
	// Data is the whole byte string; nil if it is longer than BlobWhole or empty.
	Data []byte `json:"data,omitempty"`
	Head []byte `json:"head,omitempty"`
	Tail []byte `json:"tail,omitempty"`
	// Chunks is the table of reads or writes, at most 2,048 entries.
	Chunks []Chunk `json:"chunks,omitempty"`
	// Diff is the window around the first difference from what the script expected.
	Diff *Window `json:"diff,omitempty"`
}

// Window is the bytes around the first difference of two byte strings.
type Window struct {
	Off  int64  `json:"off"` // offset of the first different byte
	From int64  `json:"from"`
	Got  []byte `json:"got"`
	Want []byte `json:"want"`
}

// Whole reports whether every byte was kept.
func (b *Blob) Whole() bool { return b != nil && int64(len(b.Data)) == b.Len }

// NewBlob records p within the limits.
func NewBlob(p []byte, chunks []Chunk) Blob {
	b := Blob{Len: int64(len(p)), Chunks: chunks}
	if len(chunks) > maxChunks {
		b.Chunks = chunks[:maxChunks:maxChunks]
	}
	switch {
	case len(p) == 0:
		// Empty: neither digest nor bytes, as after reading it back.
	case len(p) <= BlobWhole:
		b.SHA256 = digest(p)
		b.Data = bytes.Clone(p)
	default:
		b.SHA256 = digest(p)
		b.Head = bytes.Clone(p[:BlobEdge])
		b.Tail = bytes.Clone(p[len(p)-BlobEdge:])
	}
	return b
}

func digest(p []byte) string {
	sum := sha256.Sum256(p)
	return hex.EncodeToString(sum[:])
}

// FirstDifference returns the window around the first difference of two byte strings; nil if they are equal.
func FirstDifference(got, want []byte) *Window {
	n := min(len(got), len(want))
	i := 0
	for i < n && got[i] == want[i] {
		i++
	}
	if i == len(got) && i == len(want) {
		return nil
	}
	from := max(0, i-blobWindow)
	return &Window{
		Off: int64(i), From: int64(from),
		Got:  bytes.Clone(got[from:min(len(got), i+blobWindow)]),
		Want: bytes.Clone(want[from:min(len(want), i+blobWindow)]),
	}
}

func headerValues(hs []Header, name string) []string {
	var vs []string
	for _, h := range hs {
		if strings.EqualFold(h.Name, name) {
			vs = append(vs, h.Value)
		}
	}
	return vs
}
