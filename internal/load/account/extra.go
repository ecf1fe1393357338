package account

import (
	"crypto/sha256"
	"fmt"
	"hash"

	"assay/internal/load"
	"assay/internal/wire"
)

// extra holds the rare facts about a stream.
type extra struct {
	wrong   string   // the first breach in the response
	rpc     *Failure // an RPC error, an error line, or the failure of a head that is not a stream's
	given   *Failure // why the stream was given up
	errBody []byte   // the body of an error response
	result  *Failure // how the stream ended; nil is well
	seq     *sequence
	hash    hash.Hash // nil unless a digest is wanted
	bytes   int64     // of hashed output
	call    *Call
	// frames decodes a WebSocket once a frame has an unusual form. It has got fed bytes, and
	// the last message ended at messageEnd.
	frames          *wire.WSDecoder
	fed, messageEnd int64
}

// extra returns the extra of a stream, and makes it when there is none.
func (a *Streams) extra(i int32, s *Stream) *extra {
	if s.has(flagExtra) {
		return a.extras[i]
	}
	s.set(flagExtra)
	var x *extra
	if n := len(a.spareExtras); n > 0 {
		x = a.spareExtras[n-1]
		a.spareExtras = a.spareExtras[:n-1]
	} else {
		x = new(extra)
	}
	a.extras[i] = x
	return x
}

// dropExtra removes the extra of a stream that is over.
func (a *Streams) dropExtra(i int32, s *Stream) {
	if !s.has(flagExtra) {
		return
	}
	x := a.extras[i]
	delete(a.extras, i)
	s.clear(flagExtra)
	h := x.hash
	if h != nil {
		h.Reset()
	}
	*x = extra{hash: h, errBody: x.errBody[:0]}
	if len(a.spareExtras) < maxSpare {
		a.spareExtras = append(a.spareExtras, x)
	}
}

// maxSpare bounds the extras that are kept for reuse.
const maxSpare = 1024

// careful makes the stream's extra check the output from here on.
func (a *Streams) careful(i int32, s *Stream) *extra {
	x := a.extra(i, s)
	s.set(flagCareful)
	switch a.class(s).Check.Kind {
	case load.CheckSame, load.CheckDigest:
		if x.hash == nil {
			x.hash = sha256.New()
		}
	case load.CheckSequence:
		x.seq = resume(s)
	case load.CheckNone:
	}
	return x
}

// endedOutput checks the whole output of a command that ended by itself.
func (a *Streams) endedOutput(i int32, s *Stream) (wrong string) {
	k := a.class(s)
	c := &k.Check
	switch c.Kind {
	case load.CheckSequence:
		if s.has(flagCareful) {
			return a.extras[i].seq.ended(c)
		}
		if s.at == 0 && (c.Lines == 0 || s.next-c.First == c.Lines) {
			return ""
		}
		return resume(s).ended(c)
	case load.CheckDigest:
		x := a.careful(i, s)
		if sum := [sha256.Size]byte(x.hash.Sum(a.scratch[:0])); sum != c.Digest {
			return fmt.Sprintf("the output (%d bytes) has the SHA-256 %x, want %x", x.bytes, sum, c.Digest)
		}
	case load.CheckSame:
		x := a.careful(i, s)
		return k.same.compare([sha256.Size]byte(x.hash.Sum(a.scratch[:0])), x.bytes, s.Number)
	case load.CheckNone:
	}
	return ""
}

// resume returns the check of a stream's output from its present position.
func resume(s *Stream) *sequence {
	return &sequence{next: s.next, lines: uint64(s.lines), at: s.at}
}

// linesOf returns the number of complete lines of output.
func (a *Streams) linesOf(i int32, s *Stream) uint64 {
	if s.has(flagCareful) && a.extras[i].seq != nil {
		return a.extras[i].seq.lines
	}
	return uint64(s.lines)
}
