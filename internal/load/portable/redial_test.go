package portable_test

import (
	"crypto/tls"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"assay/internal/load"
	"assay/internal/load/loadtest"
	"assay/internal/record/bundle"
)

// dialLog has the times at which a gateway accepted connections.
type dialLog struct {
	mu     sync.Mutex
	times  []time.Time
	enough chan struct{} // closed at the last of mostDials
}

const mostDials = 9

// note notes one more connection and returns its number, from 1.
func (l *dialLog) note() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.times = append(l.times, time.Now()); len(l.times) == 1+mostDials {
		close(l.enough)
	}
	return len(l.times)
}

// A gateway serves its first connection, for one stream at a time, and no other. Neither driver
// dials as fast as that fails; the failure is told once, and the other streams wait for room.
func TestFailingDialsBesideAConnectionAreFewAndTold(t *testing.T) {
	expired := selfSigned(t, time.Now().Add(-time.Hour))
	outdated := loadtest.ServerTLS()
	outdated.Certificates = []tls.Certificate{expired}
	for name, tt := range map[string]struct {
		way   loadtest.Way
		other func(c net.Conn) // serves the further connections
		fails bundle.StreamOutcome
		told  string
	}{
		"an expired certificate": {loadtest.Ways()[1], func(c net.Conn) { _ = tls.Server(c, outdated).HandshakeContext(t.Context()) }, bundle.StreamServerError, "certificate has expired"},
		"closed":                 {loadtest.Ways()[0], loadtest.HangUp, bundle.StreamReset, "closed instead of SETTINGS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, e load.Engine) {
				t.Parallel()
				dials := &dialLog{enough: make(chan struct{})}
				good := tt.way.Serve(h2Script([]http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: 1}}, func(p *h2Peer, id uint32) {
					select {
					case <-dials.enough:
					case <-time.After(loadtest.Patience / 2):
						t.Error("nothing more is dialled")
					}
					p.whole(id)
				}))
				addr := loadtest.Listen(t, func(c net.Conn) {
					if dials.note() == 1 {
						good(c)
						return
					}
					tt.other(c)
				})
				c := loadtest.Drive(t.Context(), t, e, loadtest.Plan(t, addr, overH2, tt.way.Plan, func(p *load.Plan) {
					if p.Streams, p.Count = 4, 4; p.TLS != nil {
						p.TLS.RootCAs = p.TLS.RootCAs.Clone()
						p.TLS.RootCAs.AddCert(expired.Leaf)
					}
				}))
				c.Want(t, map[bundle.StreamOutcome]int64{bundle.StreamOK: 3, tt.fails: 1})
				if m := c.Message(); !strings.Contains(m, tt.told) {
					t.Errorf("message %q", m)
				}
				dials.mu.Lock()
				defer dials.mu.Unlock()
				if len(dials.times) > mostDials && dials.times[mostDials].Sub(dials.times[1]) < 300*time.Millisecond { // two pauses
					t.Errorf("the further connections came at %v", dials.times[1:])
				}
			})
		})
	}
}
