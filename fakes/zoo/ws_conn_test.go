package zoo

import (
	"bytes"
	"testing"

	"assay/internal/wire"
)

// FuzzWSCutter checks that frames pass a stage that changes nothing as they are, however they are cut.
func FuzzWSCutter(f *testing.F) {
	f.Add([]byte(input("a")+ping("b")), byte(1))
	f.Add(wire.AppendWSHead(nil, wire.WSHead{Opcode: 3, RSV: 7, Length: 1 << 63, LengthBits: 64}), byte(3))
	f.Fuzz(func(t *testing.T, p []byte, size byte) {
		var c wsCutter
		var out []byte
		for rest := p; len(rest) > 0; {
			n := min(int(size)+1, len(rest))
			c.add(rest[:n])
			rest = rest[n:]
			for f, whole := c.next(); whole; f, whole = c.next() {
				out = wire.AppendWSFrame(out, f.WSHead, f.payload)
			}
			out = append(out, c.rest()...)
		}
		if got := append(out, c.held...); !bytes.Equal(got, p) {
			t.Errorf("%x became %x", p, got)
		}
	})
}
