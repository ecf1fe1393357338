//go:build linux

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

// result is the cost of one run of a driver.
type result struct {
	// CPU is user and system time of the driver and its children.
	CPU time.Duration
	// Wall is the elapsed time.
	Wall time.Duration
	// Streams and Events are the gateway's counts meanwhile, ServerCPU its CPU time.
	Streams, Events int64
	ServerCPU       time.Duration
	// Output is what the driver printed on stdout.
	Output []byte
}

// command is a running driver.
type command struct {
	cmd         *exec.Cmd
	out, stderr bytes.Buffer
	begun       time.Time
	done        chan error
}

// start starts a program in dir.
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

// wait waits for the end; the error of a failure has the end of the output.
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

// last returns the end of the first text that is not empty.
func last(texts ...[]byte) string {
	for _, text := range texts {
		if text = bytes.TrimSpace(text); len(text) > 0 {
			return string(text[max(0, len(text)-400):])
		}
	}
	return "no output"
}

// cpuOf returns the CPU time of a running process so far, from schedstat, which is
// exact where the ticks of /proc/PID/stat are not. Threads that have ended are not
// included.
func cpuOf(pid int) (time.Duration, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(tasks) == 0 {
		return 0, fmt.Errorf("process %d has no threads", pid)
	}
	var sum time.Duration
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has just ended
		}
		ns, err := parseSchedstat(string(text))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", task, err)
		}
		sum += ns
	}
	return sum, nil
}

// parseSchedstat reads the first number of a schedstat: nanoseconds on a CPU.
func parseSchedstat(text string) (time.Duration, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return 0, errors.New("empty")
	}
	ns, err := strconv.ParseInt(words[0], 10, 64)
	return time.Duration(ns), err
}

// anonymous returns the anonymous resident memory of a process in bytes.
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
	return 0, errors.New("no line RssAnon")
}

// family returns a process and its descendants, for drivers that split into workers.
func family(pid int) []int {
	pids := []int{pid}
	for i := 0; i < len(pids) && len(pids) < 64; i++ {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pids[i])) // the pattern is valid
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

// ticks is the time of all CPUs since boot, in kernel ticks.
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
// irq, softirq, steal; the guest times after them are part of the first two.
func parseTicks(text string) (t ticks, err error) {
	words := strings.Fields(text)
	const steal = 8
	if len(words) <= steal || words[0] != "cpu" {
		return ticks{}, errors.New("/proc/stat has no line for all CPUs")
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

// since returns the share of the CPU time that the host took away.
func (t ticks) since(before ticks) float64 {
	return float64(t.stolen-before.stolen) / float64(max(1, t.all-before.all))
}
