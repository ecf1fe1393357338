package virtual

import (
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// finder holds the tests of find.
type finder struct {
	name     *regexp.Regexp // nil for any
	kind     string
	min, max int
}

// findProgram is find [PATH]… [-maxdepth N] [-mindepth N] [-name PATTERN] [-type f|d|l] [-print].
func findProgram(t *task) int {
	args := t.args[1:]
	n := 0
	for n < len(args) && !strings.HasPrefix(args[n], "-") {
		n++
	}
	roots := args[:n]
	if n == 0 {
		roots = []string{"."}
	}
	f, complaint := t.parseFind(args[n:])
	if complaint != "" {
		return t.fail("%s", complaint)
	}
	out := &gather{p: t.p}
	status := 0
	for _, root := range roots {
		full := t.abs(root)
		err := t.walkFiles(full, 0, func(at visit) error {
			if f.matches(at) {
				out.add([]byte(root + at.name[min(len(full), len(at.name)):] + "\n")...)
			}
			if out.err != nil {
				return out.err
			}
			return nil
		})
		if err != nil && !t.p.dead.Load() && out.err == nil {
			status = t.fail("'%s': %s", root, reason(err))
		}
	}
	out.flush()
	return status
}

func (t *task) parseFind(args []string) (f finder, complaint string) {
	f.max = maxPath
	for len(args) > 0 {
		if args[0] == "-print" {
			args = args[1:]
			continue
		}
		if len(args) < 2 {
			return f, "missing argument to '" + args[0] + "'"
		}
		n, err := strconv.Atoi(args[1])
		number := err == nil && n >= 0
		switch {
		case args[0] == "-name":
			if f.name = compilePattern(args[1]); f.name == nil {
				return f, "invalid pattern '" + args[1] + "'"
			}
		case args[0] == "-type" && strings.Contains("fdlc", args[1]):
			f.kind = args[1]
		case args[0] == "-maxdepth" && number:
			f.max = n
		case args[0] == "-mindepth" && number:
			f.min = n
		default:
			return f, "unknown predicate '" + args[0] + " " + args[1] + "'"
		}
		args = args[2:]
	}
	return f, ""
}

func (f finder) matches(at visit) bool {
	if at.depth < f.min || at.depth > f.max {
		return false
	}
	m := at.info.Mode()
	switch f.kind {
	case "f":
		return m.IsRegular() && f.named(at.name)
	case "d":
		return m.IsDir() && f.named(at.name)
	case "l":
		return m&fs.ModeSymlink != 0 && f.named(at.name)
	case "c":
		return m&fs.ModeCharDevice != 0 && f.named(at.name)
	}
	return f.named(at.name)
}

func (f finder) named(name string) bool {
	return f.name == nil || f.name.MatchString(path.Base(name))
}
