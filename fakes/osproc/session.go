//go:build unix

package osproc

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// killWait limits the wait of KillAll for killed processes. A process that hangs in the kernel outlives it.
const killWait = 5 * time.Second

// killSessions kills all members of sessions, repeatedly until there are none: one may fork while the list is read.
func killSessions(ids []int) {
	if len(ids) == 0 {
		return
	}
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for start := time.Now(); time.Since(start) < killWait; <-again.C {
		for _, id := range ids {
			_ = syscall.Kill(-id, syscall.SIGKILL) // the group may be empty
		}
		members := sessionMembers(ids)
		if len(members) == 0 {
			return
		}
		for _, pid := range members {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
}

// sessionMembers lists the running processes of sessions. Without /proc it lists nothing, and only the process groups are killed.
func sessionMembers(ids []int) []int {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	var members []int
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // ended meanwhile
		}
		if pid, session, alive := parseStat(text); alive && slices.Contains(ids, session) {
			members = append(members, pid)
		}
	}
	return members
}

// parseStat reads pid, session and state from /proc/PID/stat. The name, in parentheses, may contain anything.
func parseStat(text []byte) (pid, session int, alive bool) {
	first, _, ok := bytes.Cut(text, []byte(" "))
	at := bytes.LastIndexByte(text, ')')
	if !ok || at < 0 {
		return 0, 0, false
	}
	fields := bytes.Fields(text[at+1:]) // state ppid pgrp session …
	if len(fields) < 4 {
		return 0, 0, false
	}
	pid, errPID := strconv.Atoi(string(first))
	session, errSession := strconv.Atoi(string(fields[3]))
	dead := fields[0][0] == 'Z' || fields[0][0] == 'X'
	return pid, session, errPID == nil && errSession == nil && !dead
}

// sessionLives reports whether processes of the session outlive its leader. Only shells on a terminal create more than one group.
func sessionLives(id int, terminal bool) bool {
	return groupLives(id) || terminal && len(sessionMembers([]int{id})) > 0
}

func groupLives(id int) bool { return !errors.Is(syscall.Kill(-id, 0), syscall.ESRCH) }

// exists reports whether a pid is in use.
func exists(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
