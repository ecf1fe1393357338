package virtual

import (
	"strconv"
	"syscall"

	"mvdan.cc/sh/v3/syntax"

	"assay/internal/base/crash"
)

// job is a background job: the members of a pipeline, or one process.
type job struct {
	procs  []*Process
	known  bool   // wait has returned its status
	number int    // N of [N], in an interactive shell
	text   string // its command, in an interactive shell
}

// last returns the process of $!, whose status is the job's.
func (j *job) last() *Process { return j.procs[len(j.procs)-1] }

// background starts a statement with &. Without job control its stdin is empty and it ignores SIGINT and SIGQUIT; with job control it is a separate
// process group, which no key reaches.
func (sh *shell) background(st *syntax.Stmt) int {
	plain := *st
	plain.Background = false
	procs, err := sh.start(members(&plain), true)
	if err != nil {
		return sh.forkError(err)
	}
	j := &job{procs: procs}
	sh.reap()
	if sh.inter {
		sh.number(j, &plain)
	}
	sh.jobs = append(sh.jobs, j)
	sh.lastJob = j.last().pid
	return 0
}

// maxJobs is the number of ended jobs that a shell remembers for wait.
const maxJobs = 256

// reap drops the oldest ended jobs beyond maxJobs, so that an endless loop of jobs does not exhaust memory.
func (sh *shell) reap() {
	if len(sh.jobs) < maxJobs {
		return
	}
	kept := sh.jobs[:0]
	for i, j := range sh.jobs {
		if i >= maxJobs/2 || !j.last().dead.Load() {
			kept = append(kept, j)
		}
	}
	clear(sh.jobs[len(kept):])
	sh.jobs = kept
}

func isPipe(b *syntax.BinaryCmd) bool { return b.Op == syntax.Pipe || b.Op == syntax.PipeAll }

// flattenPipe lists the members of a | b | c from left to right.
func flattenPipe(b *syntax.BinaryCmd) []*syntax.Stmt {
	return append(members(withStderr(b)), members(b.Y)...)
}

func members(st *syntax.Stmt) []*syntax.Stmt {
	if b, ok := st.Cmd.(*syntax.BinaryCmd); ok && isPipe(b) && len(st.Redirs) == 0 && !st.Negated {
		return flattenPipe(b)
	}
	return []*syntax.Stmt{st}
}

// withStderr returns the left side of |&, whose pipe also gets stderr.
func withStderr(b *syntax.BinaryCmd) *syntax.Stmt {
	if b.Op != syntax.PipeAll {
		return b.X
	}
	x := *b.X
	x.Redirs = append(append([]*syntax.Redirect(nil), x.Redirs...), &syntax.Redirect{
		Op: syntax.DplOut, N: &syntax.Lit{Value: "2"}, Word: &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: "1"}}},
	})
	return &x
}

// pipeline runs a | b | c in the foreground and waits for all members, like dash.
func (sh *shell) pipeline(cmd *syntax.BinaryCmd) int {
	procs, err := sh.start(flattenPipe(cmd), false)
	if err != nil {
		return sh.forkError(err)
	}
	defer sh.regain()
	status := 0
	for i, p := range procs {
		select {
		case <-p.done:
		case <-sh.p.done:
			return sh.last
		}
		code := sh.ended(p)
		if i == len(procs)-1 && (status == 0 || code != 0 || !sh.opts.pipefail) {
			status = code
		} else if sh.opts.pipefail && code != 0 {
			status = code
		}
	}
	return status
}

// start forks the members of a pipeline and runs each on its own goroutine.
func (sh *shell) start(parts []*syntax.Stmt, background bool) ([]*Process, error) {
	procs := make([]*Process, 0, len(parts))
	giveUp := func(err error) ([]*Process, error) {
		for _, p := range procs {
			p.exit(2)
			p.leave()
		}
		return nil, err
	}
	var in *file
	for i := range parts {
		p, err := sh.p.fork()
		if err != nil {
			in.close()
			return giveUp(err)
		}
		procs = append(procs, p)
		sh.group(procs)
		switch {
		case in != nil:
			p.set(0, in)
			in = nil
		case background:
			sh.detach(p)
		}
		if i < len(parts)-1 {
			r, w := newPipe()
			p.set(1, w)
			in = r
		}
		if background && sh.tty == nil {
			p.ignore(sigINT, sigQUIT)
		}
	}
	if !background {
		sh.yield(procs[0])
	}
	for i, st := range parts {
		sub := sh.subshell(procs[i])
		if background && sh.tty == nil {
			sub.inherited = sub.inherited.with(sigINT).with(sigQUIT)
		}
		crash.Go(func() {
			defer sub.p.leave()
			sub.stmt(st, true)
			sub.p.exit(sub.finish())
		})
	}
	return procs, nil
}

// ignore makes the process ignore signals.
func (p *Process) ignore(sigs ...syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sig := range sigs {
		p.ignored = p.ignored.with(sig)
	}
}

// waitBuiltin implements wait, for all jobs or for those named by pid. A signal with a trap interrupts it with 128+n.
func waitBuiltin(sh *shell, args []string) int {
	if len(args) == 1 {
		for _, j := range sh.jobs {
			if status, ok := sh.await(j); !ok {
				return status
			}
		}
		sh.jobs = nil
		return 0
	}
	status := 0
	for _, arg := range args[1:] {
		n, err := strconv.ParseUint(arg, 10, 32)
		if err != nil {
			sh.errorf("wait: Illegal number: %s", arg)
			return 2
		}
		j := sh.findJob(uint32(n))
		if j == nil {
			status = 127
			continue
		}
		var ok bool
		if status, ok = sh.await(j); !ok {
			return status
		}
		j.known = true
	}
	return status
}

func (sh *shell) findJob(pid uint32) *job {
	for _, j := range sh.jobs {
		for _, p := range j.procs {
			if p.pid == pid && !j.known {
				return j
			}
		}
	}
	return nil
}

// await waits for a job; ok is false if the wait was interrupted.
func (sh *shell) await(j *job) (status int, ok bool) {
	for _, p := range j.procs {
		for !p.dead.Load() {
			if sig := sh.firstPending(); sig != 0 {
				return 128 + int(sig), false
			}
			select {
			case <-p.done:
			case <-sh.p.done:
				return sh.last, false
			case <-sh.p.wake:
			}
		}
	}
	if text := signalText(j.last().Status().Signal); text != "" && !j.known && !sh.inter {
		_ = sh.p.write(2, []byte(text+"\n"))
	}
	return j.last().Status().shellCode(), true
}
