package virtual

import (
	"io/fs"
	"strconv"
	"strings"
)

// special are the mode bits outside of the permissions, with their values in a number.
var special = []struct { //nolint:gochecknoglobals // read only
	mode fs.FileMode
	bit  uint32
	at   int // their place in the text of ls -l
	on   string
}{
	{fs.ModeSetuid, 0o4000, 3, "sS"},
	{fs.ModeSetgid, 0o2000, 6, "sS"},
	{fs.ModeSticky, 0o1000, 9, "tT"},
}

// modeText returns a mode as ls -l prints it.
func modeText(m fs.FileMode) string {
	kind := byte('-')
	switch {
	case m.IsDir():
		kind = 'd'
	case m&fs.ModeSymlink != 0:
		kind = 'l'
	case m&fs.ModeCharDevice != 0:
		kind = 'c'
	}
	text := []byte(m.Perm().String())
	text[0] = kind
	for _, s := range special {
		if m&s.mode == 0 {
			continue
		}
		if text[s.at] == 'x' {
			text[s.at] = s.on[0]
		} else {
			text[s.at] = s.on[1]
		}
	}
	return string(text)
}

// modeBits returns a mode as a number, as chmod takes it.
func modeBits(m fs.FileMode) uint32 {
	bits := uint32(m.Perm())
	for _, s := range special {
		if m&s.mode != 0 {
			bits |= s.bit
		}
	}
	return bits
}

// bitsMode is the reverse of modeBits.
func bitsMode(bits uint32) fs.FileMode {
	m := fs.FileMode(bits) & fs.ModePerm
	for _, s := range special {
		if bits&s.bit != 0 {
			m |= s.mode
		}
	}
	return m
}

// chmodProgram is chmod [-Rfv] MODE FILE…, with a number or [ugoa][+-=][rwxXst] clauses.
func chmodProgram(t *task) int {
	args := t.args[1:]
	recursive := false
	for len(args) > 0 && (args[0] == "-R" || args[0] == "-f" || args[0] == "-v" || args[0] == "--") {
		recursive = recursive || args[0] == "-R"
		args = args[1:]
	}
	if len(args) < 2 {
		return t.fail("missing operand")
	}
	change, ok := parseMode(args[0])
	if !ok {
		return t.fail("invalid mode: '%s'", args[0])
	}
	return t.eachBelow(args[1:], recursive, func(name string) error { return t.p.sys.fs.chmod(name, change) })
}

// chownProgram is chown [-R] USER[:GROUP] FILE…. A group has no effect.
func chownProgram(t *task) int {
	flags, args, ok := t.letters("Rfvh")
	if !ok {
		return 1
	}
	if len(args) < 2 {
		return t.fail("missing operand")
	}
	owner, _, _ := strings.Cut(args[0], ":")
	if owner == "0" {
		owner = superuser
	}
	if _, known := accounts[owner]; !known && owner != "" {
		return t.fail("invalid user: '%s'", args[0])
	}
	return t.eachBelow(args[1:], strings.Contains(flags, "R"), func(name string) error {
		if owner == "" {
			return nil
		}
		return t.p.sys.fs.chown(name, owner)
	})
}

// eachBelow applies fn to every operand, and with recursive to all below it that is no link.
func (t *task) eachBelow(names []string, recursive bool, fn func(name string) error) int {
	return t.each(names, func(name string) error {
		if !recursive {
			return fn(t.abs(name))
		}
		return t.walkFiles(t.abs(name), 0, func(at visit) error {
			if at.info.Mode()&fs.ModeSymlink != 0 {
				return nil
			}
			return fn(at.name)
		})
	})
}

// visit is one step of walkFiles.
type visit struct {
	name  string
	info  fs.FileInfo
	depth int
}

// walkFiles calls fn for an entry and then for all below it, in the order of names. Links are not followed.
func (t *task) walkFiles(name string, depth int, fn func(visit) error) error {
	info, err := t.p.sys.fs.lstat(name)
	if err == nil {
		err = fn(visit{name, info, depth})
	}
	if err != nil || !info.IsDir() {
		return err
	}
	if !t.p.goOn() {
		return errDead
	}
	entries, err := t.p.sys.fs.readDir(name)
	below := strings.TrimSuffix(name, "/") + "/"
	for _, e := range entries {
		if err == nil {
			err = t.walkFiles(below+e.Name(), depth+1, fn)
		}
	}
	return err
}

// maxClauses limits the clauses of a mode.
const maxClauses = 100

// parseMode returns what a mode of chmod makes of another one.
func parseMode(text string) (change func(fs.FileMode) fs.FileMode, ok bool) {
	if bits, err := strconv.ParseUint(text, 8, 32); err == nil {
		return func(fs.FileMode) fs.FileMode { return bitsMode(uint32(bits)) }, bits <= 0o7777
	}
	clauses := strings.Split(text, ",")
	if len(clauses) > maxClauses {
		return nil, false
	}
	for _, c := range clauses {
		at := strings.IndexAny(c, "+-=")
		if at < 0 || strings.Trim(c[:at], "ugoa") != "" || strings.Trim(c[at+1:], "rwxXst+-=") != "" {
			return nil, false
		}
	}
	return func(m fs.FileMode) fs.FileMode {
		for _, c := range clauses {
			m = changeMode(m, c)
		}
		return m
	}, true
}

// changeMode applies one clause, such as u+x or go=.
func changeMode(m fs.FileMode, clause string) fs.FileMode {
	at := strings.IndexAny(clause, "+-=")
	who, rest := clause[:at], clause[at:]
	mask := uint32(0)
	for i, c := range "ogu" {
		if who == "" || strings.ContainsRune(who, c) || strings.Contains(who, "a") {
			mask |= 0o7<<(3*i) | []uint32{0o1000, 0o2000, 0o4000}[i]
		}
	}
	for rest != "" {
		n := strings.IndexAny(rest[1:], "+-=") + 1
		if n == 0 {
			n = len(rest)
		}
		old := modeBits(m)
		bits := letterBits(rest[1:n], m) & mask
		switch rest[0] {
		case '+':
			old |= bits
		case '-':
			old &^= bits
		default:
			old = old&^mask | bits
		}
		m = m&fs.ModeType | bitsMode(old)
		rest = rest[n:]
	}
	return m
}

// letterBits returns the bits of letters of a clause for all users.
func letterBits(letters string, m fs.FileMode) uint32 {
	bits := uint32(0)
	for _, c := range letters {
		switch c {
		case 'r':
			bits |= 0o444
		case 'w':
			bits |= 0o222
		case 'x':
			bits |= 0o111
		case 'X':
			if m.IsDir() || m&0o111 != 0 {
				bits |= 0o111
			}
		case 's':
			bits |= 0o6000
		case 't':
			bits |= 0o1000
		}
	}
	return bits
}
