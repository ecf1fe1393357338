package authproxy

import (
	"bytes"

	"assay/internal/wire"
)

// headEnd ends the head of a response.
var headEnd = []byte("\r\n\r\n")

// frames follows the frames that a server writes, only to know where one ends. Some handlers write the head of the response to the
// connection too: it begins with H, and no frame of a server does, since its bits would be those of a fragmented control frame.
type frames struct {
	head    []byte // the last bytes of the head of the response, while it lasts
	inHead  bool
	begun   bool
	frame   []byte // the header of the current frame, as far as it came
	payload uint64 // the rest of its payload
	closed  bool   // a Close frame went by
}

// between reports whether another frame may follow.
func (f *frames) between() bool {
	return !f.inHead && len(f.frame) == 0 && f.payload == 0 && !f.closed
}

// wrote follows bytes.
func (f *frames) wrote(p []byte) {
	if !f.begun && len(p) > 0 {
		f.begun, f.inHead = true, p[0] == 'H'
	}
	if f.inHead {
		p = f.skipHead(p)
	}
	for len(p) > 0 {
		if f.payload > 0 {
			n := min(uint64(len(p)), f.payload)
			f.payload -= n
			p = p[n:]
			continue
		}
		f.frame = append(f.frame, p[0])
		p = p[1:]
		f.header()
	}
}

// skipHead returns what follows the head of the response.
func (f *frames) skipHead(p []byte) []byte {
	kept := len(f.head)
	all := append(f.head, p...)
	if at := bytes.Index(all, headEnd); at >= 0 {
		f.inHead, f.head = false, nil
		return p[at+len(headEnd)-kept:]
	}
	f.head = bytes.Clone(all[max(0, len(all)-len(headEnd)+1):])
	return nil
}

// header reads the header of a frame when it is whole.
func (f *frames) header() {
	if h, n := wire.ParseWSHead(f.frame); n > 0 {
		f.payload, f.closed, f.frame = h.Length, f.closed || h.Opcode == wire.WSClose, f.frame[:0]
	}
}
