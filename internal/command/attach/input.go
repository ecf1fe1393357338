package attach

import (
	"bytes"
	"errors"
	"io"

	"assay/internal/base/crash"
)

const (
	// leaveKey is Ctrl+], as in telnet.
	leaveKey = 0x1d
	// endKey is Ctrl+D, the end of input in a terminal.
	endKey = 0x04
	// typedChunk and typedChunks bound what is typed and not yet sent: 1 MiB.
	typedChunk  = 4 << 10
	typedChunks = 256
)

// keyboard reads the local input.
type keyboard struct {
	chunks chan []byte   // closed at the end of the input
	left   chan struct{} // closed by Ctrl+], or when the local terminal is gone
	lost   chan struct{} // one element when input was dropped
	done   chan struct{} // closed when nobody takes chunks any more
}

// newKeyboard begins to read. Input of a person that cannot be sent is dropped once 1 MiB of it waits, as the
// line discipline of a terminal does, so that Ctrl+] is always seen; other input waits. raw says that the
// end of typed input is that of the terminal.
func newKeyboard(in io.Reader, typed, raw bool) *keyboard {
	k := &keyboard{chunks: make(chan []byte), left: make(chan struct{}), lost: make(chan struct{}, 1), done: make(chan struct{})}
	if typed {
		k.chunks = make(chan []byte, typedChunks)
	}
	crash.Go(func() { k.read(in, typed, raw) })
	return k
}

func (k *keyboard) read(in io.Reader, typed, raw bool) {
	size := pieces
	if typed {
		size = typedChunk
	}
	for {
		p := make([]byte, size)
		n, err := in.Read(p)
		p = p[:n]
		if typed {
			if at := bytes.IndexByte(p, leaveKey); at >= 0 {
				k.put(p[:at], typed)
				close(k.left)
				return
			}
		}
		k.put(p, typed)
		switch {
		case err == nil && !k.over():
		case err != nil && typed && (raw || !errors.Is(err, io.EOF)):
			close(k.left)
			return
		default:
			close(k.chunks)
			return
		}
	}
}

// over reports whether nobody takes chunks any more.
func (k *keyboard) over() bool {
	select {
	case <-k.done:
		return true
	default:
		return false
	}
}

// put hands a chunk on.
func (k *keyboard) put(p []byte, typed bool) {
	switch {
	case len(p) == 0:
	case !typed:
		select {
		case k.chunks <- p:
		case <-k.done:
		}
	default:
		select {
		case k.chunks <- p:
		default:
			select {
			case k.lost <- struct{}{}:
			default:
			}
		}
	}
}

// more appends what else is there already, up to one piece: a call for each key would lag behind fast
// fingers where the gateway is far.
func (k *keyboard) more(p []byte) []byte {
	for len(p) < pieces {
		select {
		case next, ok := <-k.chunks:
			if !ok { // the next who reads sees it
				return p
			}
			p = append(p, next...)
		default:
			return p
		}
	}
	return p
}

// drop forgets what was typed and not sent, and reports whether there was anything.
func (k *keyboard) drop() bool {
	dropped := false
	for {
		select {
		case _, ok := <-k.chunks:
			if !ok {
				return dropped
			}
			dropped = true
		default:
			return dropped
		}
	}
}
