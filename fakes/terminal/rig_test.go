package terminal_test

import (
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"assay/fakes/gateway"
	"assay/fakes/stdio"
	"assay/internal/testkit"
)

// cutter cuts connections as a network does: without a Close frame.
type cutter struct {
	mu    sync.Mutex
	conns []net.Conn
}

func (c *cutter) wrap(next net.Conn) net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns = append(c.conns, next)
	return next
}

// cut cuts all connections that were made so far.
func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
}

// hostile sends what the protocol does not know in front of every message, and each exit twice, the second time with another code.
type hostile struct{ stdio.Sink }

func (h *hostile) Send(m stdio.Message) error {
	for _, text := range []string{"{", "null", "[1]", `{"type":7}`, `{"type":"reboot"}`, `{"type":"exit"}`, `{"type":"error","message":{"a":"<img src=x>"}}`, "<script>alert(1)</script>"} {
		_ = h.Sink.Send(stdio.Message{Data: []byte(text)})
	}
	_ = h.Sink.Send(stdio.Message{Binary: true, Data: []byte{200, 'x'}})
	_ = h.Sink.Send(stdio.Message{Binary: true})
	err := h.Sink.Send(m)
	if !m.Binary {
		_ = h.Sink.Send(stdio.Message{Data: []byte(`{"type":"exit","code":0}`)})
		_ = h.Sink.Send(stdio.Message{Binary: true, Data: []byte("\x01behind the exit")})
	}
	return err
}

// untilNothingRuns waits until no command of a gateway runs.
func untilNothingRuns(t *testing.T, g *gateway.Gateway) {
	t.Helper()
	testkit.Eventually(t, func() error {
		if _, metrics := get(t, g.URL()+"/metrics", ""); !strings.Contains(metrics, "coppice_commands_active 0") {
			return errors.New("a command still runs")
		}
		return nil
	})
}
