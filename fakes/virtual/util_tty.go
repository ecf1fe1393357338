package virtual

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ttyProgram is tty [-s].
func ttyProgram(t *task) int {
	flags, rest, ok := t.letters("s")
	if !ok || len(rest) > 0 {
		if ok {
			t.fail("extra operand '%s'", rest[0])
		}
		return 2
	}
	on := t.p.terminal(0)
	if flags == "" {
		name := "not a tty"
		if on != nil {
			name = on.name()
		}
		if t.print(name+"\n") != 0 {
			return 3
		}
	}
	return truth(on != nil)
}

// sttyNames are the modes that stty knows, in the order of its list.
var sttyNames = []string{"isig", "icanon", "iexten", "echo", "icrnl", "ixon", "iutf8", "opost", "onlcr"}

// sttyProgram implements stty [-a|-g] and stty SETTING…, for the terminal of stdin.
func sttyProgram(t *task) int {
	args := t.args[1:]
	on := t.p.terminal(0)
	if on == nil {
		return t.fail("'standard input': Inappropriate ioctl for device")
	}
	if len(args) == 0 {
		args = []string{"-a"}
	}
	mode, was := on.modes()
	size, text := was, ""
	for ; len(args) > 0; args = args[1:] {
		name, off := strings.CutPrefix(args[0], "-")
		bit := modes(0)
		if n := slices.Index(sttyNames, name); n >= 0 {
			bit = 1 << n
		} else if name == "raw" || name == "cooked" {
			bit, off = cookedModes, off == (name == "cooked")
		} else if name == "cbreak" {
			bit, off = modeICANON, !off
		}
		switch {
		case bit != 0 && off:
			mode &^= bit
		case bit != 0:
			mode |= bit
		case args[0] == "sane":
			mode = saneModes
		case args[0] == "size":
			text += fmt.Sprintf("%d %d\n", size.Rows, size.Cols)
		case args[0] == "rows", args[0] == "cols", args[0] == "columns":
			if len(args) < 2 {
				return t.fail("missing argument to '%s'", args[0])
			}
			n, err := strconv.ParseUint(args[1], 0, 16)
			if err != nil {
				return t.fail("invalid integer argument: '%s'", args[1])
			}
			if args[0] == "rows" {
				size.Rows = uint32(n)
			} else {
				size.Cols = uint32(n)
			}
			args = args[1:]
		case args[0] == "-a", args[0] == "--all":
			text += fmt.Sprintf("speed 38400 baud; rows %d; columns %d;\n%s\n", size.Rows, size.Cols, mode)
		case args[0] == "-g", args[0] == "--save":
			text += fmt.Sprintf("modes:%x\n", uint16(mode))
		default:
			if n, err := fmt.Sscanf(args[0], "modes:%x", (*uint16)(&mode)); n != 1 || err != nil {
				return t.fail("invalid argument '%s'\nTry 'stty --help' for more information.", args[0])
			}
		}
	}
	on.setModes(mode)
	if size != was {
		on.resize(size)
	}
	return truth(text == "" || t.print(text) == 0)
}

// String is the list of stty.
func (m modes) String() string {
	var words []string
	for n, name := range sttyNames {
		if !m.has(1 << n) {
			name = "-" + name
		}
		words = append(words, name)
	}
	return strings.Join(words, " ")
}
