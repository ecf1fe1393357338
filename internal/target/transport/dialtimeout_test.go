package transport

import (
	"context"
	"net"
	"testing"
)

// Only a refusal tells that nobody listens: a connection that is not there in time may come later.
func TestARefusedConnectionIsNoTimeout(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	_ = l.Close()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	late, end := context.WithTimeout(t.Context(), 1)
	defer end()
	for name, c := range map[string]struct {
		ctx     context.Context
		timeout bool
	}{"refused": {t.Context(), false}, "given up": {ended, true}, "late": {late, true}} {
		rec := NewRecorder(NewClock(), nil)
		if _, err := Open(c.ctx, rec, "c", closed, Options{}); err == nil {
			t.Fatalf("%s: it is open", name)
		}
		conns, _ := rec.Finish(nil)
		if len(conns) != 1 || conns[0].DialError == "" || conns[0].DialTimeout != c.timeout {
			t.Errorf("%s: %+v", name, conns)
		}
	}
}
