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

// killWait bounds how long KillAll waits for what it has killed. A process that hangs in the kernel outlives it.
const killWait = 5 * time.Second

// killSessions kills all members of sessions, again until there are none: one may fork while the list is read.
func killSessions(ids []int) {
	if len(ids) == 0 {
		return
	}
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for start := time.Now(); time.Since(start) < killWait; <-again.C {
		for _, id := range ids {
			_ = syscall.Kill(-id, syscall.SIGKILL) // an empty group needs none
		}
		members := sessionMembers(ids)
		if len(members) == 0 {
			return
		}
		for _, pid := range members {
			_ = syscall.Kill(pid, syscall.SIGKILL) // one that has ended needs none
		}
	}
}

// sessionMembers lists the processes of sessions that live. Nothing where the system has no /proc: then the process groups must do.
func sessionMembers(ids []int) []int {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	var members []int
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended meanwhile
		}
		if pid, session, alive := parseStat(text); alive && slices.Contains(ids, session) {
			members = append(members, pid)
		}
	}
	return members
}

// parseStat reads pid, session and whether it is alive from /proc/PID/stat. The name, in parentheses, may hold anything.
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

// sessionLives says whether an ended leader has left somebody behind. Only shells on a terminal make more than one group.
func sessionLives(id int, terminal bool) bool {
	return groupLives(id) || terminal && len(sessionMembers([]int{id})) > 0
}

func groupLives(id int) bool { return !errors.Is(syscall.Kill(-id, 0), syscall.ESRCH) }

// exists says whether a pid is in use.
func exists(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
