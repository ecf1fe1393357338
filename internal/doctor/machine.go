package doctor

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assay/internal/bundle"
)

// The requirements of a run.
const (
	wantFDs   = 1024  // the catalogue with eight jobs stays far below
	loadFDs   = 10064 // ten thousand streams over HTTP/1.1
	wantPorts = 10000
	maxTick   = time.Millisecond // resolution of the monotonic clock
)

// machine runs the checks that need no target.
func machine() []bundle.DoctorCheck {
	return []bundle.DoctorCheck{descriptors(), ports(), monotonic(), processors()}
}

// descriptors checks the limit of open files.
func descriptors() bundle.DoctorCheck {
	c := bundle.DoctorCheck{Of: "machine", Name: "file descriptors", Health: bundle.HealthOK}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		c.Health, c.Value = bundle.HealthWarn, "the limit cannot be read: "+err.Error()
		return c
	}
	c.Value = strconv.FormatUint(limit.Cur, 10)
	switch {
	case limit.Cur < wantFDs:
		c.Health, c.Mend = bundle.HealthFail, fmt.Sprintf("a run needs %d: ulimit -n %d", wantFDs, wantFDs)
	case limit.Cur < loadFDs:
		c.Health, c.Mend = bundle.HealthWarn, fmt.Sprintf("enough for scenarios; ten thousand streams over HTTP/1.1 need ulimit -n %d", loadFDs)
	}
	return c
}

// portRange is the file with the range of source ports on Linux.
const portRange = "/proc/sys/net/ipv4/ip_local_port_range"

// ports checks the range of source ports.
func ports() bundle.DoctorCheck {
	c := bundle.DoctorCheck{Of: "machine", Name: "source ports", Health: bundle.HealthOK}
	text, err := os.ReadFile(portRange)
	if errors.Is(err, os.ErrNotExist) {
		c.Value = "the range is unknown on " + runtime.GOOS
		return c
	}
	var low, high int
	if _, scanErr := fmt.Sscan(string(text), &low, &high); err != nil || scanErr != nil || high < low {
		c.Health, c.Value = bundle.HealthWarn, fmt.Sprintf("%s cannot be parsed: %.40q", portRange, strings.TrimSpace(string(text)))
		return c
	}
	c.Value = fmt.Sprintf("%d (%d to %d)", high-low+1, low, high)
	if high-low+1 < wantPorts {
		c.Health, c.Mend = bundle.HealthWarn, fmt.Sprintf("ten thousand streams to one address need as many: sysctl net.ipv4.ip_local_port_range=\"%d %d\"", high-wantPorts, high)
	}
	return c
}

// monotonic checks the resolution of the clock.
func monotonic() bundle.DoctorCheck {
	c := bundle.DoctorCheck{Of: "machine", Name: "clock", Health: bundle.HealthOK}
	var ticks []time.Duration
	for last := time.Now(); len(ticks) < 32; {
		if now := time.Now(); now.After(last) {
			ticks = append(ticks, now.Sub(last))
			last = now
		}
	}
	slices.Sort(ticks)
	tick := ticks[len(ticks)/2]
	c.Value = fmt.Sprintf("ticks every %v", tick)
	if tick > maxTick {
		c.Health, c.Mend = bundle.HealthWarn, "latencies below that cannot be distinguished"
	}
	return c
}

// processors checks the number of CPUs.
func processors() bundle.DoctorCheck {
	n := runtime.GOMAXPROCS(0)
	c := bundle.DoctorCheck{Of: "machine", Name: "processors", Health: bundle.HealthOK, Value: strconv.Itoa(n)}
	if n < 2 {
		c.Health, c.Mend = bundle.HealthWarn, "the driver and a gateway on this machine share one CPU: extend deadlines with --time-scale 2"
	}
	return c
}
