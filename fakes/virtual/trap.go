package virtual

import (
	"math/bits"
	"slices"
	"strconv"
	"syscall"
)

// runTraps runs the actions of pending signals. A signal during an action waits for its end.
func (sh *shell) runTraps() {
	for !sh.inTrap && sh.p.pending.Load() != 0 && !sh.p.dead.Load() && !sh.execed && sh.flow.kind != flowExit {
		sig := sh.firstPending()
		sh.p.pending.And(^uint64(sigset(0).with(sig)))
		action := sh.traps[sig]
		if action == "" {
			if sh.inter && sig == sigINT {
				sh.interrupt()
				return
			}
			continue
		}
		saved, jump := sh.last, sh.flow
		sh.flow = flow{}
		sh.inTrap, sh.trapLast = true, saved
		sh.runText(action, false)
		sh.inTrap = false
		if sh.flow.kind != flowExit {
			sh.last = saved
			if sh.flow.kind == flowNone {
				sh.flow = jump
			}
		}
	}
}

// firstPending returns the lowest pending trapped signal, or 0.
func (sh *shell) firstPending() syscall.Signal {
	set := sh.p.pending.Load()
	if set == 0 {
		return 0
	}
	return syscall.Signal(bits.TrailingZeros64(set) + 1)
}

// trapBuiltin implements trap: it lists, sets, ignores (an empty action) or resets (-).
func trapBuiltin(sh *shell, args []string) int {
	args = args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		sh.listTraps()
		return 0
	}
	action, reset := args[0], args[0] == "-"
	if sig, ok := parseSignal(action); len(args) == 1 || ok && action == sigNumber(sig) {
		reset = true // trap SIGNAL
	} else {
		args = args[1:]
	}
	for _, name := range args {
		sig, ok := parseSignal(name)
		if !ok {
			_ = sh.p.write(2, []byte("trap: "+name+": bad trap\n"))
			return 1
		}
		set := &action
		if reset {
			set = nil
		}
		sh.setTrap(sig, set)
	}
	return 0
}

// sigNumber returns the number as text: dash resets signals if the first word is a number.
func sigNumber(sig syscall.Signal) string {
	return strconv.Itoa(int(sig))
}

// setTrap sets, ignores (an empty action) or resets (nil) a trap. Signals ignored at the start of the shell stay ignored.
func (sh *shell) setTrap(sig syscall.Signal, action *string) {
	if sig != 0 && sh.inherited.has(sig) {
		return
	}
	if sh.traps == nil {
		sh.traps = make(map[syscall.Signal]string)
	}
	delete(sh.traps, sig)
	if action != nil {
		sh.traps[sig] = *action
	}
	if sig == 0 {
		return
	}
	p := sh.p
	if action == nil && sh.inter {
		defer sh.guard()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.own = p.own.without(sig)
	p.ignored = p.ignored.without(sig)
	p.trapped = p.trapped.without(sig)
	switch {
	case action == nil || sig == sigKILL:
	case *action == "":
		p.ignored = p.ignored.with(sig)
	default:
		p.trapLocked(sig)
	}
}

// trapLocked records a signal for the shell. The caller holds p.mu.
func (p *Process) trapLocked(sig syscall.Signal) {
	p.trapped = p.trapped.with(sig)
	if p.wake == nil {
		p.wake = make(chan struct{}, 1)
	}
}

func (sh *shell) listTraps() {
	var sigs []syscall.Signal
	for sig := range sh.traps {
		sigs = append(sigs, sig)
	}
	slices.Sort(sigs)
	out := &gather{p: sh.p}
	for _, sig := range sigs {
		out.add([]byte("trap -- ")...)
		out.quote(sh.traps[sig])
		out.add([]byte(" " + signalName(sig) + "\n")...)
	}
	out.flush()
}
