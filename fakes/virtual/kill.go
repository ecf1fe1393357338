package virtual

import (
	"strconv"
	"strings"
	"syscall"
)

// killBuiltin implements kill; the program does the same.
func killBuiltin(sh *shell, args []string) int {
	status, complaint := killCommand(sh.p, args[1:])
	if complaint != "" {
		sh.errorf("kill: %s", complaint)
	}
	return status
}

// killCommand signals processes of the same system. 0 is the caller's process group, -N the group N.
func killCommand(p *Process, args []string) (status int, complaint string) {
	sig := syscall.Signal(15)
	if len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && args[0] != "--" {
		name := args[0][1:]
		args = args[1:]
		switch {
		case name == "l":
			return listSignals(p, args)
		case name == "s" && len(args) > 0:
			name, args = args[0], args[1:]
		}
		var ok bool
		if sig, ok = parseSignal(name); !ok {
			return 2, "Illegal option -" + name
		}
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return 2, "Usage: kill [-s sigspec | -signum | -sigspec] [pid]... or kill -l [exitstatus]"
	}
	for _, arg := range args {
		n, err := strconv.ParseInt(arg, 10, 32)
		if err != nil {
			return 2, "Illegal number: " + arg
		}
		if !p.sys.signal(p, n, sig) {
			status, complaint = 1, "No such process"
		}
	}
	return status, complaint
}

// signal signals one process, the caller's process group if pid is 0 or -1, or the group -pid.
func (s *System) signal(from *Process, pid int64, sig syscall.Signal) bool {
	switch {
	case pid > 0:
		target := s.lookup(uint32(pid))
		return target != nil && target.Signal(sig) == nil
	case pid < -1:
		return s.signalGroup(uint32(-pid), sig)
	}
	return s.signalGroup(from.pgid.Load(), sig)
}

func listSignals(p *Process, args []string) (status int, complaint string) {
	var names []string
	for _, arg := range args {
		n, err := strconv.Atoi(arg)
		if err != nil || n < 0 {
			return 2, "Illegal number: " + arg
		}
		if n > 128 {
			n -= 128
		}
		names = append(names, signalName(syscall.Signal(n)))
	}
	if len(args) == 0 {
		all := signalNames()
		names = all[1:]
	}
	return truth(p.write(1, []byte(strings.Join(names, "\n")+"\n")) == nil), ""
}
