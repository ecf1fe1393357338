package virtual

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// allPrograms returns the utilities in /bin and /usr/bin by name.
func allPrograms() map[string]program {
	return map[string]program{
		"sh": shellMain, "bash": shellMain, "dash": shellMain,
		"[": testProgram, "test": testProgram, "echo": echoProgram, "printf": printfProgram, "kill": killProgram,
		"true": func(*task) int { return 0 }, "false": func(*task) int { return 1 },
		"pwd": func(t *task) int { return t.print(path.Clean(t.dir) + "\n") }, "env": envProgram, "sleep": sleepProgram,
		"cat": catProgram, "head": headProgram, "tail": tailProgram, "wc": wcProgram, "tr": trProgram, "seq": seqProgram, "yes": yesProgram,
		"stty": sttyProgram, "tty": ttyProgram,
		"ls": lsProgram, "mkdir": mkdirProgram, "mv": mvProgram, "rm": rmProgram, "touch": touchProgram,
		"ln": lnProgram, "chmod": chmodProgram, "whoami": func(t *task) int { return t.print(t.p.tree.user + "\n") },
	}
}

// print writes text to stdout in one write and returns 1 on failure.
func (t *task) print(text string) int { return truth(t.p.write(1, []byte(text)) == nil) }

func echoProgram(t *task) int { return t.print(echoText(t.args[1:])) }

func printfProgram(t *task) int {
	return formatPrintf(t.args[1:], func(b []byte) error { return t.p.write(1, b) }, func(text string) { t.fail("%s", text) })
}

func testProgram(t *task) int {
	args := append([]string{path.Base(t.args[0])}, t.args[1:]...)
	status, complaint := testCommand(t.p, t.dir, args)
	if complaint != "" {
		t.fail("%s", complaint)
	}
	return status
}

func killProgram(t *task) int {
	status, complaint := killCommand(t.p, t.args[1:])
	if complaint != "" {
		t.fail("%s", complaint)
	}
	return status
}

// envProgram implements env [-i] [-u NAME] [NAME=VALUE]… [COMMAND [ARG]…].
func envProgram(t *task) int {
	env := maps.Clone(t.env)
	args := t.args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch {
		case args[0] == "-i" || args[0] == "-":
			env = make(map[string]string)
		case args[0] == "-u" && len(args) > 1:
			delete(env, args[1])
			args = args[1:]
		case args[0] == "--":
		default:
			t.fail("invalid option -- '%s'", args[0])
			return 125
		}
		args = args[1:]
	}
	for len(args) > 0 {
		name, value, ok := strings.Cut(args[0], "=")
		if !ok {
			break
		}
		env[name] = value
		args = args[1:]
	}
	if len(args) == 0 {
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(env)) {
			b.WriteString(name + "=" + env[name] + "\n")
		}
		return t.print(b.String())
	}
	next := &task{p: t.p, args: args, env: env, dir: t.dir, depth: t.depth + programDepth}
	return next.exec("env: ")
}
