//go:build unix

package load

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// thisMachine reads the limits of this process.
func thisMachine() machine {
	var m machine
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err == nil && r.Cur < 1<<30 {
		m.files = int(r.Cur) //nolint:gosec // below 2^30
	}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		m.used = len(open)
	}
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		if lo, hi, ok := portRange(string(text)); ok {
			m.ports = hi - lo + 1
		}
	}
	m.memory = kilobytes("/proc/meminfo", "MemAvailable:") << 10
	return m
}

// kilobytes returns the number after a name in a file of /proc, 0 when it is missing.
func kilobytes(file, name string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err == nil {
				return kb
			}
		}
	}
	return 0
}

func portRange(text string) (lo, hi int, ok bool) {
	words := strings.Fields(text)
	if len(words) != 2 {
		return 0, 0, false
	}
	lo, err1 := strconv.Atoi(words[0])
	hi, err2 := strconv.Atoi(words[1])
	return lo, hi, err1 == nil && err2 == nil && lo <= hi
}

// cpuSeconds returns the processor time of this process so far, user and system.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// peakMemory returns the largest resident set of this process so far, in bytes. It prefers
// VmHWM, because ru_maxrss includes the parent before exec.
func peakMemory() int64 {
	if kb := kilobytes("/proc/self/status", "VmHWM:"); kb > 0 {
		return kb << 10
	}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(u.Maxrss) //nolint:unconvert // bytes there; 32 bits on some systems
	}
	return int64(u.Maxrss) << 10 //nolint:unconvert // 32 bits on some systems
}
