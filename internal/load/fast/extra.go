//go:build linux && (amd64 || arm64)

package fast

import (
	"crypto/sha256"
	"fmt"
	"hash"

	"assay/internal/load"
)

// failure says why there is no whole answer.
type failure struct {
	outcome load.Outcome
	detail  string
	// refused: the other side is no such gateway at all; see load.Result.Refused.
	refused bool
	// said: the detail is the whole story, and the rest of the body adds nothing.
	said bool
}

// errHungUp is how a stream ends that its part lets the driver hang up on. It is never changed.
var errHungUp = &failure{outcome: load.Cancelled}

// extra is what a stream has when something about it is not as usual.
type extra struct {
	wrong   string   // the first thing that is wrong with the bytes
	rpc     *failure // an RPC error, or a head that is none of a stream
	given   *failure // why the driver gave it up
	errBody []byte   // of an answer that is no stream
	result  *failure // how it ended
	seq     *load.Sequence
	hash    hash.Hash // nil unless a digest is wanted
	bytes   int64     // of output that was hashed
	call    *call
}

// extra is the extra of a stream, which is made when there is none.
func (l *loop) extra(i int32, s *stream) *extra {
	if s.has(flagExtra) {
		return l.extras[i]
	}
	s.set(flagExtra)
	var x *extra
	if n := len(l.spareExtras); n > 0 {
		x = l.spareExtras[n-1]
		l.spareExtras = l.spareExtras[:n-1]
	} else {
		x = new(extra)
	}
	l.extras[i] = x
	return x
}

// dropExtra takes the extra of a stream away that is over.
func (l *loop) dropExtra(i int32, s *stream) {
	if !s.has(flagExtra) {
		return
	}
	x := l.extras[i]
	delete(l.extras, i)
	s.clear(flagExtra)
	h := x.hash
	if h != nil {
		h.Reset()
	}
	*x = extra{hash: h, errBody: x.errBody[:0]}
	if len(l.spareExtras) < maxSpare {
		l.spareExtras = append(l.spareExtras, x)
	}
}

// maxSpare bounds what is kept for use again.
const maxSpare = 1024

// breach notes what is wrong with the bytes of a stream; the first one counts.
func (l *loop) breach(i int32, s *stream, detail string) {
	if x := l.extra(i, s); x.wrong == "" {
		x.wrong = detail
	}
}

// careful has the output of a stream compared by its extra from here on.
func (l *loop) careful(i int32, s *stream) *extra {
	x := l.extra(i, s)
	s.set(flagCareful)
	switch l.class(s).Check.Kind {
	case load.CheckSame, load.CheckDigest:
		if x.hash == nil {
			x.hash = sha256.New()
		}
	case load.CheckSequence:
		x.seq = load.ResumeSequence(s.next, uint64(s.lines), s.at)
	case load.CheckNone:
	}
	return x
}

// endedOutput says what only the whole output of a command that ended by itself tells.
func (l *loop) endedOutput(i int32, s *stream) (wrong string) {
	k := l.class(s)
	c := &k.Check
	switch c.Kind {
	case load.CheckSequence:
		if s.has(flagCareful) {
			return l.extras[i].seq.Ended(*c)
		}
		if s.at == 0 && (c.Lines == 0 || s.next-c.First == c.Lines) {
			return ""
		}
		return load.ResumeSequence(s.next, uint64(s.lines), s.at).Ended(*c)
	case load.CheckDigest:
		x := l.careful(i, s)
		if sum := [sha256.Size]byte(x.hash.Sum(l.scratch[:0])); sum != c.Digest {
			return fmt.Sprintf("the output (%d bytes) has the SHA-256 %x, want %x", x.bytes, sum, c.Digest)
		}
	case load.CheckSame:
		x := l.careful(i, s)
		return k.same.Compare([sha256.Size]byte(x.hash.Sum(l.scratch[:0])), x.bytes, s.number)
	case load.CheckNone:
	}
	return ""
}

// linesOf is how many lines of output are complete.
func (l *loop) linesOf(i int32, s *stream) uint64 {
	if s.has(flagCareful) && l.extras[i].seq != nil {
		return l.extras[i].seq.Lines()
	}
	return uint64(s.lines)
}
