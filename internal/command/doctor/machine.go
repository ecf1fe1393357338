package doctor

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"

	"assay/internal/base/machine"
	"assay/internal/record/bundle"
)

// The requirements of a run.
const (
	wantFDs   = 1024  // the catalogue with eight jobs stays far below
	loadFDs   = 10064 // ten thousand streams over HTTP/1.1
	wantPorts = 10000
	maxTick   = time.Millisecond // resolution of the monotonic clock
)

// ofMachine runs the checks that need no target.
func ofMachine() []bundle.DoctorCheck {
	return []bundle.DoctorCheck{descriptors(), ports(), monotonic(), processors(), competition(machine.Competition)}
}

// descriptors checks the limit of open files.
func descriptors() bundle.DoctorCheck {
	c := bundle.DoctorCheck{Of: "machine", Name: "file descriptors", Health: bundle.HealthOK}
	limit, _ := machine.Descriptors()
	if limit == 0 {
		c.Value = "unlimited, or unknown on " + runtime.GOOS
		return c
	}
	c.Value = strconv.Itoa(limit)
	switch {
	case limit < wantFDs:
		c.Health, c.Mend = bundle.HealthFail, fmt.Sprintf("a run needs %d: ulimit -n %d", wantFDs, wantFDs)
	case limit < loadFDs:
		c.Health, c.Mend = bundle.HealthWarn, fmt.Sprintf("enough for scenarios; ten thousand streams over HTTP/1.1 need ulimit -n %d", loadFDs)
	}
	return c
}

// ports checks the range of source ports.
func ports() bundle.DoctorCheck {
	c := bundle.DoctorCheck{Of: "machine", Name: "source ports", Health: bundle.HealthOK}
	low, high, ok := machine.Ports()
	if !ok {
		c.Value = "the range is unknown on " + runtime.GOOS
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

// starved is the number of threads for each processor from which a machine is too busy to test on. Beside 13 (24 processes that
// only burn, on two processors) every run still had a verdict for each rule; beside 25 and more (a load of 50) none had.
const starved = 25

// The looks at what competes for the processors: a third of a second.
const (
	looks     = 10
	lookEvery = 33 * time.Millisecond
)

// competition checks how many threads are ready for each processor, besides the one that looks.
func competition(look func() (machine.Contest, bool)) bundle.DoctorCheck {
	c := bundle.DoctorCheck{Of: "machine", Name: "busy", Health: bundle.HealthOK}
	ready := 0
	for i := range looks {
		if i > 0 {
			time.Sleep(lookEvery)
		}
		seen, ok := look()
		if !ok {
			c.Value = "unknown on " + runtime.GOOS
			return c
		}
		ready += max(0, seen.Runnable-1)
	}
	each := float64(ready) / looks / float64(runtime.NumCPU())
	c.Value = fmt.Sprintf("%.1f threads ready for each processor", each)
	switch {
	case each >= starved:
		c.Health, c.Mend = bundle.HealthFail, "hardly anything comes in time here: end what else runs, or test from another machine"
	case each >= 2:
		c.Health, c.Mend = bundle.HealthWarn, fmt.Sprintf("a run takes about %.0f times as long", 1+each)
	}
	return c
}
