package virtual

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// statProgram is stat [-L] [-c FORMAT] FILE….
func statProgram(t *task) int {
	format, end := "  File: %N\n  Size: %s\t%F\nAccess: (%a/%A)  Uid: (%u/%U)   Gid: (%g/%G)\nModify: %y", "\n"
	args, see := t.args[1:], t.p.sys.fs.lstat
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		long, value, _ := strings.Cut(args[0], "=")
		switch {
		case args[0] == "-L" || args[0] == "--dereference":
			see = t.p.sys.fs.stat
		case args[0] == "-c" && len(args) > 1:
			format = args[1]
			args = args[1:]
		case strings.HasPrefix(args[0], "-c") && args[0] != "-c":
			format = args[0][2:]
		case long == "--format":
			format = value
		case long == "--printf":
			format, end = strings.ReplaceAll(value, `\n`, "\n"), ""
		default:
			return t.fail("invalid option '%s'", args[0])
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return t.fail("missing operand")
	}
	status := 0
	for _, name := range args {
		found, err := see(t.abs(name))
		if err != nil {
			status = t.fail("cannot statx '%s': %s", name, reason(err))
			continue
		}
		info, _ := found.(fileInfo)
		info.name = name
		out := &gather{p: t.p}
		info.format(out, format)
		out.add([]byte(end)...)
		out.flush()
		if out.err != nil {
			return 1
		}
	}
	return status
}

// format writes the text of stat -c with its directives replaced.
func (i fileInfo) format(out *gather, text string) {
	for out.err == nil {
		before, after, ok := strings.Cut(text, "%")
		out.add([]byte(before)...)
		if !ok {
			return
		}
		if after == "" {
			out.add('%')
			return
		}
		out.add([]byte(i.directive(after[0]))...)
		text = after[1:]
	}
}

func (i fileInfo) directive(c byte) string {
	switch c {
	case 'n':
		return i.name
	case 'N':
		if i.target != "" {
			return fmt.Sprintf("'%s' -> '%s'", i.name, i.target)
		}
		return "'" + i.name + "'"
	case 's':
		return strconv.FormatInt(i.size, 10)
	case 'a':
		return strconv.FormatUint(uint64(modeBits(i.mode)), 8)
	case 'A':
		return modeText(i.mode)
	case 'F':
		return i.kind()
	case 'U', 'G':
		return i.owner
	case 'u', 'g':
		return strconv.Itoa(uid(i.owner))
	case 'h':
		return strconv.Itoa(i.links)
	case 'X', 'Y', 'Z':
		return strconv.FormatInt(i.modified.Unix(), 10)
	case 'x', 'y', 'z':
		return i.modified.UTC().Format("2006-01-02 15:04:05.000000000 -0700")
	case '%':
		return "%"
	}
	return "?"
}

// kind is the type of a file in words.
func (i fileInfo) kind() string {
	switch {
	case i.mode.IsDir():
		return "directory"
	case i.mode&fs.ModeSymlink != 0:
		return "symbolic link"
	case i.mode&fs.ModeCharDevice != 0:
		return "character special file"
	case i.size == 0:
		return "regular empty file"
	}
	return "regular file"
}

// uid returns the number of a user, that of /etc/passwd.
func uid(user string) int {
	if user == superuser {
		return 0
	}
	return 1000
}
