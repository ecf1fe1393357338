package load

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestAPlanIsHeldAgainstTheMachine(t *testing.T) {
	m := machine{files: 1000, used: 10, ports: 28232}
	tests := map[string]struct {
		machine  machine
		plan     Plan
		embedded bool
		what     []string // "" when it fits
		maxOpen  int
	}{
		"it fits":                         {m, Plan{HTTP: HTTP11, Streams: 900, Duration: time.Second}, false, nil, 0},
		"too many descriptors":            {m, Plan{HTTP: HTTP11, Streams: 950, Duration: time.Second}, false, []string{"1014 file descriptors", "1000", "10 are in use", "ulimit -n 1024", "h2c"}, 0},
		"two of them where both ends are": {m, Plan{HTTP: HTTP11, Streams: 500, Duration: time.Second}, true, []string{"1064 file descriptors", "embedded"}, 0},
		"few of them are enough for many": {machine{files: 80, used: 10}, Plan{HTTP: H2C, Streams: 100000, Duration: time.Second}, false, nil, 0},
		"too few even for those":          {machine{files: 70, used: 10}, Plan{HTTP: H2C, Streams: 100000, Duration: time.Second}, false, []string{"4 connections need 68 file descriptors"}, 0},
		"streams share connections":       {m, Plan{HTTP: H2C, Streams: 100000, Duration: time.Second}, false, nil, 0},
		"too many ports":                  {machine{files: 1 << 20, ports: 28232}, Plan{HTTP: HTTP11, Streams: 28200, Duration: time.Second}, false, []string{"28232", "ip_local_port_range", "h2c"}, 0},
		"a rate that never ends":          {m, Plan{HTTP: HTTP11, Rate: 100, Duration: 10 * time.Second, Endless: true}, false, []string{"1000 connections"}, 926},
		"a rate is bounded while it runs": {m, Plan{HTTP: HTTP11, Rate: 100000, Duration: 10 * time.Second}, false, nil, 926},
		"nothing known limits nothing":    {machine{}, Plan{HTTP: HTTP11, Streams: 1 << 20, Duration: time.Second}, false, nil, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := tt.machine.fit(&tt.plan, tt.embedded)
			var limit *LimitError
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
		})
	}
}

func TestThisMachineIsKnown(t *testing.T) {
	if m := thisMachine(); m.files <= 0 {
		t.Skip("this system does not say")
	} else if err := m.fit(&Plan{HTTP: HTTP11, Streams: 1, Duration: time.Second}, true); err != nil {
		t.Error(err)
	}
	if cpuSeconds() <= 0 || peakMemory() < 1<<20 {
		t.Errorf("%v s, %d bytes", cpuSeconds(), peakMemory())
	}
}
