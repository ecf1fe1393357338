package load

import (
	"sync"
	"unicode/utf8"

	"assay/internal/envd"
)

// output takes one data event: it is timed, and its bytes are compared.
func (s *stream) output(e *event) {
	switch s.last {
	case 0:
	case s.now: // read together with the one before: when each of them came, nobody knows
		s.run.sink.Coalesced(1)
	default:
		s.class.RecordGap(s.run.sink, s.worker(), s.part.Class, s.now-s.last)
	}
	s.last = s.now
	before := s.out.bytes
	if e.stream == envd.Stderr {
		s.run.sink.Output(s.worker(), 1, 0)
		return
	}
	if s.out.hash != nil {
		s.digest(e)
	} else {
		s.compare(e)
	}
	s.run.sink.Output(s.worker(), 1, int(s.out.bytes-before))
}

// piece is how much base64 is decoded at once: on the stack, so that a stream
// owns no buffer.
const piece = 128

// compare decodes the data piece by piece, and compares it with the sequence.
func (s *stream) compare(e *event) {
	switch e.coding {
	case codedRaw:
		s.sequence(e.data)
	case codedBase64:
		var buf [piece / 4 * 3]byte
		for text := e.data; len(text) > 0; {
			n := min(piece, len(text))
			want := decodedLen(text[:n])
			got, err := strictBase64.Decode(buf[:], text[:n])
			if err != nil || got != want || n < len(text) && got != len(buf) {
				s.breach("event.base64: output is not base64 in the standard alphabet with padding")
				return
			}
			s.sequence(buf[:got])
			text = text[n:]
		}
	case codedJSON:
		var scratch [utf8.UTFMax]byte
		for text := e.data; len(text) > 0; {
			var p []byte
			p, text = unescape(text, &scratch)
			s.sequence(p)
		}
	}
}

// sequence compares decoded output.
func (s *stream) sequence(p []byte) {
	s.out.bytes += int64(len(p))
	if s.class.Check.Kind != CheckSequence {
		return
	}
	if wrong := s.out.seq.write(p); wrong != "" {
		s.breach(wrong)
	}
}

// scratches are buffers for decoded output that is hashed.
type scratches struct{ pool sync.Pool }

func (p *scratches) get() *[]byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, 0, 4<<10)
	return &b
}

func (p *scratches) put(b *[]byte) {
	if cap(*b) <= 1<<20 {
		p.pool.Put(b)
	}
}

// digest decodes the data whole, and hashes it.
func (s *stream) digest(e *event) {
	if e.coding == codedRaw {
		s.out.bytes += int64(len(e.data))
		_, _ = s.out.hash.Write(e.data) // never fails
		return
	}
	b := s.run.scratch.get()
	defer s.run.scratch.put(b)
	*b = (*b)[:0]
	if e.coding == codedBase64 {
		var err error
		if *b, err = strictBase64.AppendDecode(*b, e.data); err != nil || len(*b) != decodedLen(e.data) {
			s.breach("event.base64: output is not base64 in the standard alphabet with padding")
			return
		}
	} else {
		var scratch [utf8.UTFMax]byte
		for text := e.data; len(text) > 0; {
			var p []byte
			p, text = unescape(text, &scratch)
			*b = append(*b, p...)
		}
	}
	s.out.bytes += int64(len(*b))
	_, _ = s.out.hash.Write(*b)
}
