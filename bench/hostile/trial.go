package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assay/fakes/hostile"
	"assay/internal/base/machine"
)

// limits are what a run may take.
type limits struct {
	wall   time.Duration
	peak   int64 // resident memory in bytes
	output int   // bytes on stdout and stderr
}

var defaultLimits = limits{wall: 30 * time.Second, peak: 600 << 20, output: 4 << 20}

// of returns the limits of a trial. A conform run may take eight times as long as others: where input and signals are lost,
// about 300 of its runs wait for 8 s each, 24 at a time.
func (l limits) of(t trial) limits {
	if t.command == "conform" {
		l.wall *= 8
	}
	return l
}

// trial is one command against one mode.
type trial struct {
	mode    hostile.Mode
	command string
}

// commands lists the commands that have a target.
func commands() []string { return []string{"conform", "load", "doctor", "replay"} }

// allCases returns every command against every mode.
func allCases() []trial {
	var all []trial
	for _, m := range hostile.Modes() {
		for _, c := range commands() {
			all = append(all, trial{m, c})
		}
	}
	return all
}

// args is the command line.
func (t trial) args(url string) []string {
	var more []string
	switch t.command {
	case "conform":
		if t.mode.Scope == hostile.Metrics {
			more = []string{"--profile", "coppice"} // no other profile requires counters
		}
		if t.mode.Scope == hostile.Sockets {
			more = []string{"--profile", "stdio"}
		}
	case "load":
		more = []string{"--streams", "20", "--duration", "1s"}
		if t.mode.HTTP2 || t.mode.Scope == hostile.OverHTTP2 {
			more = append(more, "--http", "h2c")
		}
	case "replay":
		more = []string{"process.exit.codes"}
		if t.mode.Scope == hostile.Unary {
			more = []string{"process.list.running"}
		}
		if t.mode.Scope == hostile.Sockets {
			more = []string{"stdio.exit.code"}
		}
	}
	args := append([]string{t.command}, more...)
	if t.mode.Secure && t.mode.ID != "tls-expired" { // gets past the certificate to what is behind it
		args = append(args, "--insecure")
	}
	return append(args, url)
}

// late reports whether the mode begins behind first contact, which is all that doctor makes.
func (t trial) late() bool { return t.command != "doctor" }

// mayPass reports whether the command can rightly find nothing wrong.
func (t trial) mayPass() bool {
	if t.mode.Legal {
		return true
	}
	counters := t.mode.Scope == hostile.Metrics
	switch t.command {
	case "doctor": // says whether testing is possible
		return t.mode.Reachable()
	case "load":
		return t.mode.Mild || counters || t.mode.Scope == hostile.Unary || t.mode.Scope == hostile.Sockets
	case "replay":
		return t.mode.Mild || counters || t.mode.Scope == hostile.OverHTTP2 // over HTTP/1.1
	}
	return false
}

// row is what came of a trial.
type row struct {
	exit      int
	verdict   string
	wall, cpu time.Duration
	peak      int64
	breaks    []string
	err       error // the trial itself failed
}

// try runs a trial against a server of its own.
func (b *bench) try(ctx context.Context, t trial) (r row) {
	s, err := t.mode.Start(context.WithoutCancel(ctx), t.late())
	if err != nil {
		return row{err: err}
	}
	defer s.Close()
	dir, err := os.MkdirTemp("", "assay-hostile-")
	if err != nil {
		return row{err: err}
	}
	defer func() { _ = os.RemoveAll(dir) }()

	c := exec.Command(b.program, t.args(s.URL)...) //nolint:noctx // watch ends it
	out := bounded{room: 4 * b.limits.output}
	c.Dir, c.Stdout, c.Stderr = dir, &out, &out
	c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ASSAY_") }), "GOTRACEBACK=single")
	c.SysProcAttr = machine.OwnGroup()
	begun := time.Now()
	if err := c.Start(); err != nil {
		return row{err: err}
	}
	limits := b.limits.of(t)
	w := watcher{limits: limits, pid: c.Process.Pid, done: make(chan struct{}), ended: make(chan struct{})}
	go w.watch(ctx)
	_ = c.Wait()
	close(w.done)
	<-w.ended
	if r.err = ctx.Err(); r.err != nil {
		return r
	}
	r.wall, r.exit = time.Since(begun), c.ProcessState.ExitCode()
	r.cpu = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	r.peak, r.verdict = w.peak, verdict(string(out.kept))
	if w.why != "" {
		r.breaks = []string{w.why}
		return r
	}
	r.breaks = limits.broken(t, r, &out)
	return r
}

// watcher measures a process, and kills its group when it is far over a limit. It reads the
// peak while the process runs: that of wait4 includes the memory of this one, which forked it.
type watcher struct {
	limits
	pid         int
	done, ended chan struct{}
	peak        int64
	why         string // it was killed
}

func (w *watcher) watch(ctx context.Context) {
	defer close(w.ended)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.NewTimer(w.wall * 3 / 2)
	defer end.Stop()
	for w.why == "" {
		select {
		case <-w.done:
			return
		case <-ctx.Done():
			w.why = "interrupted"
		case <-end.C:
			w.why = "killed after " + (w.wall * 3 / 2).String()
		case <-tick.C:
			w.peak = max(w.peak, peakOf(w.pid))
			if w.peak > 2*w.limits.peak {
				w.why = fmt.Sprintf("killed at %d MB", w.peak>>20)
			}
		}
	}
	_ = machine.SignalGroup(w.pid, syscall.SIGKILL)
}

// peakOf returns the largest resident memory of a process in bytes, 0 if it has ended.
func peakOf(pid int) int64 {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	if words := strings.Fields(rest); len(words) > 0 {
		kb, _ := strconv.ParseInt(words[0], 10, 64)
		return kb << 10
	}
	return 0
}

// broken names the limits that a run broke.
func (l limits) broken(t trial, r row, out *bounded) (breaks []string) {
	text := string(out.kept)
	check := func(broken bool, format string, args ...any) {
		if broken {
			breaks = append(breaks, fmt.Sprintf(format, args...))
		}
	}
	check(r.wall > l.wall, "time over %s", l.wall)
	check(r.peak > l.peak, "memory over %d MB", l.peak>>20)
	check(out.wrote > l.output, "%d KB of output", out.wrote>>10)
	check(strings.ContainsAny(text, "\x1b\x07\x00\x08\u202e\u009b"), "control characters in the output")
	check(strings.Contains(text, "\ngoroutine ") || strings.HasPrefix(text, "panic: "), "crash")
	check(r.exit == 0 && !t.mayPass(), "finds nothing wrong")
	check(r.exit == 1 && t.mode.Legal, "blames what is legal")
	check(r.exit == 2 || r.exit == 4, "exit code %d%s", r.exit, reason(text))
	check(r.exit != 0 && strings.TrimSpace(text) == "", "says nothing")
	return breaks
}

// reason returns the first paragraph about a defect of Assay, "" if there is none.
func reason(text string) string {
	_, about, found := strings.Cut(text, "\nERROR")
	if !found {
		return ""
	}
	about, _, _ = strings.Cut(about, "\n\n")
	return ": " + strings.Join(strings.Fields(about), " ")
}

// verdicts are the words in which the commands print their verdict.
var verdicts = regexp.MustCompile(`(?m)^(NOT CONFORMANT|CONFORMANT|INCONCLUSIVE|UNDECIDED|NOT READY|READY|FAIL|PASS)\b|\b(cannot test)\b`)

// verdict returns the verdict that a run printed, "" if it printed none.
func verdict(text string) string {
	if word := verdicts.FindString(text); word != "cannot test" {
		return word
	}
	return "unreachable"
}

// bounded keeps the beginning of what is written, and counts all of it.
type bounded struct {
	kept        []byte
	room, wrote int
}

func (b *bounded) Write(p []byte) (int, error) {
	b.wrote += len(p)
	b.kept = append(b.kept, p[:min(len(p), b.room-len(b.kept))]...)
	return len(p), nil
}
