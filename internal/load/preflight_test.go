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
