package target

import (
	"context"
	"slices"

	"assay/internal/envd/call"
	"assay/internal/wire"
)

// packing is a target's handling of a compressed request.
type packing int

const (
	packingUnclear packing = iota
	packingMute            // the same response to plain, compressed and garbage requests
	packingTaken
	packingRefused // refused like an unknown encoding
	packingGarbled // the same response to compressed and garbage requests: not decompressed
)

// ghost is a pid that no process has.
const ghost = 2147483646

// probeGzip sends a compressed Start, and a compressed SendSignal to a process that does not
// exist: unlike List, both have a message that the target must read. The feature is present
// if both streams and unary calls accept it, because scripts use it in both.
func probeGzip(ctx context.Context, c *client) findings {
	stream, told := c.unpacks(ctx, c.startRequest(command{text: "true"}))
	unary, toldUnary := c.unpacks(ctx, c.rpcRequest(call.Kill(call.ByPID(ghost))))
	said := "a stream: " + told + "; a unary call: " + toldUnary
	either := func(p packing) bool { return stream == p || unary == p }
	switch {
	case either(packingRefused):
		return findings{featGzip: absent(said)}
	case either(packingTaken):
		return findings{featGzip: present(said)}
	case either(packingGarbled):
		return findings{featGzip: absent("compressed requests have the same response as garbage; " + said)}
	}
	return findings{featGzip: unknown(said)}
}

// unpacks determines how the target handles a request when it is compressed, and describes
// the response. A start event proves that the target read it.
func (c *client) unpacks(ctx context.Context, r request) (packing, string) {
	packed := c.do(ctx, r.packed(call.Compress(r.message)))
	s := packed.Snapshot()
	said := describe(s)
	if startedPID(s) != 0 && !refusesShell(s) { // an empty message may run as an empty command
		return packingTaken, said
	}
	plain := c.do(ctx, r)
	plainFace, ok := c.faceOf(r, plain)
	packedFace, packedOK := c.faceOf(r, packed)
	if !ok || !packedOK {
		return packingUnclear, said
	}
	if refused(s) && !refused(plain.Snapshot()) {
		return packingRefused, said
	}
	garbageFace, ok := c.faceOf(r, c.do(ctx, r.packed(garbage)))
	switch {
	case !ok:
		return packingUnclear, said
	case packedFace == plainFace && packedFace == garbageFace:
		return packingMute, said
	case packedFace == plainFace:
		return packingTaken, said
	}
	packedFace.text, garbageFace.text = "", "" // a parse error quotes the input
	if packedFace == garbageFace {
		return packingGarbled, said
	}
	return packingUnclear, said
}

// garbage begins like gzip, but is not.
var garbage = []byte("\x1f\x8bassay: this is not gzip")

// packed returns the request with a message declared as gzip; it also accepts a gzip response.
func (r request) packed(message []byte) request {
	form := call.Form{Protocol: r.protocol, Codec: r.codec, Compression: call.Gzip}
	declared, accepted := form.EncodingNames(r.rpc)
	r.body = form.Envelope(r.rpc, message)
	r.headers = append(slices.Clip(r.headers),
		header(wire.Field{Name: declared, Value: call.Gzip}), header(wire.Field{Name: accepted, Value: call.Gzip}))
	return r
}
