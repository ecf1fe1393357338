package virtual

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// interact runs an interactive shell: it prompts for each line on stderr, continues after errors and ^C, and ends at ^D or exit. On a terminal it
// controls jobs: each pipeline is a process group, and the foreground one gets the signals of keys. bash does not edit lines here: the terminal does, as
// for sh.
func (sh *shell) interact() {
	sh.inter = true
	if sh.p.tty != nil {
		sh.tty = sh.p.tty
		sh.regain()
	} else if sh.bash {
		sh.complain("cannot set terminal process group (-1): Inappropriate ioctl for device\nbash: no job control in this shell")
	} else {
		sh.complain("0: can't access tty; job control turned off")
	}
	sh.guard()
	for !sh.p.dead.Load() && !sh.execed && sh.flow.kind != flowExit {
		sh.flow = flow{}
		text, more := sh.readCommand()
		if sh.flow.kind == flowInterrupt {
			sh.last = 128 + int(sigINT)
			_ = sh.p.write(2, []byte("\n"))
			continue
		}
		sh.obey(text)
		if !more && sh.flow.kind != flowExit {
			sh.farewell("\n")
			return
		}
	}
	sh.farewell("")
}

// complain prints a line about the shell itself.
func (sh *shell) complain(text string) { _ = sh.p.write(2, []byte(path.Base(sh.name)+": "+text+"\n")) }

// farewell prints the message at the end of the shell: sh ends the line of a ^D, bash prints exit.
func (sh *shell) farewell(otherwise string) {
	switch {
	case sh.execed || sh.p.dead.Load():
		return
	case !sh.bash:
	case sh.login:
		otherwise = "logout\n"
	default:
		otherwise = "exit\n"
	}
	_ = sh.p.write(2, []byte(otherwise))
}

// guard sets the signals of an interactive shell: ^C interrupts a command, ^\ and SIGTERM do nothing, unless they are trapped.
func (sh *shell) guard() {
	p := sh.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := sh.traps[sigINT]; !ok && !p.ignored.has(sigINT) {
		p.trapLocked(sigINT)
	}
	p.own = 0
	for _, sig := range []syscall.Signal{sigQUIT, sigTERM} {
		if _, ok := sh.traps[sig]; !ok {
			p.own = p.own.with(sig)
		}
	}
}

// interrupt aborts the current command and returns to the prompt.
func (sh *shell) interrupt() {
	sh.last = 128 + int(sigINT)
	sh.flow = flow{kind: flowInterrupt}
}

// obey runs the input. It reports a syntax error and continues.
func (sh *shell) obey(text string) {
	s := sh.load(text)
	for _, line := range s.lines {
		sh.stmts(line, false)
		if sh.stopped() {
			break
		}
	}
	if s.err != nil && !sh.stopped() {
		sh.syntaxError(s.err)
		sh.flow = flow{}
	}
	if sh.flow.kind == flowInterrupt {
		_ = sh.p.write(2, []byte("\n"))
	}
	sh.above += uint(strings.Count(text, "\n"))
}

// readCommand prompts and reads a complete command. more is false at the end of stdin.
func (sh *shell) readCommand() (text string, more bool) {
	var b strings.Builder
	sh.notices()
	sh.prompt("PS1")
	for !sh.p.dead.Load() {
		line, err := sh.p.readUntil(stop{dead: sh.p.done, intr: sh.p.wake}, 0, maxScript, '\n')
		b.Write(line)
		if errors.Is(err, errInterrupted) {
			if sh.runTraps(); sh.stopped() {
				return "", true
			}
			continue
		}
		if err != nil {
			return b.String(), false
		}
		text := b.String()
		if b.Len() < maxScript {
			if !strings.HasSuffix(text, "\n") {
				continue
			}
			s := sh.load(text)
			if syntax.IsIncomplete(s.err) || continues(text) {
				sh.prompt("PS2")
				continue
			}
		}
		return text, true
	}
	return "", false
}

// The limits of a prompt. One beyond them is printed as it is.
const (
	maxPrompt       = 4 << 10
	maxPromptNested = 100
)

// prompt prints PS1 or PS2.
func (sh *shell) prompt(name string) {
	v, ok := sh.vars[name]
	text := v.value
	switch {
	case !ok && name == "PS2":
		text = "> "
	case !ok && sh.get("USER") == "root":
		text = "# "
	case !ok:
		text = "$ "
	}
	if len(text) <= maxPrompt {
		if sh.bash {
			text = sh.unescapePrompt(text)
		}
		if strings.ContainsAny(text, "$`") && len(text) <= maxPrompt && nesting(text) <= maxPromptNested {
			text = sh.expandPrompt(text)
		}
	}
	_ = sh.p.write(2, []byte(text))
}

// expandPrompt expands variables, arithmetic and commands in a prompt. Text that cannot be expanded is printed unchanged.
func (sh *shell) expandPrompt(text string) (expanded string) {
	var err error
	defer func() {
		if err != nil {
			expanded = text
		}
	}()
	defer guard(&err)
	word, err := newParser(sh.bash).Document(strings.NewReader(text))
	if err != nil {
		return text
	}
	status := sh.last
	expanded, err = expand.Document(sh.config(), word)
	sh.last = status
	return expanded
}

// unescapePrompt interprets bash's common backslash escapes in a prompt.
func (sh *shell) unescapePrompt(text string) string {
	dollar := `\$`
	if sh.get("USER") == "root" {
		dollar = "#"
	}
	dir := sh.dir
	if rest, ok := strings.CutPrefix(dir, sh.get("HOME")); ok && (rest == "" || rest[0] == '/') {
		dir = "~" + rest
	}
	return strings.NewReplacer(
		`\$`, dollar, `\u`, sh.get("USER"), `\h`, "sandbox", `\w`, dir, `\W`, path.Base(dir), `\n`, "\n", `\r`, "\r", `\s`, path.Base(sh.name),
		`\v`, "5.2", `\[`, "", `\]`, "", `\e`, "\x1b", `\a`, "\a", `\\`, `\\`,
	).Replace(text)
}

// group puts children into a new process group, led by the first, if the shell controls jobs.
func (sh *shell) group(procs []*Process) {
	if sh.tty != nil {
		procs[len(procs)-1].pgid.Store(procs[0].pid)
	}
}

// yield gives the terminal to a job; regain takes it back.
func (sh *shell) yield(p *Process) {
	if sh.tty != nil {
		sh.tty.setForeground(p.pgid.Load())
	}
}

func (sh *shell) regain() {
	if sh.tty != nil {
		sh.tty.setForeground(sh.p.pgid.Load())
	}
}

// detach takes stdin from a background job: without job control it is empty, with it a read from the terminal stops the job.
func (sh *shell) detach(p *Process) {
	switch t := p.terminal(0); {
	case sh.tty == nil:
		p.set(0, newFile(null{}))
	case t != nil && t.out.hold():
		p.set(0, newFile(stoppedReader{ttyFile{t}}))
	}
}

// maxJobText limits the text of a job in notices.
const maxJobText = 1 << 10

// number names a background job for the notices about it.
func (sh *shell) number(j *job, st *syntax.Stmt) {
	j.number = 1
	for _, other := range sh.jobs {
		j.number = max(j.number, other.number+1)
	}
	var b bytes.Buffer
	if syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, st) == nil {
		j.text = b.String()[:min(b.Len(), maxJobText)]
	}
}

// notices reports ended jobs before a prompt.
func (sh *shell) notices() {
	kept := sh.jobs[:0]
	for i, j := range sh.jobs {
		if !j.last().dead.Load() {
			kept = append(kept, j)
			continue
		}
		if sh.tty != nil {
			_ = sh.p.write(2, []byte(j.line(i == len(sh.jobs)-1)))
		}
	}
	clear(sh.jobs[len(kept):])
	sh.jobs = kept
}

// jobsBuiltin implements jobs: one line per job.
func jobsBuiltin(sh *shell, _ []string) int {
	var b strings.Builder
	for i, j := range sh.jobs {
		b.WriteString(j.line(i == len(sh.jobs)-1))
	}
	return sh.print(b.String())
}

// line formats a job like dash.
func (j *job) line(current bool) string {
	mark := ' '
	if current {
		mark = '+'
	}
	state := "Running"
	if p := j.last(); p.dead.Load() {
		st := p.Status()
		switch {
		case st.Signal != 0:
			if state = signalText(st.Signal); state == "" {
				state = "Interrupt"
			}
		case st.Code != 0:
			state = fmt.Sprintf("Done(%d)", st.Code)
		default:
			state = "Done"
		}
	}
	return fmt.Sprintf("%-33s%s\n", fmt.Sprintf("[%d] %c %s", max(1, j.number), mark, state), j.text)
}
