package wire

import (
	"encoding/binary"
)

// Envelope flags of the Connect protocol; the other six bits are reserved.
const (
	FlagCompressed byte = 0x01
	FlagEndStream  byte = 0x02
)

// HeaderSize is the length of an envelope's header: one flag byte and a
// big-endian 32-bit length.
const HeaderSize = 5

// DefaultLimit is the default for the largest payload a decoder accepts: 64 MiB.
const DefaultLimit = 64 << 20

// Frame is one complete envelope. Payload is only valid until the decoder is
// fed again.
type Frame struct {
	Flags   byte
	Off     int64 // of the header's first byte
	Payload []byte
}

// AppendEnvelope appends an envelope to dst.
func AppendEnvelope(dst []byte, flags byte, payload []byte) []byte {
	n := len(payload)
	dst = append(dst, flags, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	return append(dst, payload...)
}

// EnvelopeDecoder is an incremental, strict decoder of envelopes: those of Connect
// (Connect specification, "Streaming-Request" and "Streaming-Response"), of gRPC
// ("Length-Prefixed-Message") or of gRPC-Web. The zero value is ready for
// Connect; Limit 0 means DefaultLimit. After a violation that loses
// the framing (a length over the limit, bytes after the end of stream) the rest is
// counted and not decoded. An envelope with reserved flags is reported and
// delivered. The caller checks whether a compressed payload is allowed, and decodes the
// end-of-stream payload.
//
// Memory follows the received bytes, never a declared length.
type EnvelopeDecoder struct {
	// Protocol determines which flags are legal and which one ends the stream.
	Protocol Protocol
	// Limit is the largest accepted payload, in bytes.
	Limit uint32
	// Reserve is called with the new length of a buffered payload before a further piece of it is
	// buffered. If it returns false, the rest of the input is only counted. nil allows all.
	Reserve func(n int) bool
	// OnFrame is called for every complete envelope.
	OnFrame func(Frame)
	// OnViolation is called for every violation, in the order of offsets. A violation of
	// an envelope has the offset of its header.
	OnViolation func(Violation)

	off     int64 // of the next byte
	start   int64 // of the current envelope's header
	header  [HeaderSize]byte
	have    int  // header bytes so far
	lost    bool // the framing is lost
	ended   bool
	skipped int64
	payload cutBuffer
}

// Feed decodes p, the continuation of the previous input. Payloads that are complete
// in p are delivered as subslices of it.
func (d *EnvelopeDecoder) Feed(p []byte) {
	d.payload.swap()
	for len(p) > 0 {
		if d.lost || d.ended {
			d.skip(p)
			return
		}
		if d.have < HeaderSize {
			p = d.feedHeader(p)
			continue
		}
		p = d.feedPayload(p)
	}
}

// feedHeader takes header bytes and returns the rest of p. An empty payload is
// delivered at once.
func (d *EnvelopeDecoder) feedHeader(p []byte) []byte {
	if d.have == 0 {
		d.start = d.off
	}
	n := copy(d.header[d.have:], p)
	d.have += n
	d.off += int64(n)
	p = p[n:]
	if d.have < HeaderSize {
		return p
	}
	flags, length := d.header[0], d.length()
	if flags&^(FlagCompressed|d.Protocol.endFlag()) != 0 {
		d.violate(ReservedFlags, d.start, "flags 0x%02x have bits other than %s", flags, d.Protocol.legalBits())
	}
	if length > d.limit() {
		d.lost = true
		d.violate(PayloadOverLimit, d.start, "declared length %d is over the limit of %d bytes", length, d.limit())
		return p
	}
	if length == 0 {
		d.deliver(p[:0])
	}
	return p
}

// feedPayload takes payload bytes and returns the rest of p.
func (d *EnvelopeDecoder) feedPayload(p []byte) []byte {
	have := len(d.payload.bytes())
	missing := int64(d.length()) - int64(have)
	if have > 0 && !d.reserve(have+int(min(missing, int64(len(p))))) {
		return p
	}
	if int64(len(p)) < missing {
		d.payload.append(p)
		d.off += int64(len(p))
		return nil
	}
	last, rest := p[:missing], p[missing:]
	d.off += missing
	if have > 0 {
		d.payload.append(last)
		last = d.payload.take()
	}
	d.deliver(last)
	return rest
}

// reserve asks for the memory of n bytes. Without it the framing is given up.
func (d *EnvelopeDecoder) reserve(n int) bool {
	if d.Reserve == nil || d.Reserve(n) {
		return true
	}
	d.lost = true
	d.payload.drop()
	return false
}

func (d *EnvelopeDecoder) deliver(payload []byte) {
	d.have = 0
	d.ended = d.header[0]&d.Protocol.endFlag() != 0
	if d.OnFrame != nil {
		d.OnFrame(Frame{Flags: d.header[0], Off: d.start, Payload: payload})
	}
}

// skip counts bytes that are not decoded.
func (d *EnvelopeDecoder) skip(p []byte) {
	if !d.lost {
		d.lost = true
		d.violate(BytesAfterEnd, d.off, "bytes follow %s", d.Protocol.endName())
	}
	d.skipped += int64(len(p))
	d.off += int64(len(p))
}

// Close ends the input and reports an incomplete envelope. The decoder must not be fed
// again.
func (d *EnvelopeDecoder) Close() {
	if d.lost || d.have == 0 {
		return
	}
	d.lost = true
	if d.have < HeaderSize {
		d.violate(TruncatedHeader, d.start, "the input ends after %d of 5 header bytes", d.have)
		return
	}
	d.violate(TruncatedPayload, d.start, "the input ends after %d of %d payload bytes", len(d.payload.bytes()), d.length())
}

func (d *EnvelopeDecoder) length() uint32 { return binary.BigEndian.Uint32(d.header[1:]) }

func (d *EnvelopeDecoder) limit() uint32 {
	if d.Limit == 0 {
		return DefaultLimit
	}
	return d.Limit
}

func (d *EnvelopeDecoder) violate(k Kind, off int64, format string, args ...any) {
	report(d.OnViolation, d.Protocol.Kind(k), off, format, args...)
}
