package load

import (
	"net/netip"
	"strings"
	"testing"
)

func TestLimitsOfTheGatewayAreRead(t *testing.T) {
	for name, tt := range map[string]struct {
		text       string
		most, used int
	}{
		"both":             {"# HELP process_max_fds x\nprocess_max_fds 20000\nprocess_open_fds 1.2e+01\n", 20000, 12},
		"neither":          {"go_goroutines 5\n", 0, 0},
		"no numbers":       {"process_max_fds many\n", 0, 0},
		"no limit":         {"process_max_fds 1.8446744073709552e+19\nprocess_open_fds 7\n", 0, 7},
		"a negative limit": {"process_max_fds -1\n", 0, 0},
		"nothing":          {"", 0, 0},
	} {
		if most, used := descriptorsOf([]byte(tt.text)); most != tt.most || used != tt.used {
			t.Errorf("%s: %d and %d, want %d and %d", name, most, used, tt.most, tt.used)
		}
	}
}

func TestALineSaysWhatAPlanTakes(t *testing.T) {
	m := capacity{files: 1000, used: 10, ports: 28232, memory: 1 << 30}
	f := preflight{connections: 30000, descriptors: 500, processes: 3, memory: 300 << 20, sources: []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")}}
	text := strings.Join(f.lines(m, &Plan{}), "\n")
	for _, want := range []string{"30000 connections", "56464 local ports of 2 addresses from 127.0.0.1 on", "500 of 990 free descriptors", "300 MB of 1024 MB memory", "3 worker processes"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
}

// looping is an engine with a number of event loops in each process.
type looping struct {
	stub

	loops int
}

func (l looping) EventLoops(p *Plan) int { return max(l.loops/max(p.Parts, 1), 1) }

// Each loop has descriptors of its own, and at least one HTTP/2 connection. The number of loops
// is that of all processes.
func TestLoopsTakeDescriptors(t *testing.T) {
	for name, tt := range map[string]struct {
		engine                          Engine
		plan                            Plan
		loops, connections, descriptors int
	}{
		"no loops":               {stub{}, Plan{HTTP: HTTP11, Schedule: Schedule{Streams: 100}}, 0, 100, 164},
		"one loop":               {looping{loops: 1}, Plan{HTTP: HTTP11, Schedule: Schedule{Streams: 100}}, 1, 100, 164},
		"many loops":             {looping{loops: 8}, Plan{HTTP: HTTP11, Schedule: Schedule{Streams: 100}}, 8, 100, 185},
		"many loops on HTTP/2":   {looping{loops: 8}, Plan{HTTP: H2C, Schedule: Schedule{Streams: 10_000}}, 8, 8, 93},
		"shared among processes": {looping{loops: 8}, Plan{HTTP: HTTP11, Schedule: Schedule{Streams: 1500}}, 8, 1500, 814},
	} {
		f, err := capacity{files: 1000}.fit(&tt.plan, tt.engine, splitting{may: true})
		if err != nil || f.connections != tt.connections || f.descriptors != tt.descriptors || f.loops(&tt.plan, tt.engine) != tt.loops {
			t.Errorf("%s: %d loops, %d connections, %d descriptors, %v", name, f.loops(&tt.plan, tt.engine), f.connections, f.descriptors, err)
		}
	}
}
