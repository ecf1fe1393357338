package secret

import "math"

// index finds the places where a needle may begin, as the algorithm of Wu and Manber does:
// it looks at the last two bytes of a stretch as long as the shortest needle, and skips what
// no needle can contain. Most bytes of a text are never read.
type index struct {
	length int                  // of the stretch
	skip   []uint8              // by the two bytes
	begins map[uint16][]*needle // whose stretch ends with the two bytes, the longest first
}

func newIndex(needles []needle) index {
	x := index{length: math.MaxUint8, skip: make([]uint8, 1<<16), begins: map[uint16][]*needle{}}
	for i := range needles {
		x.length = min(x.length, needles[i].enough)
	}
	for i := range x.skip {
		x.skip[i] = uint8(x.length - 1) //nolint:gosec // below MaxUint8
	}
	for i := range needles {
		n := &needles[i]
		for at := range x.length - 1 {
			b := block(n.text, at)
			x.skip[b] = min(x.skip[b], uint8(x.length-2-at)) //nolint:gosec // below MaxUint8
		}
		last := block(n.text, x.length-2)
		x.begins[last] = append(x.begins[last], n)
	}
	return x
}

func block(p []byte, at int) uint16 { return uint16(p[at])<<8 | uint16(p[at+1]) }

// each calls visit with the places at which some needles may begin.
func (x *index) each(p []byte, visit func(at int, candidates []*needle)) {
	for end := x.length; end <= len(p); {
		b := block(p, end-2)
		if skip := x.skip[b]; skip > 0 {
			end += int(skip)
			continue
		}
		visit(end-x.length, x.begins[b])
		end++
	}
}
