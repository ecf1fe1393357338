//go:build unix

package machine

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Descriptors returns the number of file descriptors that this process may have and has.
// 0 is unknown or unlimited.
func Descriptors() (limit, used int) {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err == nil && r.Cur < 1<<30 {
		limit = int(r.Cur) //nolint:gosec // below 2^30
	}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		used = len(open)
	}
	return limit, used
}

// NoCore keeps the system from writing the memory of this process, which may hold secrets, to a file
// when it crashes. Its children inherit that, but may raise the limit again.
func NoCore() {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &r); err == nil {
		r.Cur = 0
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &r) // always allowed
	}
}

// Ports returns the range of local ports for outgoing connections; ok is false if it is unknown.
func Ports() (low, high int, ok bool) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0, 0, false
	}
	return portRange(string(text))
}

func portRange(text string) (low, high int, ok bool) {
	words := strings.Fields(text)
	if len(words) != 2 {
		return 0, 0, false
	}
	low, err1 := strconv.Atoi(words[0])
	high, err2 := strconv.Atoi(words[1])
	return low, high, err1 == nil && err2 == nil && low <= high
}

// FreeMemory returns the bytes of memory that are free or can be freed; 0 is unknown.
func FreeMemory() int64 { return kilobytes("/proc/meminfo", "MemAvailable:") << 10 }

// kilobytes returns the number after a name in a file of /proc, 0 if it is not there.
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

// Competition reads what competes for the processors; ok is false if it is unknown.
func Competition() (c Contest, ok bool) {
	avg, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return c, false
	}
	if c.Runnable, ok = runnable(string(avg)); !ok {
		return c, false
	}
	if text, err := os.ReadFile("/proc/pressure/cpu"); err == nil { // some kernels do not have it
		c.Stalled = stalled(string(text))
	}
	if text, err := os.ReadFile("/proc/stat"); err == nil {
		c.Stolen = stolen(string(text))
	}
	return c, true
}

// runnable returns the number of runnable threads of /proc/loadavg: "0.42 0.31 0.20 3/512 4711".
func runnable(text string) (n int, ok bool) {
	words := strings.Fields(text)
	if len(words) < 4 {
		return 0, false
	}
	now, _, ok := strings.Cut(words[3], "/")
	n, err := strconv.Atoi(now)
	return n, ok && err == nil
}

// stalled returns the total of the line "some" of /proc/pressure/cpu.
func stalled(text string) time.Duration {
	_, total, _ := strings.Cut(text, " total=")
	total, _, _ = strings.Cut(total, "\n")
	us, _ := strconv.ParseInt(total, 10, 64) // 0 if it is not there
	return time.Duration(us) * time.Microsecond
}

// stolen returns the eighth number of the first line of /proc/stat, in hundredths of a second.
func stolen(text string) time.Duration {
	line, _, _ := strings.Cut(text, "\n")
	words := strings.Fields(line)
	if len(words) < 9 {
		return 0
	}
	ticks, _ := strconv.ParseInt(words[8], 10, 64)
	return time.Duration(ticks) * 10 * time.Millisecond
}

// CPUSeconds returns the CPU time of this process so far, user and system.
func CPUSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// PeakMemory returns the largest resident set of this process so far, in bytes. It prefers
// VmHWM, because ru_maxrss also counts the parent from before exec.
func PeakMemory() int64 {
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
