//go:build linux && (amd64 || arm64)

package fast

import (
	"testing"

	"golang.org/x/sys/unix"

	"assay/internal/load"
	"assay/internal/load/loadtest"
)

// A connection that dies while output is written fails its streams, and their ends may add
// output to other connections.
func TestOutputThatComesWhileOutputIsWrittenIsWritten(t *testing.T) {
	sink := &touching{}
	l := benchTo(t, load.ProtocolConnect, load.CodecJSON, load.H2C, fiveLines, sink)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { closeSocket(int32(pair[0])); closeSocket(int32(pair[1])) }()
	dying, other := l.testMux(), l.testMux()
	other.fd = int32(pair[0])
	dying.out = []byte("x") // the write fails: it has no socket
	dying.touch()
	sink.other = other
	dying.testStream(l)
	l.mux.flush()
	if sink.Count != 1 || len(other.out) != 0 || other.dirty || len(l.mux.dirty) != 0 {
		t.Errorf("%d ended, %d bytes are unwritten, dirty %v", sink.Count, len(other.out), other.dirty)
	}
	got := make([]byte, 9)
	if n, err := unix.Read(pair[1], got); err != nil || string(got[:max(n, 0)]) != "late" {
		t.Errorf("%q, %v", got, err)
	}
}

// touching is a sink that adds output to a connection when a stream ends.
type touching struct {
	loadtest.Last

	other *mux
}

func (w *touching) Ended(r load.Result) {
	w.Last.Ended(r)
	w.other.out = append(w.other.out, "late"...)
	w.other.touch()
}
