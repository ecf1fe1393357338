package portable_test

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"assay/internal/load"
	"assay/internal/load/loadtest"
	"assay/internal/load/portable"
	"assay/internal/record/bundle"
)

func TestConnectionsComeFromTheSources(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.9:0")
	if err != nil {
		t.Skipf("loopback has one address here: %v", err)
	}
	_ = l.Close()
	each(t, func(t *testing.T, e load.Engine) {
		var mu sync.Mutex
		var from []string
		addr := loadtest.Listen(t, func(c net.Conn) {
			host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
			mu.Lock()
			from = append(from, host)
			mu.Unlock()
			loadtest.ServeStarts(c, loadtest.GoodAnswer())
		})
		p := loadtest.Plan(t, addr, func(p *load.Plan) {
			p.Streams, p.Count = 4, 4
			p.Sources = []netip.Addr{netip.MustParseAddr("127.0.0.8"), netip.MustParseAddr("127.0.0.9")}
		})
		loadtest.Drive(t.Context(), t, e, p).Want(t, map[bundle.StreamOutcome]int64{bundle.StreamOK: 4})
		mu.Lock()
		defer mu.Unlock()
		if !slices.Contains(from, "127.0.0.8") || !slices.Contains(from, "127.0.0.9") || slices.Contains(from, "127.0.0.1") {
			t.Errorf("connections came from %v", from)
		}
	})
}

func TestTheDriverMeasuresItsOwnDelay(t *testing.T) {
	addr := ticking(t, loadtest.KillOK, loadtest.Chunk(loadtest.EndEvent(-1)+loadtest.EOS)+loadtest.LastChunk)
	p := loadtest.Plan(t, addr, loadtest.Endless, func(p *load.Plan) { p.Duration = time.Hour })
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	c := loadtest.NewTally()
	left := 5
	c.OnRecord = func(m load.Metric) {
		if m == load.DriverLag {
			if left--; left == 0 {
				stop()
			}
		}
	}
	loadtest.DriveTo(ctx, t, c, portable.Engine{}, p)
	if lags := c.Values[load.DriverLag]; len(lags) < 5 || slices.Max(lags) > loadtest.Patience {
		t.Errorf("driver lags %v", lags)
	}
}
