package load

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"assay/internal/base/machine"
)

func TestAPlanIsHeldAgainstTheMachine(t *testing.T) {
	m := capacity{files: 1000, used: 10, ports: 28232}
	const near = "127.0.0.1:8081"
	tests := map[string]struct {
		machine         capacity
		plan            Plan
		embedded, split bool
		what            []string // nil when it fits
		maxOpen         int
		processes       int
		sources         int
	}{
		"it fits":                         {m, Plan{HTTP: HTTP11, Schedule: Schedule{Streams: 900, Duration: time.Second}}, false, true, nil, 0, 1, 0},
		"too many descriptors":            {m, Plan{HTTP: HTTP11, Schedule: Schedule{Streams: 950, Duration: time.Second}}, false, false, []string{"1014 file descriptors", "1000", "10 are in use", "ulimit -n 1024", "h2c"}, 0, 1, 0},
		"too many WebSockets":             {m, Plan{HTTP: HTTP11, Schedule: Schedule{Streams: 950, Duration: time.Second}, Classes: []Class{{Dialect: Dialect{Protocol: ProtocolWS}}}}, false, false, []string{"ulimit -n 1024), or open fewer"}, 0, 1, 0},
		"shared among processes":          {m, Plan{HTTP: HTTP11, Schedule: Schedule{Streams: 950, Duration: time.Second}}, false, true, nil, 0, 2, 0},
		"shared among many":               {m, Plan{HTTP: HTTP11, Schedule: Schedule{Streams: 9500, Duration: time.Second}}, false, true, nil, 0, 11, 0},
		"too many even for that":          {capacity{files: 100, used: 10}, Plan{HTTP: HTTP11, Schedule: Schedule{Streams: 9500, Duration: time.Second}}, false, true, []string{"9564 file descriptors"}, 0, 1, 0},
		"two per stream, embedded":        {m, Plan{HTTP: HTTP11, Schedule: Schedule{Streams: 500, Duration: time.Second}}, true, true, []string{"1064 file descriptors", "embedded"}, 0, 1, 0},
		"few descriptors for many":        {capacity{files: 80, used: 10}, Plan{HTTP: H2C, Schedule: Schedule{Streams: 100000, Duration: time.Second}}, false, false, nil, 0, 1, 0},
		"too few even for HTTP/2":         {capacity{files: 70, used: 10}, Plan{HTTP: H2C, Schedule: Schedule{Streams: 100000, Duration: time.Second}}, false, true, []string{"4 connections need 68 file descriptors"}, 0, 1, 0},
		"streams share connections":       {m, Plan{HTTP: H2C, Schedule: Schedule{Streams: 100000, Duration: time.Second}}, false, false, nil, 0, 1, 0},
		"too many ports":                  {capacity{files: 1 << 20, ports: 28232}, Plan{Addr: "10.0.0.1:80", HTTP: HTTP11, Schedule: Schedule{Streams: 28200, Duration: time.Second}}, false, false, []string{"28232", "ip_local_port_range", "h2c"}, 0, 1, 0},
		"ports of several addresses":      {capacity{files: 1 << 20, ports: 28232}, Plan{Addr: near, HTTP: HTTP11, Schedule: Schedule{Streams: 28200, Duration: time.Second}}, false, false, nil, 0, 1, 3},
		"a rate that never ends":          {m, Plan{HTTP: HTTP11, Schedule: Schedule{Rate: 100, Duration: 10 * time.Second}, Classes: []Class{{Endless: true}}}, false, false, []string{"1000 connections"}, 926, 1, 0},
		"a rate is bounded while it runs": {m, Plan{HTTP: HTTP11, Schedule: Schedule{Rate: 100000, Duration: 10 * time.Second}}, false, false, nil, 926, 1, 0},
		"too much memory":                 {capacity{memory: 1 << 20}, Plan{HTTP: HTTP11, Schedule: Schedule{Streams: 1000, Duration: time.Second}}, false, false, []string{"15 MB", "1 MB"}, 0, 1, 0},
		"unknown limits limit nothing":    {capacity{}, Plan{HTTP: HTTP11, Schedule: Schedule{Streams: 1 << 20, Duration: time.Second}}, false, false, nil, 0, 1, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f, err := tt.machine.fit(&tt.plan, stub{}, splitting{embedded: tt.embedded, may: tt.split})
			var limit *machine.LimitError
			if errors.As(err, &limit) != (tt.what != nil) {
				t.Fatalf("%v", err)
			}
			for _, part := range tt.what {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v\nwant %q in it", err, part)
				}
			}
			if tt.plan.MaxOpen != tt.maxOpen {
				t.Errorf("%d may be open, want %d", tt.plan.MaxOpen, tt.maxOpen)
			}
			if tt.what == nil && (f.processes != tt.processes || len(tt.plan.Sources) != tt.sources) {
				t.Errorf("%d processes, want %d; sources %v, want %d", f.processes, tt.processes, tt.plan.Sources, tt.sources)
			}
			if text := strings.Join(f.lines(tt.machine, &tt.plan), "; "); (tt.processes > 1) != strings.Contains(text, "worker processes") {
				t.Errorf("the lines are %q", text)
			}
		})
	}
}

func TestThisMachineIsKnown(t *testing.T) {
	if m := thisMachine(); m.files <= 0 {
		t.Skip("this system has no known limits")
	} else if _, err := m.fit(&Plan{HTTP: HTTP11, Schedule: Schedule{Streams: 1, Duration: time.Second}}, stub{}, splitting{embedded: true}); err != nil {
		t.Error(err)
	}
	if runtime.GOOS == "linux" && thisMachine().memory < 1<<20 {
		t.Error("the free memory is unknown")
	}
	if machine.CPUSeconds() <= 0 || machine.PeakMemory() < 1<<20 {
		t.Errorf("%v s, %d bytes", machine.CPUSeconds(), machine.PeakMemory())
	}
}
