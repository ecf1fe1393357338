package virtual

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// builtin is a command of the shell itself. A special one keeps the assignments before it, and its redirection errors end the shell.
type builtin struct {
	special bool
	run     func(sh *shell, args []string) int
}

// findBuiltin returns a builtin, or nil.
func findBuiltin(name string) *builtin {
	if run := specialBuiltin(name); run != nil {
		return &builtin{special: true, run: run}
	}
	if run := regularBuiltin(name); run != nil {
		return &builtin{run: run}
	}
	return nil
}

func specialBuiltin(name string) func(*shell, []string) int {
	switch name {
	case ":":
		return func(*shell, []string) int { return 0 }
	case ".", "source":
		return sourceBuiltin
	case "break", "continue":
		return breakBuiltin
	case "eval":
		return evalBuiltin
	case "exec":
		return execBuiltin
	case "exit":
		return exitBuiltin
	case "export", "readonly":
		return exportBuiltin
	case "return":
		return returnBuiltin
	case "set":
		return setBuiltin
	case "shift":
		return shiftBuiltin
	case "trap":
		return trapBuiltin
	case "unset":
		return unsetBuiltin
	}
	return nil
}

func regularBuiltin(name string) func(*shell, []string) int {
	switch name {
	case "true":
		return func(*shell, []string) int { return 0 }
	case "false":
		return func(*shell, []string) int { return 1 }
	case "[", "test":
		return testBuiltin
	case "cd":
		return cdBuiltin
	case "command":
		return commandBuiltin
	case "echo":
		return echoBuiltin
	case "kill":
		return killBuiltin
	case "local", "declare", "typeset":
		return localBuiltin
	case "printf":
		return printfBuiltin
	case "pwd":
		return pwdBuiltin
	case "read":
		return readBuiltin
	case "type":
		return typeBuiltin
	case "jobs":
		return jobsBuiltin
	case "hash":
		return func(*shell, []string) int { return 0 }
	case "ulimit":
		return ulimitBuiltin
	case "umask":
		return umaskBuiltin
	case "wait":
		return waitBuiltin
	}
	return nil
}

// runBuiltin runs a builtin in this shell. SIGPIPE in a builtin kills the shell, as in dash.
func (sh *shell) runBuiltin(b *builtin, args []string) int { return b.run(sh, args) }

// usage prints an error of a builtin and returns 2, dash's status for it.
func (sh *shell) usage(name, format string, args ...any) int {
	sh.errorf(name+": "+format, args...)
	return 2
}

// fatal is usage for a special builtin: it ends the shell.
func (sh *shell) fatal(name, format string, args ...any) int {
	return sh.exit(sh.usage(name, format, args...))
}

// number reads a non-negative decimal.
func number(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0
}

func exitBuiltin(sh *shell, args []string) int {
	status := sh.last
	if sh.inTrap {
		status = sh.trapLast
	}
	if len(args) > 1 {
		n, ok := number(args[1])
		if !ok {
			return sh.fatal("exit", "Illegal number: %s", args[1])
		}
		status = n
	}
	return sh.exit(status)
}

// returnBuiltin leaves a function or a sourced file; outside both it leaves the script, as in dash.
func returnBuiltin(sh *shell, args []string) int {
	status := sh.last
	if len(args) > 1 {
		n, ok := number(args[1])
		if !ok {
			return sh.fatal("return", "Illegal number: %s", args[1])
		}
		status = n
	}
	if len(sh.locals) == 0 && sh.sourced == 0 {
		return sh.exit(status)
	}
	sh.last = status & 0xff
	sh.flow = flow{kind: flowReturn}
	return sh.last
}

func breakBuiltin(sh *shell, args []string) int {
	n := 1
	if len(args) > 1 {
		var ok bool
		if n, ok = number(args[1]); !ok || n == 0 {
			return sh.fatal(args[0], "Illegal number: %s", args[1])
		}
	}
	if n = min(n, sh.loops); n == 0 {
		return 0
	}
	kind := flowBreak
	if args[0] == "continue" {
		kind = flowContinue
	}
	sh.flow = flow{kind: kind, loops: n}
	return 0
}

func evalBuiltin(sh *shell, args []string) int {
	return sh.nested(strings.Join(args[1:], " "))
}

// nested runs text inside the current script.
func (sh *shell) nested(text string) int {
	if sh.depth += programDepth; sh.depth > maxDepth {
		sh.errorf("Maximum nesting of commands reached")
		return sh.exit(2)
	}
	line := sh.line
	if strings.TrimSpace(text) == "" {
		sh.last = 0
	}
	sh.runText(text, false)
	sh.line = line
	sh.depth -= programDepth
	return sh.last
}

func sourceBuiltin(sh *shell, args []string) int {
	if len(args) < 2 {
		return sh.fatal(".", "filename argument required")
	}
	text, err := sh.readScript(args[1])
	if err != nil {
		return sh.fatal(".", "cannot open %s: %s", args[1], openReason(err))
	}
	sh.sourced++
	status := sh.nested(text)
	sh.sourced--
	if sh.flow.kind == flowReturn {
		sh.flow = flow{}
		return sh.last
	}
	return status
}

// execBuiltin replaces the shell, after its redirections have been applied.
func execBuiltin(sh *shell, args []string) int {
	if args = args[1:]; len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return 0
	}
	sh.p.becomes()
	t := &task{p: sh.p, args: args, env: sh.environ(), dir: sh.dir, depth: sh.depth + programDepth}
	status := t.exec(sh.prefix() + "exec: ")
	sh.p.exit(status)
	sh.execed = true
	sh.last = status
	return status
}

// prefix returns the prefix of a message of errorf.
func (sh *shell) prefix() string {
	return sh.name + ": " + strconv.Itoa(int(sh.above+sh.line)) + ": "
}

// exportBuiltin implements export and readonly.
func exportBuiltin(sh *shell, args []string) int {
	mark := func(v *variable) { v.exported = true }
	has := func(v variable) bool { return v.exported }
	if args[0] == "readonly" {
		mark = func(v *variable) { v.readonly = true }
		has = func(v variable) bool { return v.readonly }
	}
	list := args[1:]
	if len(list) > 0 && (list[0] == "-p" || list[0] == "--") {
		list = list[1:]
	}
	if len(list) == 0 {
		sh.listVars(args[0]+" ", has)
		return 0
	}
	for _, arg := range list {
		name, value, given := strings.Cut(arg, "=")
		if !syntax.ValidName(name) {
			return sh.fatal(args[0], "%s: bad variable name", name)
		}
		if given {
			if err := sh.assign(name, value); err != nil {
				return sh.fatal(args[0], "%s: %v", name, err)
			}
		}
		v := sh.vars[name]
		mark(&v)
		sh.store(name, v)
	}
	return 0
}

func (sh *shell) listVars(prefix string, want func(variable) bool) {
	out := &gather{p: sh.p}
	for _, name := range slices.Sorted(maps.Keys(sh.vars)) {
		v := sh.vars[name]
		if !want(v) {
			continue
		}
		out.add([]byte(prefix + name)...)
		if v.set {
			out.add('=')
			out.quote(v.value)
		}
		out.add('\n')
	}
	out.flush()
}

func unsetBuiltin(sh *shell, args []string) int {
	funcs := false
	for _, name := range args[1:] {
		switch {
		case name == "-f":
			funcs = true
		case name == "-v":
			funcs = false
		case funcs:
			delete(sh.funcs, name)
		case sh.vars[name].readonly:
			return sh.fatal("unset", "%s: is read only", name)
		default:
			sh.drop(name)
		}
	}
	return 0
}

// localBuiltin implements local. Outside a function, bash's declare only assigns.
func localBuiltin(sh *shell, args []string) int {
	if len(sh.locals) == 0 && args[0] == "local" {
		return sh.fatal("local", "not in a function")
	}
	for _, arg := range args[1:] {
		if strings.HasPrefix(arg, "-") {
			continue
		}
		name, value, given := strings.Cut(arg, "=")
		if !syntax.ValidName(name) {
			return sh.fatal(args[0], "%s: bad variable name", name)
		}
		if n := len(sh.locals); n > 0 {
			if sh.locals[n-1] == nil {
				sh.locals[n-1] = make(map[string]variable)
			}
			if _, ok := sh.locals[n-1][name]; !ok {
				sh.locals[n-1][name] = sh.vars[name]
			}
		}
		if given {
			if err := sh.assign(name, value); err != nil {
				return sh.assignError(name, err)
			}
		}
	}
	return 0
}
