//go:build linux && (amd64 || arm64)

package fast

import (
	"bytes"
	"encoding/binary"
	"testing"

	"golang.org/x/net/http2"
)

func TestALongFieldBlockIsContinued(t *testing.T) {
	block := bytes.Repeat([]byte("x"), 40000)
	p := appendHeaders(nil, 5, block, true)
	var got []byte
	types := []http2.FrameType{}
	for len(p) > 0 {
		n := int(p[0])<<16 | int(p[1])<<8 | int(p[2])
		types = append(types, http2.FrameType(p[3]))
		if id := binary.BigEndian.Uint32(p[5:]); id != 5 {
			t.Errorf("stream %d", id)
		}
		last := len(p) == 9+n
		if ended := p[4]&byte(http2.FlagHeadersEndHeaders) != 0; ended != last {
			t.Errorf("END_HEADERS is %v on frame %d", ended, len(types))
		}
		got = append(got, p[9:9+n]...)
		p = p[9+n:]
	}
	if len(types) != 3 || types[0] != http2.FrameHeaders || types[1] != http2.FrameContinuation || !bytes.Equal(got, block) {
		t.Errorf("frames %v with %d bytes", types, len(got))
	}
}
