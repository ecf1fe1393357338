package load

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Connections come from the sources in turns, and a port is chosen only when one is made.
func TestConnectionsComeFromTheSources(t *testing.T) {
	whole := answerOf(startEvent(7), stdout("1\n2\n3\n"), endEvent(0), eos)
	var mu sync.Mutex
	var from []string
	addr := listen(t, func(c net.Conn) {
		host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
		mu.Lock()
		from = append(from, host)
		mu.Unlock()
		serveStarts(c, whole)
	})
	l, err := net.Listen("tcp", "127.0.0.9:0")
	if err != nil {
		t.Skipf("loopback has one address here: %v", err)
	}
	_ = l.Close()
	p := testPlan(t, addr, func(p *Plan) {
		p.Streams, p.Count = 4, 4
		p.Sources = []netip.Addr{netip.MustParseAddr("127.0.0.8"), netip.MustParseAddr("127.0.0.9")}
	})
	wantOutcomes(t, runPlan(t, t.Context(), p), map[Outcome]int64{OK: 4})
	slices.Sort(from)
	if !slices.Contains(from, "127.0.0.8") || !slices.Contains(from, "127.0.0.9") || slices.Contains(from, "127.0.0.1") {
		t.Errorf("connections came from %v", from)
	}
}

func TestLimitsOfTheGatewayAreRead(t *testing.T) {
	for name, tt := range map[string]struct {
		text       string
		most, used int
	}{
		"both":             {"# HELP process_max_fds x\nprocess_max_fds 20000\nprocess_open_fds 1.2e+01\n", 20000, 12},
		"neither":          {"go_goroutines 5\n", 0, 0},
		"no numbers":       {"process_max_fds many\n", 0, 0},
		"a limit of none":  {"process_max_fds 1.8446744073709552e+19\nprocess_open_fds 7\n", 0, 7},
		"a negative limit": {"process_max_fds -1\n", 0, 0},
		"nothing":          {"", 0, 0},
	} {
		if most, used := descriptorsOf([]byte(tt.text)); most != tt.most || used != tt.used {
			t.Errorf("%s: %d and %d, want %d and %d", name, most, used, tt.most, tt.used)
		}
	}
}

func TestTheDriverMeasuresItsOwnDelay(t *testing.T) {
	p := testPlan(t, ticking(t, killOK, chunk(endEvent(-1)+eos)+lastChunk), endless, func(p *Plan) { p.Duration = time.Hour })
	c := runUntil(t, DriverLag, 5, p)
	if h := c.hist.total[DriverLag]; h.TotalCount() < 5 || h.Max() > patience.Microseconds() {
		t.Errorf("%d samples of up to %d µs", h.TotalCount(), h.Max())
	}
}

func TestALineSaysWhatAPlanTakes(t *testing.T) {
	m := machine{files: 1000, used: 10, ports: 28232, memory: 1 << 30}
	f := preflight{connections: 30000, descriptors: 500, processes: 3, memory: 300 << 20, sources: []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")}}
	text := strings.Join(f.lines(m, &Plan{}), "\n")
	for _, want := range []string{"30000 connections", "56464 local ports of 2 addresses from 127.0.0.1 on", "500 of 990 free descriptors", "300 MB of 1024 MB memory", "3 worker processes"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
}
