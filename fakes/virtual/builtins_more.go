package virtual

import (
	"errors"
	"strconv"
	"strings"
)

func shiftBuiltin(sh *shell, args []string) int {
	n := 1
	if len(args) > 1 {
		var ok bool
		if n, ok = number(args[1]); !ok {
			return sh.fatal("shift", "Illegal number: %s", args[1])
		}
	}
	if n > len(sh.params) {
		return sh.fatal("shift", "can't shift that many")
	}
	sh.params = sh.params[n:]
	return 0
}

func setBuiltin(sh *shell, args []string) int {
	args = args[1:]
	if len(args) == 0 {
		sh.listVars("", func(v variable) bool { return v.set })
		return 0
	}
	for len(args) > 0 {
		arg := args[0]
		if arg == "--" {
			sh.params = args[1:]
			return 0
		}
		if len(arg) < 2 || arg[0] != '-' && arg[0] != '+' {
			sh.params = args
			return 0
		}
		args = args[1:]
		for _, c := range arg[1:] {
			if c != 'o' {
				if !sh.setLetter(c, arg[0] == '-') {
					return sh.fatal("set", "Illegal option %c%c", arg[0], c)
				}
				continue
			}
			if len(args) == 0 {
				return 0
			}
			if !sh.setOption(args[0], arg[0] == '-') {
				return sh.fatal("set", "Illegal option %co %s", arg[0], args[0])
			}
			args = args[1:]
		}
	}
	return 0
}

// setLetter switches an option by its letter. m, b, h and v are accepted without effect.
func (sh *shell) setLetter(c rune, on bool) bool {
	switch c {
	case 'a':
		sh.opts.allexport = on
	case 'e':
		sh.opts.errexit = on
	case 'f':
		sh.opts.noglob = on
	case 'n':
		sh.opts.noexec = on
	case 'u':
		sh.opts.nounset = on
	case 'x':
		sh.opts.xtrace = on
	case 'm', 'b', 'h', 'v':
	default:
		return false
	}
	return true
}

// setOption switches an option by its name. pipefail comes from bash.
func (sh *shell) setOption(name string, on bool) bool {
	switch name {
	case "allexport":
		return sh.setLetter('a', on)
	case "errexit":
		return sh.setLetter('e', on)
	case "noglob":
		return sh.setLetter('f', on)
	case "noexec":
		return sh.setLetter('n', on)
	case "nounset":
		return sh.setLetter('u', on)
	case "xtrace":
		return sh.setLetter('x', on)
	case "pipefail":
		sh.opts.pipefail = on && sh.bash
		return sh.bash
	case "monitor", "notify", "verbose", "ignoreeof":
		return true
	}
	return false
}

// optionLetters returns $-.
func (sh *shell) optionLetters() string {
	var b strings.Builder
	for _, o := range []struct {
		on     bool
		letter byte
	}{
		{sh.opts.allexport, 'a'}, {sh.opts.errexit, 'e'}, {sh.opts.noglob, 'f'}, {sh.opts.nounset, 'u'}, {sh.opts.xtrace, 'x'},
	} {
		if o.on {
			b.WriteByte(o.letter)
		}
	}
	if sh.inter {
		b.WriteByte('s')
	}
	if sh.tty != nil {
		b.WriteByte('m')
	}
	if sh.inter {
		b.WriteByte('i')
	}
	return b.String()
}

func cdBuiltin(sh *shell, args []string) int {
	for len(args) > 1 && (args[1] == "-L" || args[1] == "-P" || args[1] == "--") {
		args = args[1:]
	}
	to := sh.get("HOME")
	if len(args) > 1 {
		to = args[1]
	}
	show := to == "-"
	if show {
		to = sh.get("OLDPWD")
	}
	dir := cleanPath(sh.dir, to)
	info, err := sh.p.sys.fs.stat(dir)
	if to == "" && err == nil {
		return 0
	}
	if err != nil || !info.IsDir() {
		return sh.usage("cd", "can't cd to %s", to)
	}
	old := sh.dir
	sh.dir = dir
	if err := errors.Join(sh.assign("OLDPWD", old), sh.assign("PWD", dir)); err != nil {
		return sh.usage("cd", "%v", err)
	}
	if show {
		return sh.print(dir + "\n")
	}
	return 0
}

func pwdBuiltin(sh *shell, _ []string) int { return sh.print(sh.dir + "\n") }

// print writes text to stdout in one write and returns 1 on failure.
func (sh *shell) print(text string) int {
	return truth(sh.p.write(1, []byte(text)) == nil)
}

func echoBuiltin(sh *shell, args []string) int {
	if sh.bash {
		return sh.print(echoText(args[1:]))
	}
	args = args[1:]
	end := "\n"
	if len(args) > 0 && args[0] == "-n" {
		args, end = args[1:], ""
	}
	text, stopped := unescape(strings.Join(args, " "), escapesEcho)
	if stopped {
		end = ""
	}
	return sh.print(text + end)
}

// echoText returns the output of bash's echo and of the program: escapes only with -e.
func echoText(args []string) string {
	end, escapes := "\n", false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		for _, c := range args[0][1:] {
			switch c {
			case 'n':
				end = ""
			default:
				escapes = c == 'e'
			}
		}
		args = args[1:]
	}
	text := strings.Join(args, " ")
	if escapes {
		var stopped bool
		if text, stopped = unescape(text, escapesEcho); stopped {
			end = ""
		}
	}
	return text + end
}

func printfBuiltin(sh *shell, args []string) int {
	return formatPrintf(args[1:], func(b []byte) error { return sh.p.write(1, b) }, func(text string) { sh.errorf("printf: %s", text) })
}

func commandBuiltin(sh *shell, args []string) int {
	show := false
	for len(args) > 0 && (args[0] == "command" && !show || strings.HasPrefix(args[0], "-")) {
		show = show || args[0] == "-v" || args[0] == "-V"
		args = args[1:]
	}
	if len(args) == 0 {
		return 0
	}
	if show {
		return sh.describe(args, func(_, what string) string { return what })
	}
	if b := findBuiltin(args[0]); b != nil {
		return sh.runBuiltin(b, args)
	}
	return sh.external(args, nil, nil, false)
}

func typeBuiltin(sh *shell, args []string) int {
	return sh.describe(args[1:], func(name, what string) string {
		switch {
		case what == "":
			return name + ": not found"
		case strings.HasPrefix(what, "/"):
			return name + " is " + what
		case sh.funcs[name] != nil:
			return name + " is a shell function"
		case isReserved(name):
			return name + " is a shell keyword"
		}
		return name + " is a shell builtin"
	})
}

// describe prints the meaning of each name to the shell and returns 127 for an unknown name.
func (sh *shell) describe(names []string, text func(name, what string) string) int {
	status := 0
	for _, name := range names {
		what := name
		if sh.funcs[name] == nil && findBuiltin(name) == nil && !isReserved(name) {
			t := &task{p: sh.p, env: map[string]string{"PATH": sh.get("PATH")}, dir: sh.dir}
			file, _, err := t.lookPath(name)
			if what = file; err != nil {
				what, status = "", 127
			}
		}
		if line := text(name, what); line != "" {
			sh.print(line + "\n")
		}
	}
	return status
}

// umaskBuiltin prints or sets a mask, which has no effect.
func umaskBuiltin(sh *shell, args []string) int {
	if len(args) < 2 || args[1] == "-S" {
		return sh.print(sh.umask + "\n")
	}
	n, err := strconv.ParseUint(args[1], 8, 12)
	if err != nil {
		return sh.usage("umask", "Illegal number: %s", args[1])
	}
	sh.umask = "0" + strconv.FormatUint(n+0o1000, 8)[1:]
	return 0
}

// ulimitBuiltin reports no limits and accepts any limit without effect.
func ulimitBuiltin(sh *shell, args []string) int {
	for _, arg := range args[1:] {
		if !strings.HasPrefix(arg, "-") {
			return 0
		}
	}
	return sh.print("unlimited\n")
}

// isReserved reports words that are reserved in command position, in either shell.
func isReserved(word string) bool {
	switch word {
	case "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "in", "time", "function", "select", "coproc", "let", "declare", "typeset", "nameref":
		return true
	}
	return false
}
