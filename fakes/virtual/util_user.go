package virtual

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// sudoProgram is sudo [-EHn] [-u USER] [NAME=VALUE]… COMMAND [ARG]…. The command runs as the same user, who may do everything.
func sudoProgram(t *task) int {
	args, env := t.args[1:], maps.Clone(t.env)
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch {
		case strings.Trim(args[0][1:], "EHn") == "":
		case (args[0] == "-u" || args[0] == "-g") && len(args) > 1:
			args = args[1:]
		default:
			return t.fail("invalid option '%s'", args[0])
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
		return t.fail("a command is required")
	}
	next := &task{p: t.p, args: args, env: env, dir: t.dir, depth: t.depth + programDepth}
	return next.exec("sudo: ")
}

func whoamiProgram(t *task) int { return t.print(t.p.tree.user + "\n") }

// idProgram is id [-ugGn].
func idProgram(t *task) int {
	flags, _, ok := t.letters("ugGnr")
	user := t.p.tree.user
	number := strconv.Itoa(uid(user))
	switch {
	case !ok:
		return 1
	case strings.Contains(flags, "n"):
		return t.print(user + "\n")
	case flags != "":
		return t.print(number + "\n")
	}
	return t.print(fmt.Sprintf("uid=%s(%s) gid=%s(%s) groups=%s(%s)\n", number, user, number, user, number, user))
}

// capabilities are the strings of xterm that scripts use.
var capabilities = map[string]string{ //nolint:gochecknoglobals // read only
	"clear": "\x1b[H\x1b[2J\x1b[3J", "bold": "\x1b[1m", "sgr0": "\x1b(B\x1b[m", "reset": "\x1bc", "smul": "\x1b[4m", "rmul": "\x1b[24m", "rev": "\x1b[7m",
	"civis": "\x1b[?25l", "cnorm": "\x1b[?12l\x1b[?25h", "el": "\x1b[K",
}

// tputProgram is tput cols|lines|colors|setaf N|setab N or a string such as clear.
func tputProgram(t *task) int {
	args := t.args[1:]
	if len(args) > 1 && args[0] == "-T" {
		args = args[2:]
	} else if t.env["TERM"] == "" {
		t.fail("No value for $TERM and no -T specified")
		return 2
	}
	if len(args) == 0 {
		t.fail("missing operand")
		return 2
	}
	size := Size{Cols: 80, Rows: 24}
	for _, fd := range []int{1, 2, 0} {
		if on := t.p.terminal(fd); on != nil {
			if _, now := on.modes(); now.Cols > 0 && now.Rows > 0 {
				size = now
			}
			break
		}
	}
	text, known := capabilities[args[0]]
	switch {
	case args[0] == "cols":
		return t.print(fmt.Sprintln(size.Cols))
	case args[0] == "lines":
		return t.print(fmt.Sprintln(size.Rows))
	case args[0] == "colors":
		return t.print("256\n")
	case (args[0] == "setaf" || args[0] == "setab") && len(args) > 1:
		layer := map[string]string{"setaf": "3", "setab": "4"}[args[0]]
		return t.print("\x1b[" + layer + "8;5;" + args[1] + "m")
	case !known:
		t.fail("unknown terminfo capability '%s'", args[0])
		return 4
	}
	return t.print(text)
}
