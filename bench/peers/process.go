package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// result is what one run of a driver cost.
type result struct {
	// CPU is user and system time of the driver, and of what it started itself.
	CPU time.Duration
	// Wall is how long it ran.
	Wall time.Duration
	// Streams and Events are what the gateway counted meanwhile, and ServerCPU its own time.
	Streams, Events int64
	ServerCPU       time.Duration
	// Output is what the driver printed on stdout.
	Output []byte
}

// command is a driver that runs.
type command struct {
	cmd         *exec.Cmd
	out, stderr bytes.Buffer
	begun       time.Time
	done        chan error
}

// start starts a program in a directory of its own.
func start(ctx context.Context, dir string, argv []string) (*command, error) {
	c := &command{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...), done: make(chan error, 1)}
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr = dir, &c.out, &c.stderr
	c.cmd.Cancel = func() error { return c.cmd.Process.Signal(syscall.SIGTERM) }
	c.cmd.WaitDelay = 5 * time.Second
	c.begun = time.Now()
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", argv[0], err)
	}
	go func() { c.done <- c.cmd.Wait() }()
	return c, nil
}

// wait waits until it has ended; a failure holds the end of what it said.
func (c *command) wait() (result, error) {
	err := <-c.done
	r := result{Wall: time.Since(c.begun), Output: c.out.Bytes()}
	if usage, ok := c.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.CPU = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w: %s", strings.Join(c.cmd.Args, " "), err, last(c.stderr.Bytes(), c.out.Bytes()))
	}
	return r, nil
}

// last is the end of the first text that says anything.
func last(texts ...[]byte) string {
	for _, text := range texts {
		if text = bytes.TrimSpace(text); len(text) > 0 {
			return string(text[max(0, len(text)-400):])
		}
	}
	return "it said nothing"
}

// cpuOf is the processor time of a running process so far, from the books of the
// scheduler: they are exact where the ticks of /proc/PID/stat are not. Threads that
// have ended are not in it.
func cpuOf(pid int) (time.Duration, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(tasks) == 0 {
		return 0, fmt.Errorf("process %d has no threads", pid)
	}
	var sum time.Duration
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // it has just ended
		}
		ns, err := parseSchedstat(string(text))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", task, err)
		}
		sum += ns
	}
	return sum, nil
}

// parseSchedstat reads the first number of a schedstat: nanoseconds on a processor.
func parseSchedstat(text string) (time.Duration, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return 0, errors.New("it is empty")
	}
	ns, err := strconv.ParseInt(words[0], 10, 64)
	return time.Duration(ns), err
}

// anonymous is the anonymous resident memory of a process, in bytes.
func anonymous(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return parseRSSAnon(string(text))
}

// parseRSSAnon finds RssAnon in the text of /proc/PID/status.
func parseRSSAnon(text string) (int64, error) {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, "RssAnon:")
		if !ok {
			continue
		}
		kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
		return kb << 10, err
	}
	return 0, errors.New("there is no line RssAnon")
}

// family is a process and all that it has started, for drivers that split into workers.
func family(pid int) []int {
	pids := []int{pid}
	for i := 0; i < len(pids) && len(pids) < 64; i++ {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pids[i])) // the pattern is good
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				continue
			}
			for _, word := range strings.Fields(string(text)) {
				if child, err := strconv.Atoi(word); err == nil {
					pids = append(pids, child)
				}
			}
		}
	}
	return pids
}

// ticks are the times of all processors since the machine started, in the kernel's ticks.
type ticks struct{ all, stolen int64 }

// machineTicks reads /proc/stat.
func machineTicks() (ticks, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return ticks{}, err
	}
	return parseTicks(string(text))
}

// parseTicks reads the first line of /proc/stat: user, nice, system, idle, iowait,
// irq, softirq, steal; what follows is contained in the first two.
func parseTicks(text string) (t ticks, err error) {
	words := strings.Fields(text)
	const steal = 8
	if len(words) <= steal || words[0] != "cpu" {
		return ticks{}, errors.New("/proc/stat has no line of all processors")
	}
	for _, word := range words[1 : steal+1] {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return ticks{}, fmt.Errorf("/proc/stat: %w", err)
		}
		t.all, t.stolen = t.all+n, n
	}
	return t, nil
}

// since is the share of the processors' time that the host gave to others.
func (t ticks) since(before ticks) float64 {
	return float64(t.stolen-before.stolen) / float64(max(1, t.all-before.all))
}
