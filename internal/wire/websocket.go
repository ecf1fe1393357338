package wire

import (
	"encoding/binary"
	"fmt"
)

// WSOpcode is the opcode of a WebSocket frame (RFC 6455, section 5.2).
type WSOpcode byte

// The opcodes; the others are reserved. Bit 0x8 distinguishes control frames.
const (
	WSContinuation WSOpcode = 0x0
	WSText         WSOpcode = 0x1
	WSBinary       WSOpcode = 0x2
	WSClose        WSOpcode = 0x8
	WSPing         WSOpcode = 0x9
	WSPong         WSOpcode = 0xA
)

// Control reports whether frames of this opcode are control frames, also of a reserved one.
func (o WSOpcode) Control() bool { return o&0x8 != 0 }

func (o WSOpcode) reserved() bool { return o&0x7 > 2 }

// String names the opcode: "text", or "opcode 0x3" for a reserved one.
func (o WSOpcode) String() string {
	switch o {
	case WSContinuation:
		return "continuation"
	case WSText:
		return "text"
	case WSBinary:
		return "binary"
	case WSClose:
		return "close"
	case WSPing:
		return "ping"
	case WSPong:
		return "pong"
	default:
		return fmt.Sprintf("opcode 0x%x", byte(o))
	}
}

// The reserved bits of a WebSocket frame, as in WSHead.RSV.
const (
	WSRSV1 byte = 0x4
	WSRSV2 byte = 0x2
	WSRSV3 byte = 0x1
)

// The limits of RFC 6455.
const (
	// MaxWSHead is the length of the longest head: a 64-bit length and a masking key.
	MaxWSHead = 14
	// MaxWSControl is the longest payload of a control frame, and the longest that the
	// 7-bit length can say.
	MaxWSControl = 125
)

// WSHead is the head of a WebSocket frame by field, as it is on the wire, legal or not.
type WSHead struct {
	FIN    bool
	RSV    byte // WSRSV1, WSRSV2 and WSRSV3
	Opcode WSOpcode
	Masked bool
	Key    [4]byte // the masking key, if Masked
	Length uint64  // the declared length of the payload
	// LengthBits is the form of the length: 7, 16 or 64. An encoder takes 0 for the shortest form.
	LengthBits uint8
}

// Minimal reports whether the length has its shortest form.
func (h WSHead) Minimal() bool {
	switch h.LengthBits {
	case 16:
		return h.Length > MaxWSControl
	case 64:
		return h.Length > 1<<16-1
	default:
		return true
	}
}

// wsHeadSize returns the length of the head that begins with p: 2 as long as p is
// shorter than that.
func wsHeadSize(p []byte) int {
	n := 2
	if len(p) < n {
		return n
	}
	switch p[1] & 0x7f {
	case 126:
		n += 2
	case 127:
		n += 8
	}
	if p[1]&0x80 != 0 {
		n += 4
	}
	return n
}

// ParseWSHead reads the head of a frame at the beginning of p and returns its length in bytes;
// n is 0 if p does not hold all of it.
func ParseWSHead(p []byte) (h WSHead, n int) {
	n = wsHeadSize(p)
	if len(p) < n {
		return WSHead{}, 0
	}
	h.FIN = p[0]&0x80 != 0
	h.RSV = p[0] >> 4 & 0x7
	h.Opcode = WSOpcode(p[0] & 0xf)
	switch length := p[1] & 0x7f; length {
	case 126:
		h.Length, h.LengthBits = uint64(binary.BigEndian.Uint16(p[2:])), 16
	case 127:
		h.Length, h.LengthBits = binary.BigEndian.Uint64(p[2:]), 64
	default:
		h.Length, h.LengthBits = uint64(length), 7
	}
	if p[1]&0x80 != 0 {
		h.Masked = true
		h.Key = [4]byte(p[n-4 : n])
	}
	return h, n
}

// AppendWSHead appends a head to dst as its fields say, legal or not: Length in the form
// of LengthBits, cut to that many bits.
func AppendWSHead(dst []byte, h WSHead) []byte {
	first := byte(h.Opcode)&0xf | h.RSV&0x7<<4
	if h.FIN {
		first |= 0x80
	}
	var mask byte
	if h.Masked {
		mask = 0x80
	}
	bits := h.LengthBits
	if bits == 0 {
		bits = shortestForm(h.Length)
	}
	switch bits {
	case 16:
		dst = binary.BigEndian.AppendUint16(append(dst, first, mask|126), uint16(h.Length))
	case 64:
		dst = binary.BigEndian.AppendUint64(append(dst, first, mask|127), h.Length)
	default:
		dst = append(dst, first, mask|byte(h.Length)&0x7f)
	}
	if h.Masked {
		dst = append(dst, h.Key[:]...)
	}
	return dst
}

func shortestForm(length uint64) uint8 {
	switch {
	case length <= MaxWSControl:
		return 7
	case length <= 1<<16-1:
		return 16
	default:
		return 64
	}
}

// AppendWSFrame appends a frame to dst: the head with the length of the payload, and the
// payload, masked if the head says so. A frame with a wrong length is AppendWSHead followed by any
// bytes.
func AppendWSFrame(dst []byte, h WSHead, payload []byte) []byte {
	h.Length = uint64(len(payload))
	dst = AppendWSHead(dst, h)
	if h.Masked {
		return AppendWSMasked(dst, payload, h.Key, 0)
	}
	return append(dst, payload...)
}

// AppendWSClient appends a whole message of a client to dst, as one masked frame.
// RFC 6455, section 5.3, wants an unpredictable key for each frame.
func AppendWSClient(dst []byte, op WSOpcode, key [4]byte, payload []byte) []byte {
	return AppendWSFrame(dst, WSHead{FIN: true, Opcode: op, Masked: true, Key: key}, payload)
}

// AppendWSServer appends a whole message of a server to dst, as one frame.
func AppendWSServer(dst []byte, op WSOpcode, payload []byte) []byte {
	return AppendWSFrame(dst, WSHead{FIN: true, Opcode: op}, payload)
}

// AppendWSClose appends the payload of a Close frame to dst: a status code and a reason.
func AppendWSClose(dst []byte, code uint16, reason string) []byte {
	return append(binary.BigEndian.AppendUint16(dst, code), reason...)
}

// ParseWSClose reads the payload of a Close frame. ok is false if it has no status code,
// which is legal if it is empty.
func ParseWSClose(payload []byte) (code uint16, reason []byte, ok bool) {
	if len(payload) < 2 {
		return 0, nil, false
	}
	return binary.BigEndian.Uint16(payload), payload[2:], true
}

// LegalWSCloseCode reports whether a Close frame may carry the status code: those of RFC 6455,
// section 7.4.1, that are not reserved, 1012 to 1014 of the IANA registry, and 3000 to
// 4999 (section 7.4.2).
func LegalWSCloseCode(code uint16) bool {
	switch {
	case code >= 1000 && code <= 1003, code >= 1007 && code <= 1014:
		return true
	default:
		return code >= 3000 && code <= 4999
	}
}
