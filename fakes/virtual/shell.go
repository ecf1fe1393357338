package virtual

import (
	"path"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// maxCalls limits the depth of function calls, as in dash.
const maxCalls = 1000

// maxDepth limits the nesting of statements, so that no script can exhaust the stack of this process.
const maxDepth = 4000

// shell is one shell, or one subshell of it. It belongs to one goroutine.
type shell struct {
	p    *Process // its process; a subshell has its own
	pid  uint32   // $$: the main shell's, also in subshells
	ppid uint32
	name string // $0
	bash bool
	opts options

	env     map[string]string // the initial environment, until it is converted to vars
	vars    map[string]variable
	exports map[string]string // environ of vars, nil if one has changed
	funcs   map[string]*syntax.Stmt
	params  []string
	dir     string
	cfg     *expand.Config

	last     int // $?
	substRan bool
	subst    int // status of the last command substitution
	line     uint
	above    uint // lines of a script on stdin that have already run
	flow     flow
	onStdin  bool      // sh -s
	login    bool      // -l
	wants    bool      // -i
	inter    bool      // interactive: it prompts, and ^C ends only a command
	tty      *terminal // terminal of job control, or nil
	execed   bool      // another program has replaced it
	calls    int
	loops    int
	sourced  int
	depth    int
	quiet    int // >0: inside a condition, where errexit does not count
	locals   []map[string]variable
	inTrap   bool
	trapLast int // $? when the trap began

	traps     map[syscall.Signal]string
	inherited sigset // ignored when the shell began: cannot be trapped
	jobs      []*job
	lastJob   uint32 // $!
	umask     string
}

// options are the options of set.
type options struct{ errexit, nounset, xtrace, noglob, noexec, allexport, pipefail bool }

// flow is a pending jump: its kind, and the number of loops still to leave.
type flow struct {
	kind  flowKind
	loops int
}

type flowKind int

const (
	flowNone flowKind = iota
	flowBreak
	flowContinue
	flowReturn
	flowExit
	flowInterrupt // ^C in an interactive shell: back to the prompt
)

// shellMain implements sh and bash.
func shellMain(t *task) int {
	sh := &shell{p: t.p, pid: t.p.pid, ppid: t.p.ppid, name: t.args[0], line: 1, env: t.env, dir: t.dir, umask: "0022", depth: t.depth}
	sh.bash = path.Base(t.args[0]) == "bash"
	t.p.mu.Lock()
	sh.inherited = t.p.ignored
	t.p.mu.Unlock()
	script, fromText, code := sh.parseArgs(t.args[1:])
	if code != 0 {
		return code
	}
	sh.loadVars()
	switch {
	case fromText:
		sh.runText(script, true)
	case sh.wants || t.p.terminal(0) != nil && t.p.terminal(1) != nil && len(sh.params) == 0:
		sh.interact()
	default:
		sh.runStdin()
	}
	return sh.finish()
}

// parseArgs reads the options. text is the script, unless it comes from stdin.
func (sh *shell) parseArgs(args []string) (text string, fromText bool, code int) {
	command := false
	for len(args) > 0 && len(args[0]) > 1 && (args[0][0] == '-' || args[0][0] == '+') {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
		case strings.HasPrefix(arg, "--"): // --login, --norc and the like
			sh.login = sh.login || arg == "--login"
			continue
		default:
			rest, ok := sh.setFlags(arg, args, &command)
			if !ok {
				return "", false, 2
			}
			args = rest
			continue
		}
		break
	}
	switch {
	case command && len(args) == 0:
		sh.errorf("-c requires an argument")
		return "", false, 2
	case command:
		text = args[0]
		if args = args[1:]; len(args) > 0 {
			sh.name, args = args[0], args[1:]
		}
		sh.params = args
		return text, true, 0
	case len(args) == 0 || sh.onStdin || args[0] == "-":
		sh.params = args
		return "", false, 0
	}
	text, err := sh.readScript(args[0])
	if err != nil {
		sh.line = 0
		sh.errorf("cannot open %s: %s", args[0], openReason(err))
		return "", false, 2
	}
	sh.name, sh.params = args[0], args[1:]
	return text, true, 0
}

// setFlags handles one argument such as -lc. It sets command for -c.
func (sh *shell) setFlags(arg string, rest []string, command *bool) ([]string, bool) {
	on := arg[0] == '-'
	for _, c := range arg[1:] {
		switch c {
		case 'c':
			*command = true
		case 's':
			sh.onStdin = true
		case 'i':
			sh.wants = on
		case 'l':
			sh.login = on
		case 'm', 'b', 'h', 'v', 'B': // job control and similar have no effect
		case 'o':
			if len(rest) == 0 || !sh.setOption(rest[0], on) {
				sh.errorf("Illegal option -o")
				return rest, false
			}
			rest = rest[1:]
		default:
			if !sh.setLetter(c, on) {
				sh.errorf("Illegal option %c%c", arg[0], c)
				return rest, false
			}
		}
	}
	return rest, true
}

// maxScript limits the size of a script file, because the parser's stack grows with its nesting.
const maxScript = 256 << 10

func (sh *shell) readScript(name string) (string, error) {
	f, err := sh.p.sys.fs.open(absPath(sh.dir, name), openRead, "")
	if err != nil {
		return "", err
	}
	defer f.close()
	var b strings.Builder
	for {
		chunk, err := f.desc.read(stop{dead: sh.p.done}, pipeSize, noDelim)
		b.Write(chunk)
		if err != nil && isEOF(err) {
			return b.String(), nil
		}
		if err != nil {
			return "", err
		}
		if b.Len() > maxScript {
			return "", syscall.EFBIG
		}
	}
}

// finish runs the EXIT trap and returns the status of the shell.
func (sh *shell) finish() int {
	sh.runTraps()
	action, ok := sh.traps[0]
	if !ok || sh.execed || sh.p.dead.Load() {
		return sh.last
	}
	delete(sh.traps, 0)
	status := sh.last
	sh.flow = flow{}
	sh.inTrap, sh.trapLast = true, status
	sh.runText(action, false)
	if sh.flow.kind == flowExit {
		return sh.last
	}
	return status
}

// subshell returns a copy that runs as p. It inherits ignored signals, but no traps, loops or functions in progress.
func (sh *shell) subshell(p *Process) *shell {
	sub := &shell{
		p: p, pid: sh.pid, ppid: sh.ppid, name: sh.name, bash: sh.bash, opts: sh.opts,
		vars: make(map[string]variable, len(sh.vars)), params: sh.params, dir: sh.dir,
		exports: sh.exports, last: sh.last, line: sh.line, above: sh.above, depth: sh.depth, calls: sh.calls, quiet: sh.quiet,
		inherited: sh.inherited, lastJob: sh.lastJob, umask: sh.umask,
	}
	for k, v := range sh.vars {
		sub.vars[k] = v
	}
	if len(sh.funcs) > 0 {
		sub.funcs = make(map[string]*syntax.Stmt, len(sh.funcs))
		for k, v := range sh.funcs {
			sub.funcs[k] = v
		}
	}
	return sub
}

// stopped reports whether the next statement must not run: a jump is pending, or the process has ended.
func (sh *shell) stopped() bool {
	return sh.flow.kind != flowNone || sh.execed || sh.p.dead.Load()
}

// exit ends the shell with a status.
func (sh *shell) exit(status int) int {
	sh.last = status & 0xff
	sh.flow = flow{kind: flowExit}
	return sh.last
}
