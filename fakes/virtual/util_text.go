package virtual

import (
	"bytes"
	"strconv"
	"strings"
)

// flushAt is the size of a program's output buffer.
const flushAt = 32 << 10

// gather is a program's output buffer. The program flushes it before it blocks and before it returns.
type gather struct {
	p   *Process
	buf []byte
	err error
}

func (g *gather) add(b ...byte) {
	if g.buf = append(g.buf, b...); len(g.buf) >= flushAt {
		g.flush()
	}
}

func (g *gather) flush() {
	if len(g.buf) > 0 && g.err == nil {
		g.err = g.p.write(1, g.buf)
	}
	g.buf = g.buf[:0]
}

// quote adds text quoted for a shell.
func (g *gather) quote(text string) {
	g.add('\'')
	for text != "" && g.err == nil {
		part := text[:min(len(text), flushAt)]
		text = text[len(part):]
		g.add([]byte(strings.ReplaceAll(part, "'", `'"'"'`))...)
	}
	g.add('\'')
}

// eachInput calls fn for stdin or for each named file; "-" is stdin. It continues after a file that cannot be opened and then returns 1.
func (t *task) eachInput(names []string, fn func(name string, f *file) error) int {
	if len(names) == 0 {
		names = []string{"-"}
	}
	status := 0
	for _, name := range names {
		var f *file
		var err error
		if name == "-" {
			f, err = t.p.open("/dev/stdin", openRead)
		} else {
			f, err = t.p.open(t.abs(name), openRead)
		}
		if err == nil {
			err = fn(name, f)
			f.close()
		}
		if err != nil && !isEOF(err) {
			if t.p.dead.Load() {
				return 1
			}
			status = t.fail("%s: %s", name, reason(err))
		}
	}
	return status
}

// read reads up to n bytes.
func (t *task) read(f *file, n int) ([]byte, error) {
	if !t.p.goOn() {
		return nil, errDead
	}
	return f.desc.read(stop{dead: t.p.done}, n, noDelim)
}

// chunks reads a file to its end. fn may keep its argument.
func (t *task) chunks(f *file, fn func(b []byte) error) error {
	for {
		b, err := t.read(f, flushAt)
		if err != nil {
			return err
		}
		if err := fn(b); err != nil {
			return err
		}
	}
}

// catProgram is cat [-u] [FILE]….
func catProgram(t *task) int {
	args := t.args[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		if args[0] != "-u" && args[0] != "--" {
			return t.fail("invalid option -- '%s'", args[0])
		}
		args = args[1:]
	}
	return t.eachInput(args, func(_ string, f *file) error {
		return t.chunks(f, func(b []byte) error { return t.p.write(1, b) })
	})
}

// wcProgram is wc [-lwc] [FILE]….
func wcProgram(t *task) int {
	flags, names, ok := t.letters("lwcm")
	if !ok {
		return 1
	}
	if flags == "" {
		flags = "lwc"
	}
	var rows [][3]int
	var total [3]int
	files := names
	status := t.eachInput(names, func(_ string, f *file) error {
		n, err := t.count(f)
		rows = append(rows, n)
		for i := range total {
			total[i] += n[i]
		}
		return err
	})
	if len(names) > 1 {
		rows = append(rows, total)
		files = append(append([]string(nil), names...), "total")
	}
	width := 1
	if len(flags) > 1 || len(names) > 1 {
		width = len(strconv.Itoa(total[2]))
	}
	if len(flags) > 1 && (len(names) == 0 || strings.Contains(strings.Join(names, "\n"), "-")) {
		width = 7 // the size of a pipe is unknown
	}
	var b strings.Builder
	for i, row := range rows {
		if i >= len(files) && len(files) > 0 {
			break
		}
		sep := ""
		for j, letter := range "lwc" {
			if strings.ContainsRune(flags, letter) || letter == 'c' && strings.Contains(flags, "m") {
				text := strconv.Itoa(row[j])
				b.WriteString(sep + strings.Repeat(" ", max(0, width-len(text))) + text)
				sep = " "
			}
		}
		if len(files) > 0 {
			b.WriteString(" " + files[i])
		}
		b.WriteByte('\n')
	}
	return max(status, t.print(b.String()))
}

// count counts lines, words and bytes.
func (t *task) count(f *file) (n [3]int, err error) {
	inWord := false
	err = t.chunks(f, func(b []byte) error {
		n[0] += bytes.Count(b, []byte("\n"))
		n[2] += len(b)
		for _, c := range b {
			space := c == ' ' || c >= '\t' && c <= '\r'
			if !space && !inWord {
				n[1]++
			}
			inWord = !space
		}
		return nil
	})
	return n, err
}

// letters splits arguments into flags, all of one letter, and the rest.
func (t *task) letters(known string) (flags string, rest []string, ok bool) {
	args := t.args[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			break
		}
		if bad := strings.Trim(arg[1:], known); bad != "" {
			t.fail("invalid option -- '%c'", bad[0])
			return "", nil, false
		}
		flags += arg[1:] //nolint:perfsprint // a command has few of them
	}
	return flags, args, true
}

// yesProgram prints its arguments, or y, until there is no reader.
func yesProgram(t *task) int {
	word := "y"
	if len(t.args) > 1 {
		word = strings.Join(t.args[1:], " ")
	}
	block := []byte(strings.Repeat(word+"\n", max(1, flushAt/(len(word)+1))))
	for t.p.write(1, block) == nil {
	}
	return 1
}
