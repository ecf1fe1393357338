//go:build linux && (amd64 || arm64)

package fast

import (
	"bytes"
	"testing"

	"assay/internal/load"
	"assay/internal/load/loadtest"
	"assay/internal/testkit"
	"assay/internal/wire/h2"
)

// An open stream of HTTP/2 takes its entry and its id. The buffers belong to the connection and
// to the loop; so does the TLS, which the test leaves out.
func TestAnOpenStreamOfHTTP2TakesAtMost160Bytes(t *testing.T) {
	if !testkit.Alone(t) {
		return
	}
	const n = 20_000
	l, sink := bench(t, load.ProtocolConnect, load.CodecJSON, load.H2C, load.Check{Kind: load.CheckSequence, First: 1})
	c := l.testMux()
	c.window = 1 << 30 // no request waits
	whole := muxStream(1)
	head := whole[:h2.HeaderLen+int(whole[2])]
	before := loadtest.Heap()
	for k := range n {
		l.streams.Begin(0)
		l.mux.serve(&l.mux.streams)
		c.out = c.out[:0] // as if it was written
		id := uint32(2*k + 1)
		p := h2.AppendData(bytes.Clone(head), id, []byte(loadtest.Env(0, testStart)+loadtest.Stdout("1\n")), false)
		p[5], p[6], p[7], p[8] = byte(id>>24), byte(id>>16), byte(id>>8), byte(id)
		l.feedMux(c, p)
	}
	grown := loadtest.Heap() - before
	if open := c.ids.len(); open != n || sink.Count != 0 || l.streams.Open() != n {
		t.Fatalf("%d ids, %d open, %d ended: %+v", open, l.streams.Open(), sink.Count, sink.Result)
	}
	if grown > 160*n {
		t.Errorf("%d bytes for a stream", grown/n)
	}
}
