//go:build linux && (amd64 || arm64)

package fast

import (
	"testing"

	"golang.org/x/sys/unix"

	"assay/internal/load"
)

// A gateway may answer before it has read the whole request. The rest of that request must
// not precede the next one.
func TestAConnectionWithAnUnsentRequestIsNotUsedAgain(t *testing.T) {
	for name, answer := range map[string]string{
		"in chunks":     string(wholeAnswer()),
		"with a length": "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno",
	} {
		t.Run(name, func(t *testing.T) {
			l, sink := bench(t, load.ProtocolConnect, load.CodecJSON, load.HTTP11, fiveLines)
			i, s := l.testStream()
			ci, c := l.testConn(i, s)
			c.unsent = true
			l.feedConn(ci, []byte(answer))
			if sink.Count != 1 || c.state != connFree || len(l.idle) != 0 {
				t.Fatalf("%d ended, the connection is in state %d, %d are idle", sink.Count, c.state, len(l.idle))
			}
			l.connEvent(ci, c, unix.EPOLLOUT) // a late event has no effect
		})
	}
}
