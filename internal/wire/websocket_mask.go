package wire

import (
	"encoding/binary"
	"math/bits"
)

// MaskWS masks p in place, or removes the mask, which is the same (RFC 6455, section 5.3).
// pos is the position of p in its payload.
func MaskWS(p []byte, key [4]byte, pos uint64) { maskInto(p, p, key, pos) }

// AppendWSMasked appends p, masked, to dst. pos is the position of p in its payload.
func AppendWSMasked(dst, p []byte, key [4]byte, pos uint64) []byte {
	n := len(dst)
	dst = append(dst, p...)
	MaskWS(dst[n:], key, pos)
	return dst
}

// maskInto writes src, masked, to dst, which is as long as src and may be the same.
func maskInto(dst, src []byte, key [4]byte, pos uint64) {
	k := bits.RotateLeft32(binary.LittleEndian.Uint32(key[:]), -8*int(pos&3))
	k2 := uint64(k)<<32 | uint64(k)
	for len(src) >= 8 && len(dst) >= 8 {
		binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(src)^k2)
		src, dst = src[8:], dst[8:]
	}
	for i, c := range src {
		dst[i] = c ^ byte(k>>(8*(i&3)))
	}
}
